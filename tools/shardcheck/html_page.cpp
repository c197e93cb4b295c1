#include "tools/shardcheck/html_page.h"

namespace shardcheck {
namespace {

/// Of the pages that tell a finding.
constexpr std::string_view kStyle =
    R"(:root{--ink:#1c2430;--soft:#5d6b7c;--line:#dfe4ea;--bad:#c8283c;--good:#1c7d4d}
*{box-sizing:border-box}
body{margin:0;font:15px/1.5 system-ui,"Segoe UI","DejaVu Sans",sans-serif;color:var(--ink);background:#fff}
main{max-width:1180px;margin:0 auto;padding:26px 28px 60px}
h1{font-size:24px;margin:0 0 4px}
h1 b{color:var(--bad)}
h2{font-size:16px;margin:30px 0 8px}
.rule{color:var(--soft);margin:0 0 16px}
.what{font-size:18px;margin:0 0 14px;max-width:900px}
.numbers{display:flex;gap:14px;flex-wrap:wrap;margin:14px 0}
.numbers div{border:1px solid var(--line);border-radius:8px;padding:8px 14px}
.numbers span{display:block;color:var(--soft);font-size:12.5px}
.numbers code{font-size:16px}
.bad code{color:var(--bad)}
.good code{color:var(--good)}
code,.mono{font-family:ui-monospace,"DejaVu Sans Mono",monospace}
ul{margin:4px 0;padding-left:22px}
table{border-collapse:collapse;width:100%;font-size:13.5px}
td,th{text-align:left;padding:5px 12px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--soft);font-weight:500}
tr.first td{background:#fdeef0}
tr.last td{background:#edf8f1}
pre{background:#f4f6f9;border-radius:8px;padding:12px 16px;overflow:auto;margin:4px 0}
.soft{color:var(--soft)})";

/// Text goes into a page as text, never as markup.
constexpr std::string_view kScript = R"(const $=id=>document.getElementById(id);
const put=(id,text)=>{$(id).textContent=text};
const list=(id,items,section)=>{for(const t of items){const li=document.createElement("li");li.textContent=t;
 $(id).append(li)}if(section&&!items.length)$(section).remove()};)";

void fill(std::string& page, std::string_view mark, std::string_view with) {
  const auto at = page.find(mark);
  if (at != std::string::npos) page.replace(at, mark.size(), with);
}

}  // namespace

std::string filled(HtmlPage page) {
  // A name may hold "</script>"; inside JSON a slash may be escaped.
  for (auto at = page.data.find("</"); at != std::string::npos; at = page.data.find("</", at + 3))
    page.data.replace(at, 2, "<\\/");
  std::string text(page.layout);
  fill(text, "/*STYLE*/", kStyle);
  fill(text, "/*SCRIPT*/", kScript);
  fill(text, "/*DATA*/", page.data);
  return text;
}

}  // namespace shardcheck
