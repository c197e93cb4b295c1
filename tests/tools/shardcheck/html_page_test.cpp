// What all pages have in common: marks are filled, and no text of the data ends the script.
#include "tools/shardcheck/html_page.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

TEST(HtmlPage, FillsItsMarksAndKeepsTextInsideTheScript) {
  const std::string page = filled(
      {"<style>/*STYLE*/</style><script>/*SCRIPT*/const D=/*DATA*/;</script>", R"("</script>/*STYLE*/")"});
  EXPECT_NE(page.find(R"(const D="<\/script>/*STYLE*/";)"), std::string::npos) << page;
  EXPECT_NE(page.find("<style>:root{"), std::string::npos) << page;
  EXPECT_NE(page.find("<script>const $="), std::string::npos) << page;
}

TEST(HtmlPage, ATemplateNeedsOnlyItsData) {
  EXPECT_EQ(filled({"a /*DATA*/ b", "1"}), "a 1 b");
}

}  // namespace
}  // namespace shardcheck
