// What the pages of `--html` have in common: one self-contained file, a template with the data in it as JSON
// that no name can break out of, and for pages that tell a finding one style and the first lines of script.
// Next: explain/page.h, audit/page.h, layout/page.h.
#pragma once

#include <string>
#include <string_view>

namespace shardcheck {

struct HtmlPage {
  std::string_view
      layout;        ///< the template; holds the mark /*DATA*/ once, and may hold /*STYLE*/ and /*SCRIPT*/
  std::string data;  ///< JSON
};

/// The page with its marks filled.
std::string filled(HtmlPage page);

}  // namespace shardcheck
