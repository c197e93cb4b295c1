// The page without its data: markup, style and the script that draws. Nothing is loaded from elsewhere. Only
// the rows on the screen are drawn, so a thousand ranks scroll as eight do. Next: page.cpp.
#pragma once

#include <string_view>

namespace shardcheck {

inline constexpr std::string_view kPageTemplate = R"PAGE(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>shardcheck layout</title>
<style>
:root{--ink:#1c2430;--soft:#5d6b7c;--line:#dfe4ea;--cut:#c8283c}
*{box-sizing:border-box}
html,body{height:100%;margin:0}
body{display:flex;flex-direction:column;font:14px/1.45 system-ui,"Segoe UI","DejaVu Sans",sans-serif;
 color:var(--ink);background:#fff}
header{padding:18px 28px 10px;border-bottom:1px solid var(--line)}
h1{font-size:21px;font-weight:650;margin:0 0 2px}
header p{margin:2px 0;color:var(--soft);max-width:1100px}
.facts{display:flex;gap:26px;margin-top:8px;flex-wrap:wrap}
.facts b{font-variant-numeric:tabular-nums;font-weight:650}
.bar{display:flex;gap:18px;align-items:center;padding:10px 28px;flex-wrap:wrap;color:var(--soft)}
.bar label{display:flex;gap:7px;align-items:center}
select,input{font:inherit;color:inherit}
select{padding:4px 8px;border:1px solid #c6ced8;border-radius:6px;background:#fff;color:var(--ink);
 max-width:430px}
.legend{display:flex;flex-wrap:wrap;gap:4px 14px;padding:0 28px 10px;max-height:91px;overflow:auto}
.legend span{display:flex;gap:6px;align-items:center;font-size:12.5px;white-space:nowrap;cursor:default;
 border-radius:4px;padding:0 3px}
.legend span.on{background:#eef2f7}
.legend i{width:13px;height:13px;border-radius:3px;display:inline-block;border:1px solid rgba(0,0,0,.12)}
.legend i.hatch{background:repeating-linear-gradient(45deg,#fff 0 3px,#b4bdc9 3px 4px)}
.legend i.cut{border:0;width:3px;background:#1c2430;border-radius:0;height:14px}
.legend i.block{width:0;height:0;border:6px solid transparent;border-top:9px solid var(--cut);border-bottom:0;
 background:none;border-radius:0}
.legend em{color:var(--soft);font-style:normal}
main{flex:1;display:flex;min-height:0;border-top:1px solid var(--line)}
#scroll{flex:1;overflow:auto;overflow-anchor:none;position:relative;min-width:0}
#pane{position:sticky;top:0;left:0;display:block}
#map{width:84px;border-left:1px solid var(--line);cursor:pointer;display:block}
#tip{position:fixed;pointer-events:none;background:#fff;border:1px solid #c6ced8;border-radius:8px;
 padding:8px 11px;box-shadow:0 4px 16px rgba(20,30,50,.16);font-size:13px;display:none;max-width:420px;
 z-index:9}
#tip b{display:block}
#tip span{color:var(--soft);display:block}
</style></head><body>
<header><h1 id="title"></h1><p id="what"></p><div class="facts" id="facts"></div><div id="notes"></div></header>
<div class="bar"><label>bucket <select id="kind"></select></label>
<label>rows <input id="tall" type="range" min="0" max="3" step="1"></label>
<label>zoom <input id="zoom" type="range" min="0" max="7" step="0.25" value="0"></label><span id="about"></span>
 </div>
<div class="legend" id="legend"></div>
<main><div id="scroll"><canvas id="pane"></canvas><div id="room"></div></div><canvas id="map"></canvas></main>
<div id="tip"></div>
<script id="data" type="application/json">/*DATA*/</script>
<script>
"use strict";
const D=JSON.parse(document.getElementById("data").textContent),$=id=>document.getElementById(id);
const N=n=>n.toLocaleString("en-US"),LEFT=74,TOP=30,RIGHT=20;
const TALL=[6,12,20,34];
let K=D.kinds[0],tall=TALL[2],zoom=1,on=-1,longest=1;
const share=(a,b)=>!a?"0":100*a/b<0.005?"< 0.01 %":(100*a/b).toPrecision(3).replace(/\.?0+$/,"")+" %";
const hue=i=>(i*137.508+208)%360;
const fill=i=>`hsl(${hue(i)} ${62-(i%3)*9}% ${76-(i%2)*7}%)`,edge=i=>`hsl(${hue(i)} 55% 27%)`;
$("title").textContent=D.title;$("what").textContent=D.what+".";
for(const n of D.notes){const p=document.createElement("p");p.textContent=n;$("notes").append(p)}
const facts=[["tensors",N(D.tensors)],["elements",N(D.payload)],["padding",N(D.padding)+" ("+share(D.padding,
 D.payload)+")"],["blocks marked",D.block]];
for(const[k,v]of facts){const s=document.createElement("span"),b=document.createElement("b");b.textContent=v;
 s.append(b," "+k);$("facts").append(s)}
D.kinds.forEach((k,i)=>{const o=document.createElement("option");o.value=i;
 o.textContent=k.label+(k.count>1?"  (x"+N(k.count)+" alike)":"");$("kind").append(o)});
function legend(){const L=$("legend");L.textContent="";
 const chip=(cls,style,text,more,i)=>{const s=document.createElement("span"),m=document.createElement("i");
 if(cls)m.className=cls;if(style)m.style.background=style;s.append(m,text);if(more){
 const e=document.createElement("em");e.textContent=more;s.append(e)}
  if(i>=0){s.onmouseenter=()=>{on=i;s.classList.add("on");draw()};s.onmouseleave=()=>{on=-1;
 s.classList.remove("on");draw()}}L.append(s)};
 chip("hatch","","padding");chip("cut","","tensor goes on elsewhere");
 chip("block","","the cut divides "+D.block+" blocks");
 K.tensors.slice(0,60).forEach((t,i)=>chip("",fill(i),t[0],t[1].join(" x ")||"scalar",i));
 if(K.tensors.length>60)chip("","#fff","and "+N(K.tensors.length-60)+" more tensors")}
function setKind(i){K=D.kinds[i];longest=Math.max(1,...K.ranks.map(r=>r[0]));const n=K.ranks.length;
 const t=n<=10?3:n<=64?2:n<=400?1:0;$("tall").value=t;tall=TALL[t];
 $("about").textContent=N(K.world)+" ranks, "+N(longest)+" elements a rank, padding "+
 N(K.padding)+" ("+share(K.padding,K.payload)+")";
 legend();$("scroll").scrollTop=0;layout()}
function layout(){const s=$("scroll");$("room").style.height=Math.max(0,
 TOP+K.ranks.length*tall+14-s.clientHeight)+"px";
 $("room").style.width=((s.clientWidth-LEFT-RIGHT)*zoom+LEFT+RIGHT)+"px";draw();drawMap()}
function canvas(c,w,h){const d=window.devicePixelRatio||1;c.width=w*d;c.height=h*d;c.style.width=w+"px";
 c.style.height=h+"px";const g=c.getContext("2d");g.setTransform(d,0,0,d,0,0);return g}
let hatch=null;
function hatchOf(g){if(hatch)return hatch;const c=document.createElement("canvas");c.width=c.height=8;
 const h=c.getContext("2d");h.fillStyle="#fff";h.fillRect(0,0,8,8);h.strokeStyle="#b4bdc9";h.lineWidth=1;
 h.beginPath();for(const k of[-8,0,8]){h.moveTo(k,8);h.lineTo(k+8,0)}h.stroke();
 return hatch=g.createPattern(c,"repeat")}
function tick(max){const p=10**Math.floor(Math.log10(Math.max(1,max/6)));
 for(const m of[1,2,5,10])if(max/(p*m)<=8)return p*m;return p*10}
const short=n=>n>=1e9?(n/1e9)+" G":n>=1e6?(n/1e6)+" M":n>=1e3?(n/1e3)+" k":""+n;
function draw(){const s=$("scroll"),w=s.clientWidth,h=s.clientHeight,g=canvas($("pane"),w,h),
 full=(w-LEFT-RIGHT)*zoom,sx=s.scrollLeft,sy=s.scrollTop;
 const X=e=>LEFT+e/longest*full-sx,pad=tall>8?2:tall>5?1:0,hh=hatchOf(g);
 g.fillStyle="#fff";g.fillRect(0,0,w,h);
 const first=Math.max(0,Math.floor((sy-TOP)/tall)+0),last=Math.min(K.ranks.length,Math.ceil((sy+h-TOP)/tall)+1);
 g.save();g.beginPath();g.rect(LEFT,TOP,w-LEFT,h-TOP);g.clip();
 for(let r=first;r<last;r++){const y=TOP+r*tall-sy+pad,b=tall-2*pad,[len,segs]=K.ranks[r];
  g.fillStyle=hh;g.fillRect(X(0),y,X(len)-X(0),b);
  if(b>3){g.strokeStyle="#c6ced8";g.lineWidth=1;g.strokeRect(X(0)+.5,y+.5,Math.max(0,X(len)-X(0)-1),b-1)}
  for(const[t,lo,hi,off,n,runs,cut]of segs){const x0=X(off),x1=X(off+n);if(x1<LEFT||x0>w)continue;
   g.globalAlpha=on<0||on==t?1:.22;g.fillStyle=fill(t);g.fillRect(x0,y,Math.max(.7,x1-x0),b);
   if(b>6&&x1-x0>3){g.strokeStyle=edge(t);g.globalAlpha*=.35;g.strokeRect(x0+.5,y+.5,x1-x0-1,b-1);
 g.globalAlpha=on<0||on==t?1:.22}
   if(b>14&&x1-x0>46){g.fillStyle=edge(t);g.font="12px system-ui,DejaVu Sans,sans-serif";g.save();g.beginPath();
 g.rect(x0+3,y,x1-x0-8,b);g.clip();
    const at=Math.max(x0,LEFT)+6;g.fillText(K.tensors[t][0].split(".").slice(-2).join("."),at,y+b/2+4);
 g.restore()}
   const size=numel(t);
   if(hi<size){g.fillStyle="#1c2430";g.fillRect(x1-(b>8?2:1),y,b>8?2:1,b)}
   if(lo>0&&b>8){g.fillStyle="#1c2430";g.fillRect(x0,y,1,b)}
   if(cut>0){const q=b>16?6:b>8?4:2.5;g.fillStyle="#c8283c";g.beginPath();g.moveTo(x1-q*2,y);g.lineTo(x1,y);
 g.lineTo(x1-q,y+q*1.4);g.fill()}
   g.globalAlpha=1}}
 g.restore();
 g.fillStyle="#fff";g.fillRect(0,0,w,TOP-4);g.fillRect(0,0,LEFT-4,h);
 g.fillStyle="#5d6b7c";g.font="12px system-ui,DejaVu Sans,sans-serif";g.textAlign="right";
 const step=Math.max(1,[1,2,4,8,16,32,64,128,256].find(k=>k*tall>=16)||256);
 for(let r=first;r<last;r++)if(r%step==0&&TOP+r*tall-sy>TOP-6)g.fillText("rank "+N(r),LEFT-9,
 TOP+r*tall-sy+tall/2+4);
 g.textAlign="center";const tk=tick(longest/zoom);
 for(let e=0;e<=longest;e+=tk){const x=X(e);if(x<LEFT-1||x>w)continue;g.fillText(short(e),x,15);
 g.fillRect(x,20,1,5)}
 g.textAlign="left"}
function numel(t){let n=1;for(const d of K.tensors[t][1])n*=d;return n}
function drawMap(){const m=$("map"),h=$("scroll").clientHeight,w=84,g=canvas(m,w,h),n=K.ranks.length,
 r1=Math.min(12,(h-8)/n);
 g.fillStyle="#fff";g.fillRect(0,0,w,h);
 for(let r=0;r<n;r++){const y=4+r*r1;g.fillStyle="#e6eaef";
 g.fillRect(6,y,K.ranks[r][0]/longest*(w-12),Math.max(.4,r1-.3));
  for(const[t,lo,hi,off,len]of K.ranks[r][1]){g.fillStyle=fill(t);
 g.fillRect(6+off/longest*(w-12),y,Math.max(.5,len/longest*(w-12)),Math.max(.4,r1-.3))}}
 const s=$("scroll"),a=4+Math.max(0,s.scrollTop-0)/tall*r1,b=Math.min(n*r1,(h-TOP)/tall*r1);
 g.strokeStyle="#1c2430";g.lineWidth=1.5;g.strokeRect(2,a,w-4,Math.max(4,b))}
const tip=$("tip");
function at(ev){const s=$("scroll"),box=$("pane").getBoundingClientRect(),x=ev.clientX-box.left,
 y=ev.clientY-box.top;
 const r=Math.floor((y+s.scrollTop-TOP)/tall),
 e=Math.floor((x-LEFT+s.scrollLeft)/((s.clientWidth-LEFT-RIGHT)*zoom)*longest);
 if(y<TOP||x<LEFT||r<0||r>=K.ranks.length||e<0||e>=K.ranks[r][0])return null;return{r,e}}
function rowsOf(t,lo,hi){const d=K.tensors[t][1],size=numel(t);if(lo==0&&hi==size)return"all of it";
 let row=1;for(const k of d.slice(1))row*=k;
 if(d.length>1&&lo%row==0&&hi%row==0)return"rows "+N(lo/row)+" - "+N(hi/row-1)+" of "+N(d[0]);
 return d.length>1?"elements "+N(lo)+" - "+N(hi-1)+
 " (row "+N(Math.floor(lo/row))+" + "+N(lo%row)+" to row "+N(Math.floor((hi-1)/row))+" + "+N((hi-1)%row)+
  ")":"elements "+N(lo)+" - "+N(hi-1)}
function line(parent,tag,text){const n=document.createElement(tag);n.textContent=text;parent.append(n)}
$("scroll").onmousemove=ev=>{const p=at(ev);if(!p){tip.style.display="none";return}
 tip.textContent="";const[len,segs]=K.ranks[p.r],s=segs.find(q=>p.e>=q[3]&&p.e<q[3]+q[4]);
 if(s){const[t,lo,hi,off,n,runs,cut]=s;line(tip,"b",K.tensors[t][0]);
 line(tip,"span",K.tensors[t][1].join(" x "));
  line(tip,"span",runs>1?N(runs)+" runs, "+N(n)+" elements":rowsOf(t,lo,hi));
 line(tip,"span","rank "+N(p.r)+", at "+N(off)+": "+N(n)+" elements, "+N(2*n)+" bytes as bf16");
  if(hi<numel(t)&&runs==1)line(tip,"span",
 cut?"its end cuts "+N(cut)+" blocks of "+D.block:"its end cuts no block of "+D.block)}
 else{const flat=p.r*len+p.e,h=K.holes.find(q=>flat>=q[0]&&flat<q[1]);line(tip,"b","padding");
 line(tip,"span","rule: "+(h?D.rules[h[2]]:K.tail));
 if(h)line(tip,"span",N(h[1]-h[0])+" elements in a row of the whole buffer");
 line(tip,"span","rank "+N(p.r)+", at "+N(p.e))}
 tip.style.display="block";const w=tip.offsetWidth,hh=tip.offsetHeight;
 tip.style.left=Math.min(innerWidth-w-8,ev.clientX+14)+"px";
 tip.style.top=Math.min(innerHeight-hh-8,ev.clientY+14)+"px"};
$("scroll").onmouseleave=()=>tip.style.display="none";
$("scroll").onscroll=()=>requestAnimationFrame(()=>{draw();drawMap()});
$("map").onmousedown=ev=>{const move=e=>{const b=$("map").getBoundingClientRect(),n=K.ranks.length,
 r1=Math.min(12,(b.height-8)/n);$("scroll").scrollTop=((e.clientY-b.top-4)/r1)*tall-$("scroll").clientHeight/2};
 move(ev);onmousemove=move;onmouseup=()=>{onmousemove=onmouseup=null}};
$("kind").onchange=e=>setKind(+e.target.value);
$("tall").oninput=e=>{tall=TALL[+e.target.value];layout()};
$("zoom").oninput=e=>{zoom=2**+e.target.value;layout()};
onresize=layout;setKind(0);
</script></body></html>
)PAGE";

}  // namespace shardcheck
