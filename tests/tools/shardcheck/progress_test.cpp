// Progress is silent where nobody sees it, and is not drawn more often than an eye can follow.
#include "tools/shardcheck/progress.h"

#include <gtest/gtest.h>

#include <sstream>

namespace shardcheck {
namespace {

TEST(ProgressLine, IsSilentOffATerminal) {
  std::ostringstream stream;
  Progress progress(stream);
  progress.show({"label", 0.5, "remark"});
  progress.clear();
  EXPECT_TRUE(stream.str().empty());
}

TEST(ProgressLine, IsDrawnAtMostOnceInATenthOfASecondAndErased) {
  std::ostringstream stream;
  const auto start = std::chrono::steady_clock::now();
  {
    Progress progress(stream, {.is_terminal = true, .width = 80});
    for (int i = 0; i < 100; ++i) progress.show({"legal-beta", i / 100.0, "remark"});
  }
  const auto took = std::chrono::steady_clock::now() - start;
  const std::string text = stream.str();
  const auto draws = std::count(text.begin(), text.end(), '%');
  EXPECT_GE(draws, 1);
  EXPECT_LE(draws, 1 + took / std::chrono::milliseconds(100));
  EXPECT_TRUE(text.ends_with("\r\x1b[K"));
  EXPECT_NE(text.find("legal-beta"), std::string::npos);
}

TEST(ProgressLine, ANarrowTerminalGetsNoSecondLine) {
  std::ostringstream stream;
  Progress progress(stream, {.is_terminal = true, .width = 40});
  progress.show({std::string(60, 'x'), 0.5, std::string(60, 'y')});
  EXPECT_LE(stream.str().size(), 50u);
}

}  // namespace
}  // namespace shardcheck
