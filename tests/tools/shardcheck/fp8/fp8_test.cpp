// The questions are listed, and a misspelt one is named.
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

TEST(Fp8, ListsItsQuestions) {
  const CommandRun help = run({"fp8", "--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_TRUE(holds(help.out, "Usage: shardcheck fp8"));
  for (const char* question : {"cast", "table", "compare", "infer", "certify"}) {
    EXPECT_TRUE(holds(help.out, question)) << question;
    const CommandRun own = run({"fp8", question, "--help"});
    EXPECT_EQ(own.status, 0) << question;
    EXPECT_TRUE(holds(own.out, std::string("Usage: shardcheck fp8 ") + question)) << own.out;
  }
  EXPECT_EQ(run({"fp8"}).status, 2);
}

TEST(Fp8, AMisspeltQuestionIsNamedWithTheNearest) {
  const CommandRun wrong = run({"fp8", "tabel"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_TRUE(holds(wrong.err, "\"tabel\" is not a known question; did you mean \"table\"?")) << wrong.err;
}

}  // namespace
}  // namespace shardcheck
