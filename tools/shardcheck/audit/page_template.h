// The page without its data: markup, what it adds to the common style, and the script that draws. Nothing is
// loaded from elsewhere. Next: page.cpp.
#pragma once

#include <string_view>

namespace shardcheck {

inline constexpr std::string_view kAuditTemplate = R"PAGE(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>shardcheck audit</title>
<style>
/*STYLE*/
h1 i{font-style:normal;color:var(--good)}
h1 u{text-decoration:none;color:#a96d00}
h3{font-size:15px;margin:22px 0 2px}
h3 b{color:var(--bad)}
.finding{border-left:3px solid var(--bad);padding:2px 0 2px 16px;margin:18px 0}
.finding.more{border-color:var(--line);padding-bottom:0;margin:10px 0}
.finding p{margin:2px 0}
.clauses{display:flex;flex-wrap:wrap;gap:6px}
.clauses span{border:1px solid var(--line);border-radius:6px;padding:2px 9px;font-size:13px;cursor:default}
.clauses .held{color:var(--good)}
.clauses .BROKEN{background:var(--bad);border-color:var(--bad);color:#fff}
.clauses .open{color:#a96d00}
.clauses .unseen{color:#9aa5b1}
.cards{display:flex;flex-wrap:wrap;gap:18px;align-items:flex-start}
.card{border:1px solid var(--line);border-radius:8px;padding:10px 14px}
.card.wrong{border-color:var(--bad)}
.card table{width:auto;font-size:13px}
.card td,.card th{padding:3px 16px 3px 0}
td.ok{color:var(--good)}
.card td.off{color:#fff;background:var(--bad);padding:3px 14px 3px 8px;border:2px solid #fff}
td.none{color:#b3bcc7}
.calls td:first-child,.calls th:first-child{width:48px}
.calls td small{color:var(--soft);display:block}
.calls tr.cut td{border-top:2px solid var(--bad);background:#fdeef0}
.calls td.open b{color:#a96d00}
.scroll{overflow:auto;max-height:640px;border:1px solid var(--line);border-radius:8px;padding:0 12px}
</style></head><body><main>
<h1 id="title"></h1><p class="rule" id="subject"></p><p id="scenario"></p><p id="refusal"></p>
<div id="findings"></div>
<h2>Clauses</h2><div class="clauses" id="clauses"></div>
<section id="ended"><h2>How the ranks ended</h2><div id="ranks"></div></section>
<h2>What every rank reads of every gradient</h2>
<p class="soft">A row is a contribution, a column the rank that owns elements of the gradient. The number says how
 often the contribution is in them; it should be there as often as the second column says.</p>
<div class="cards" id="gradients"></div>
<h2>The collectives of the ranks, side by side</h2><div id="groups"></div>
<ul class="soft" id="notes"></ul></main>
<script>
/*SCRIPT*/
const D=/*DATA*/;
const make=(tag,text,kind)=>{const e=document.createElement(tag);if(text!==undefined)e.textContent=text;
 if(kind)e.className=kind;return e};
const add=(to,...all)=>{to.append(...all);return to};
const bullets=(items,tag)=>add(make(tag||"ul"),...items.map(t=>make("li",t)));
add($("title"),make(D.verdict==="held"?"i":D.verdict==="BROKEN"?"b":"u",D.verdict)," "+D.trace);
put("subject",D.subject);put("scenario",D.scenario);
if(D.refusal)put("refusal","Refused. "+D.refusal);else $("refusal").remove();
const FULL=3;
D.findings.forEach((f,i)=>{const box=make("div",undefined,"finding"+(i<FULL?"":" more"));
 const head=make("h3");add(head,make("b",f.clause)," "+f.title);
 if(i>=FULL){add($("findings"),add(box,add(make("p"),make("b",f.clause)," "+f.sentence+" ("+f.where+")")));return}
 add(box,head,make("p",f.sentence,"what"),make("p",f.rule+" ("+f.source+")","soft"));
 if(f.where)add(box,make("p",f.where));
 if(f.expected){const n=make("div",undefined,"numbers");for(const [kind,name] of [["good","expected"],["bad","actual"]])
  add(n,add(make("div",undefined,kind),make("span",name),make("code",f[name])));add(box,n)}
 if(f.provenance.length)add(box,bullets(f.provenance));
 if(f.history.length)add(box,bullets(f.history,"ol"));
 if(f.signatures.length)add(box,make("p","Looks like:","soft"),bullets(f.signatures));
 add($("findings"),box)});
for(const [id,title,word,because] of D.clauses){const s=make("span",id,word==="not seen"?"unseen":word);
 s.title=title+": "+word+"; "+because;add($("clauses"),s)}
const failed=D.ranks.filter(r=>r.outcome!=="finished");
for(const r of failed){add($("ranks"),make("p","Rank "+r.rank+": "+r.outcome+(r.error?": "+r.error:"")));
 if(r.waiting.length)add($("ranks"),make("pre",r.waiting.join("\n")))}
if(!failed.length)$("ended").remove();
for(const g of D.gradients){const wrong=g.readers.some(r=>r.wrong);
 const card=make("div",undefined,"card"+(wrong?" wrong":""));
 add(card,add(make("div"),make("b",g.parameter),make("span"," "+g.shape+", step "+g.step+(g.frozen?", frozen":""),
  "soft")));
 const t=make("table"),several=g.contributions.some(c=>c[3]>0),stale=g.contributions.some(c=>c[0]!==g.step);
 const row=(cells)=>add(make("tr"),...cells);
 add(t,row([make("th","contribution"),make("th","right"),...g.readers.map(r=>make("th","rank "+r.rank))]));
 add(t,row([make("td","owns","soft"),make("td",""),...g.readers.map(r=>make("td",r.owns,
  r.owns==="no gradient"&&r.wrong?"off":"soft"))]));
 if(g.readers.some(r=>r.undecoded))add(t,row([make("td","elements that are no sum","soft"),make("td","0"),
  ...g.readers.map(r=>make("td",r.undecoded,r.undecoded?"off":"none"))]));
 for(const [step,rank,microbatch,use,right,times] of g.contributions)
  add(t,row([make("td","rank "+rank+", microbatch "+microbatch+(several?", use "+use:"")+
   (stale?", step "+step:"")),make("td",right),
   ...times.map(n=>make("td",n===""?"\u00b7":n,n===""?"none":n===""+right?"ok":"off"))]));
 add($("gradients"),add(card,t))}
for(const g of D.groups){add($("groups"),make("h3","Group {"+g.group.join(", ")+"}: "+
  (g.difference<0?"the same on all ranks":"number "+g.difference+" is the first that differs")));
 const t=make("table",undefined,"calls"),box=make("div",undefined,"scroll");
 add(t,add(make("tr"),make("th","#"),...g.ranks.map(r=>make("th","rank "+r))));
 g.rows.forEach((cells,i)=>{const n=g.first+i,tr=make("tr",undefined,n===g.difference?"cut":"");
  add(tr,make("td",n,"soft"));
  for(const c of cells){if(!c){add(tr,make("td","nothing","none"));continue}
   add(tr,add(make("td",undefined,c[3]?"":"open"),make("b",c[0])," "+c[1],make("small",c[2]+
    (c[3]?"":", not completed"))))}add(t,tr)});
 add($("groups"),add(box,t));const cut=t.querySelector("tr.cut");
 if(cut)box.scrollTop=Math.max(0,cut.offsetTop-box.offsetTop-120)}
list("notes",D.notes);
</script></body></html>
)PAGE";

}  // namespace shardcheck
