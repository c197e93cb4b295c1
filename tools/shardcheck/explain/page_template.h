// The page without its data: markup, style and the script that draws. Nothing is loaded from elsewhere. Next:
// page.cpp.
#pragma once

#include <string_view>

namespace shardcheck {

inline constexpr std::string_view kExplainTemplate = R"PAGE(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>shardcheck explain</title>
<style>
/*STYLE*/
.cf{display:flex;gap:40px;flex-wrap:wrap}
.cf>div{flex:1;min-width:300px}
#time{overflow-x:auto;border:1px solid var(--line);border-radius:8px}
svg text{font:12px system-ui,"DejaVu Sans",sans-serif;fill:var(--soft)}
svg rect.op{stroke:#fff;stroke-width:.6;cursor:default}
svg rect.first{stroke:var(--bad);stroke-width:3}
svg rect.last{stroke:var(--good);stroke-width:3}
.legend{display:flex;gap:14px;flex-wrap:wrap;font-size:12.5px;color:var(--soft);margin:6px 0}
.legend i{display:inline-block;width:12px;height:12px;border-radius:3px;margin-right:5px;vertical-align:-1px}
#tip{position:fixed;pointer-events:none;background:#fff;border:1px solid #c6ced8;border-radius:8px;display:none;
 padding:8px 11px;box-shadow:0 4px 16px rgba(20,30,50,.16);font-size:13px;max-width:460px;z-index:9}
</style></head><body><main>
<h1 id="title"></h1><p class="rule" id="rule"></p>
<p class="what" id="what"></p><p class="soft" id="where"></p>
<div class="numbers" id="numbers"></div><ul id="provenance"></ul>
<h2>The step on its streams</h2><div class="legend" id="legend"></div><div id="time"></div>
<p class="soft" id="because"></p>
<section id="bytes"><h2>What happened to these bytes</h2><table id="history"></table></section>
<section id="mend"><h2>What it depends on</h2><div class="cf">
<div><b>mended by</b><ul id="mends"></ul></div><div><b>not mended by</b><ul id="others"></ul></div></div></section>
<section id="alike"><h2>Known faults that look alike</h2><ul id="lookalikes"></ul></section>
<section id="signs"><h2>Recognised</h2><ul id="signatures"></ul></section>
<h2>Scenario</h2><p id="scenario"></p><h2>See it again</h2><pre id="reproduce"></pre>
<ul class="soft" id="notes"></ul></main><div id="tip"></div>
<script>
/*SCRIPT*/
const D=/*DATA*/,F=D.finding;
$("title").innerHTML="<b></b> ";$("title").firstChild.textContent=F.clause;$("title").append(F.title);
put("rule",F.rule+" ("+F.source+")");put("what",F.sentence);
const where=[];if(F.op>=0)where.push("op "+F.op+": "+F.op_text);else if(F.rank>=0)where.push("rank "+F.rank);
if(F.parameter)where.push(F.parameter+(F.element>=0?", element "+F.element:""));if(F.step>=0)where.push("step "+F.step);
put("where",where.join("; "));
const number=(kind,name,text)=>{const d=document.createElement("div");d.className=kind;
 d.innerHTML="<span></span><code></code>";d.firstChild.textContent=name;d.lastChild.textContent=text;
 $("numbers").append(d)};
if(F.expected){number("good","expected",F.expected);number("bad","actual",F.actual)}
list("provenance",F.provenance);
put("because",D.first_wrong>=0?"First wrong: op "+D.first_wrong+(D.because?": "+D.because:"")+"."+
 (D.last_right>=0?" Last right: op "+D.last_right+".":""):"");
const rows=D.history.map(h=>`<tr class="${h.op===D.first_wrong?"first":h.op===D.last_right?"last":""}">`+
 "<td></td><td></td><td></td><td class=mono></td><td></td></tr>").join("");
$("history").innerHTML="<tr><th>op</th><th>rank</th><th>what</th><th>value after it</th><th>holds</th></tr>"+rows;
D.history.forEach((h,i)=>{const c=$("history").rows[i+1].cells;c[0].textContent=h.op;c[1].textContent=h.rank;
 c[2].textContent=h.text;c[3].textContent=h.value;c[4].textContent=h.contents.join(", ")});
if(!D.history.length){$("history").remove();
 if(F.history.length){const ol=document.createElement("ol");ol.id="told";$("bytes").append(ol);
 list("told",F.history)}else $("bytes").remove()}
list("mends",D.counterfactuals.filter(c=>c.mends).map(c=>c.change));
list("others",D.counterfactuals.filter(c=>!c.mends).map(c=>c.change+(c.instead?" (breaks "+c.instead+
 " instead)":"")));
if(!D.counterfactuals.length)$("mend").remove();
list("lookalikes",D.lookalikes,"alike");list("signatures",D.signatures,"signs");
put("scenario",D.scenario);put("reproduce",D.reproduce);list("notes",D.notes);
const hue={write:"#3b7dd8",fold:"#3b7dd8",zero:"#9aa7b5",reduce:"#e08a1e",accumulate:"#7a57c7",scale:"#c9a227",
 divide:"#c9a227",consume:"#1c9a6c",forward:"#8fb8e8",backward:"#b79be0",recompute:"#cfdff5",
 weights:"#2aa5a0",stage:"#b07a4e",unstage:"#b07a4e",dummy:"#c7ced6"};
const colour=o=>hue[o.purpose]||"#c7ced6";
const used=[...new Set(D.ops.map(o=>o.purpose))];
$("legend").innerHTML=used.map(p=>`<span><i style="background:${hue[p]||"#c7ced6"}"></i>${p}</span>`).join("")+
 "<span><i style='border:2px solid var(--bad)'></i>first wrong</span>"+
 "<span><i style='border:2px solid var(--good)'></i>last right</span>"+
 (D.races.length?"<span style='color:var(--bad)'>- - missing order</span>":"");
const S="http://www.w3.org/2000/svg",el=(n,a)=>{const e=document.createElementNS(S,n);
 for(const k in a)e.setAttribute(k,a[k]);return e};
const lane=26,gap=10,left=120,
 streams=["compute","reduce"].concat(D.ops.some(o=>o.stream===2)?["graph"]:[]),
 height=streams.length*lane+gap,H=D.ranks.length*height+28;
const y=(row,stream)=>18+row*height+stream*lane;
/* Widths are compressed: an op of a microsecond beside a transfer of a second must both be seen. */
const cuts=[...new Set(D.ops.flatMap(o=>o.spans.flatMap(s=>[s[1],s[2]])))].sort((a,b)=>a-b);
const X=new Map();let x=left;cuts.forEach((t,i)=>{if(i)x+=6+5*Math.log2(1+t-cuts[i-1]);X.set(t,x)});
const W=Math.max(x+30,900),svg=el("svg",{width:W,height:H});
D.ranks.forEach((r,row)=>streams.forEach((s,k)=>{const t=el("text",{x:8,y:y(row,k)+17});
 t.textContent=k?"        "+s:"rank "+r+"  "+s;svg.append(t,el("line",{x1:left,x2:W-10,y1:y(row,k)+lane-2,
 y2:y(row,k)+lane-2,stroke:"#eef1f5"}))}));
const box=new Map();
for(const o of D.ops)for(const s of o.spans){const b={x:X.get(s[1]),w:Math.max(X.get(s[2])-X.get(s[1]),5),
 y:y(s[0],o.stream)};box.set(o.op+":"+s[0],b);
 const r=el("rect",{class:"op"+(o.op===D.first_wrong||o.op===F.op&&D.first_wrong<0?" first":
 o.op===D.last_right?" last":""),x:b.x,y:b.y,width:b.w,height:lane-5,rx:3,fill:colour(o)});
 r.onmousemove=e=>{const t=$("tip");t.style.display="block";t.style.left=Math.min(e.clientX+14,innerWidth-470)+"px";
 t.style.top=e.clientY+14+"px";t.textContent="op "+o.op+": "+o.text+" ("+(s[2]-s[1]).toFixed(1)+" us)"};
 r.onmouseleave=()=>$("tip").style.display="none";svg.append(r)}
const named=new Set();
for(const [a,b,row,edge] of D.races){const p=box.get(a+":"+row),q=box.get(b+":"+row);if(!p||!q)continue;
 const x1=p.x+p.w/2,y1=p.y+lane/2-3,x2=q.x+q.w/2,y2=q.y+lane/2-3;
 svg.append(el("path",{d:`M${x1} ${y1} Q${(x1+x2)/2} ${Math.min(y1,y2)-24} ${x2} ${y2}`,fill:"none",
 stroke:"#c8283c","stroke-width":1.6,"stroke-dasharray":"5 4"}));
 const at=edge+Math.round(x1/60)+":"+row;if(named.has(at))continue;named.add(at);
 const t=el("text",{x:(x1+x2)/2-8,y:Math.min(y1,y2)-12,style:"fill:#c8283c"});t.textContent=edge;
 svg.append(t)}
$("time").append(svg);
const g=svg.querySelector("rect.first");
if(g)$("time").scrollLeft=Math.max(0,+g.getAttribute("x")-500);
</script></body></html>
)PAGE";

}  // namespace shardcheck
