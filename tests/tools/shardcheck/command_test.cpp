// Dispatch: unknown verbs and flags, help, and what becomes of errors.
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

TEST(Command, WithoutAVerbItSaysHowToUseIt) {
  const CommandRun empty = run({});
  EXPECT_EQ(empty.status, 2);
  EXPECT_TRUE(empty.out.empty());
  EXPECT_TRUE(holds(empty.err, "Usage: shardcheck VERB"));
}

TEST(Command, HelpListsEveryVerbAndVersion) {
  const CommandRun help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* verb : {"check", "replay", "explain", "zoo", "redesigns", "conform", "record",
                           "fingerprint", "fp8", "list", "doctor"}) {
    EXPECT_TRUE(holds(help.out, verb)) << verb;
    const CommandRun own = run({verb, "--help"});
    EXPECT_EQ(own.status, 0) << verb;
    EXPECT_TRUE(holds(own.out, std::string("Usage: shardcheck ") + verb)) << own.out;
    EXPECT_EQ(run({"help", verb}).out, own.out);
  }
  EXPECT_TRUE(holds(run({"--version"}).out, "shardcheck "));
}

TEST(Command, AMisspeltVerbIsNamedWithTheNearest) {
  const CommandRun wrong = run({"chekc"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(
      wrong.err,
      "shardcheck: \"chekc\" is not a known verb; did you mean \"check\"? `shardcheck --help` lists them\n");
}

TEST(Command, AStreamThatCannotBeWrittenIsNotAVerdict) {
  std::ostringstream out, err;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(run_command({"list"}, out, err), 3);
  EXPECT_TRUE(holds(err.str(), "standard output: cannot write"));
}

TEST(Command, DoctorSaysWhatThereIs) {
  const CommandRun doctor = run({"doctor"});
  EXPECT_EQ(doctor.status, 0);
  for (const char* part :
       {"cores", "compiler", "flags", "cpu", "cuda", "ideal (definition)", "hopper (measured)"})
    EXPECT_TRUE(holds(doctor.out, part)) << part;
}

}  // namespace
}  // namespace shardcheck
