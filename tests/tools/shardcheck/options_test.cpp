// Flags, variables and defaults, and every way to get them wrong.
#include "tools/shardcheck/options.h"

#include "core/error.h"
#include "tests/tools/shardcheck/command_run.h"
#include "tools/shardcheck/processes.h"

namespace shardcheck {
namespace {

struct Targets {
  std::string word = "preset";
  std::vector<std::string> many, rest;
  std::int64_t number = 7;
  std::optional<double> seconds;
  std::uint64_t seed = 1;
};

/// Parses into targets; what was printed is returned.
std::string parse(Targets& targets, const std::vector<std::string>& arguments) {
  Options options({"try", "[REST...]", "a verb"});
  options.arguments(targets.rest, {"REST", "", "the rest"});
  options.flag(targets.word, {"word", "W", "a word"});
  options.flag(targets.many, {"many", "M", "words"});
  options.flag(targets.number, {1, 9}, {"number", "N", "a number"});
  options.flag(targets.seconds, {"time", "S", "seconds"});
  options.seed(targets.seed);
  std::ostringstream out, err;
  Processes processes;
  Session session{out, err, processes};
  options.parse(arguments, session);
  return out.str();
}

std::string complaint(const std::vector<std::string>& arguments) {
  Targets targets;
  try {
    parse(targets, arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.what();
  }
  return "accepted";
}

TEST(Options, AFlagTakesOneValueAndTheRestAreArguments) {
  Targets targets;
  parse(targets,
        {"a", "--word", "b", "c", "--many=d,e", "--number", "3", "--many", "f", "g", "--time", "0.5"});
  EXPECT_EQ(targets.word, "b");
  EXPECT_EQ(targets.rest, (std::vector<std::string>{"a", "c", "g"}));
  EXPECT_EQ(targets.many, (std::vector<std::string>{"d", "e", "f"}));
  EXPECT_EQ(targets.number, 3);
  EXPECT_EQ(targets.seconds, std::optional(0.5));
}

TEST(Options, BehindTwoDashesAllWordsAreArguments) {
  Targets targets;
  parse(targets, {"--word", "b", "--", "-1.5", "--word"});
  EXPECT_EQ(targets.word, "b");
  EXPECT_EQ(targets.rest, (std::vector<std::string>{"-1.5", "--word"}));
}

TEST(Options, TheOrderIsFlagVariableDefault) {
  Targets targets;
  parse(targets, {});
  EXPECT_EQ(targets.number, 7);
  setenv("SHARDCHECK_NUMBER", "5", 1);
  parse(targets, {});
  EXPECT_EQ(targets.number, 5);
  parse(targets, {"--number", "6"});
  EXPECT_EQ(targets.number, 6);
  setenv("SHARDCHECK_NUMBER", "five", 1);
  EXPECT_EQ(complaint({}), "SHARDCHECK_NUMBER: \"five\" is not a whole number from 1 to 9");
  unsetenv("SHARDCHECK_NUMBER");
}

TEST(Options, TheLastOfTwoWins) {
  Targets targets;
  parse(targets, {"--seed", "2", "--seed", "3"});
  EXPECT_EQ(targets.seed, 3u);
}

TEST(Options, WhatIsWrongIsASentence) {
  EXPECT_EQ(complaint({"--number", "10"}), "--number: \"10\" is not a whole number from 1 to 9");
  EXPECT_EQ(complaint({"--number", "-1"}), "--number: \"-1\" is not a whole number from 1 to 9");
  EXPECT_EQ(complaint({"--number", "1e3"}), "--number: \"1e3\" is not a whole number from 1 to 9");
  EXPECT_EQ(complaint({"--number", "99999999999999999999"}),
            "--number: \"99999999999999999999\" is not a whole number from 1 to 9");
  EXPECT_EQ(complaint({"--time", "nan"}), "--time: \"nan\" is not a number above 0");
  EXPECT_TRUE(holds(complaint({"--seed", "x"}), "--seed: \"x\" is not a whole number"));
  EXPECT_EQ(complaint({"--word"}), "--word: a value is expected behind this flag");
  EXPECT_EQ(complaint({"--word", "--number", "3"}), "--word: a value is expected behind this flag");
  EXPECT_EQ(
      complaint({"--wrod", "x"}),
      "shardcheck try: \"--wrod\" is not a known flag; did you mean \"--word\"? `shardcheck try --help` "
      "lists them");
}

TEST(Options, RandomDrawsASeed) {
  Targets a;
  parse(a, {"--seed", "random"});
  EXPECT_EQ(complaint({"--seed", "random"}), "accepted");
}

TEST(Options, HelpNamesFlagsDefaultsAndVariables) {
  Targets targets;
  const std::string help = parse(targets, {"--help"});
  for (const char* part :
       {"Usage: shardcheck try [REST...]", "--word W", "[preset]", "SHARDCHECK_SEED is --seed"})
    EXPECT_TRUE(holds(help, part)) << help;
  EXPECT_EQ(parse(targets, {"--word", "--help"}), help) << "behind a flag that lacks its value";
}

}  // namespace
}  // namespace shardcheck
