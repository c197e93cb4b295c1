// check from end to end: verdicts, the folder of failures, JSON, JUnit, interrupts, bad input.
#include "properties/property.h"
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

using Check = InFolder;
using nlohmann::json;

/// A backend that scales twice: random cases find it at once.
const std::vector<std::string> kFinds = {"check",   "scale-once", "--backend", "faulty:scale-twice",
                                         "--cases", "300"};

std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST_F(Check, HoldsAndSaysSo) {
  const CommandRun check =
      run({"check", "final-value", "--cases", "4000", "--seed", "3", "--json", "r.json"});
  EXPECT_EQ(check.status, 0) << check.out << check.err;
  EXPECT_TRUE(holds(check.out, "final-value  W1 W2")) << check.out;
  EXPECT_TRUE(holds(check.out, "held: 1 property; 4,000 cases in")) << check.out;
  EXPECT_TRUE(holds(check.out, "seed 3, cpu (ideal)")) << check.out;
  EXPECT_TRUE(check.err.empty()) << check.err;
  const json report = json::parse(content_of("r.json"));
  EXPECT_EQ(report["verdict"], "held");
  EXPECT_EQ(report["seed"], 3);
  EXPECT_TRUE(report["seconds"].is_number());
  ASSERT_EQ(report["properties"].size(), 1u);
  const json& property = report["properties"][0];
  EXPECT_EQ(property["id"], "final-value");
  EXPECT_EQ(property["clauses"], (json{"W1", "W2"}));
  EXPECT_EQ(property["cases"], 4000);
  EXPECT_TRUE(property["coverage"].is_object());
  EXPECT_TRUE(property["findings"].empty());
  EXPECT_EQ(files(), std::vector<std::string>{"r.json"});
}

TEST_F(Check, CasesAreDealtOutOverTheProperties) {
  // Enough that the smallest share is a case: below that every property still gets one.
  const CommandRun check = run({"check", "--cases", "1000", "--json", "-"});
  const json report = json::parse(check.out);
  EXPECT_EQ(report["cases"], 1000);
  EXPECT_EQ(report["properties"].size(), properties().size());
}

TEST_F(Check, AFailureIsReportedKeptAndRunFirstTheNextTime) {
  const CommandRun check = run(with(kFinds, {"--json", "r.json", "--junit", "r.xml"}));
  EXPECT_EQ(check.status, 1) << check.out << check.err;
  for (const char* part : {"BROKEN", "what", "where", "expected", "actual", "scenario", "found", "reproduce"})
    EXPECT_TRUE(holds(check.out, part)) << part << " in\n" << check.out;
  const json report = json::parse(content_of("r.json"));
  EXPECT_EQ(report["verdict"], "broken");
  const json& finding = report["properties"][0]["findings"][0];
  for (const char* field :
       {"clause", "op", "rank", "parameter", "element", "expected", "actual", "sentence", "reproduce"})
    EXPECT_TRUE(finding.contains(field)) << field;
  EXPECT_TRUE(finding["expected"].contains("number") && finding["expected"].contains("hex"));
  EXPECT_TRUE(holds(content_of("r.xml"), "failures=\"1\""));

  const std::string kept = report["properties"][0]["failure"]["file"];
  EXPECT_TRUE(kept.starts_with(".shardcheck/failures/scale-once.")) << kept;
  EXPECT_TRUE(holds(check.out, "shardcheck replay " + kept + " --backend faulty:scale-twice")) << check.out;
  EXPECT_EQ(run({"replay", kept, "--backend", "faulty:scale-twice"}).status, 1);
  EXPECT_EQ(run({"replay", kept}).status, 0);

  const CommandRun again = run(with(kFinds, {"--json", "again.json"}));
  EXPECT_EQ(again.status, 1);
  EXPECT_TRUE(again.out.starts_with("kept failure " + kept + ": still BROKEN")) << again.out;
  EXPECT_FALSE(json::parse(content_of("again.json"))["kept"][0]["findings"].empty());
  const CommandRun elsewhere = run({"check", "frozen", "--cases", "1000"});
  EXPECT_TRUE(holds(elsewhere.out, "1 kept failure of another backend not run again")) << elsewhere.out;
}

TEST_F(Check, AMendedFailureIsSetAside) {
  write(".shardcheck/failures/first-touch.W5.cpu.00000000.json", sound_scenario());
  const CommandRun check = run({"check", "frozen", "--cases", "1000"});
  EXPECT_EQ(check.status, 0) << check.out << check.err;
  EXPECT_TRUE(
      holds(check.out, "mended, moved to .shardcheck/failures/mended/first-touch.W5.cpu.00000000.json"))
      << check.out;
  EXPECT_EQ(files(),
            std::vector<std::string>{".shardcheck/failures/mended/first-touch.W5.cpu.00000000.json"});
}

TEST_F(Check, AKeptFileThatIsDamagedIsNamedAndLeftAlone) {
  write(".shardcheck/failures/first-touch.W5.cpu.00000000.json", "{");
  const CommandRun check = run({"check", "frozen", "--cases", "1000"});
  EXPECT_EQ(check.status, 0);
  EXPECT_TRUE(holds(check.err, "first-touch.W5.cpu.00000000.json")) << check.err;
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(Check, AFolderThatCannotBeWrittenLosesNothing) {
  write(".shardcheck", "a file, not a folder");
  const CommandRun check = run(kFinds);
  EXPECT_EQ(check.status, 3);
  EXPECT_TRUE(holds(check.err, ".shardcheck/failures: cannot create the folder")) << check.err;
  EXPECT_TRUE(holds(check.out, "BROKEN")) << check.out;
  EXPECT_TRUE(holds(check.out, "\"schema\": 1")) << "the scenario itself: " << check.out;
  EXPECT_EQ(files(), std::vector<std::string>{".shardcheck"});
}

TEST_F(Check, AGivenScenarioIsFileOrExample) {
  const CommandRun broken = run({"check", "--scenario", write("s.json", broken_scenario())});
  EXPECT_EQ(broken.status, 1) << broken.out << broken.err;
  EXPECT_TRUE(holds(broken.out, "W4 Legal beta")) << broken.out;
  EXPECT_EQ(run({"check", "--scenario", write("s.json", sound_scenario())}).status, 0);
  const CommandRun unknown = run({"check", "--scenario", "llama"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_TRUE(holds(unknown.err, "did you mean \"llama3-8b-block\"?")) << unknown.err;
}

TEST_F(Check, AFindingIsToldInFullOnce) {
  const CommandRun check =
      run({"check", "--scenario", write("s.json", broken_scenario()), "--json", "r.json"});
  EXPECT_EQ(check.status, 1);
  std::size_t told = 0;
  for (auto at = check.out.find("\n  history"); at != std::string::npos;
       at = check.out.find("\n  history", at + 1))
    ++told;
  EXPECT_EQ(told, 1u) << check.out;
  EXPECT_TRUE(holds(check.out, "as above W4, under final-value")) << check.out;
  for (const auto& property : json::parse(content_of("r.json"))["properties"])
    EXPECT_FALSE(property["findings"].empty()) << property["id"];
}

TEST_F(Check, AnInterruptEndsEarlyAndHasItsOwnStatus) {
  interrupt_flag() = true;
  const CommandRun check = run({"check", "--json", "r.json", "--junit", "r.xml"});
  EXPECT_EQ(check.status, 130);
  EXPECT_TRUE(holds(check.out, "interrupted, 0 of")) << check.out;
  const json report = json::parse(content_of("r.json"));
  EXPECT_EQ(report["verdict"], "gave_up");
  EXPECT_EQ(report["interrupted"], true);
  EXPECT_TRUE(holds(content_of("r.xml"), "<skipped/>"));
  EXPECT_EQ(files(), (std::vector<std::string>{"r.json", "r.xml"}));
}

TEST_F(Check, TimeEndsTheSearch) {
  const auto start = std::chrono::steady_clock::now();
  const CommandRun check = run({"check", "frozen", "--time", "0.2", "--json", "-"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  EXPECT_GT(json::parse(check.out)["cases"], 0);
}

TEST_F(Check, WrongNamesAreSentencesWithTheNearest) {
  const auto expect_refused = [](const std::vector<std::string>& arguments, int status,
                                 const std::string& part) {
    const CommandRun check = run(arguments);
    EXPECT_EQ(check.status, status) << check.err;
    EXPECT_TRUE(check.out.empty()) << check.out;
    EXPECT_TRUE(check.err.starts_with("shardcheck: ") && holds(check.err, part)) << check.err;
  };
  expect_refused({"check", "legal-bata"}, 2, "did you mean \"legal-beta\"?");
  expect_refused({"check", "L28"}, 2, "a clause that no property claims");
  expect_refused({"check", "--backend", "cpuu"}, 2, "known are \"cpu\"");
  expect_refused({"check", "--backend", "faulty:x"}, 2, "not a numeric fault");
  expect_refused({"check", "--profile", "x"}, 2, "known are \"ideal\", \"hopper\"");
  expect_refused({"check", "--sede", "1"}, 2, "did you mean \"--seed\"?");
  expect_refused({"check", "--cases", "0"}, 2, "--cases: \"0\" is not a whole number");
  expect_refused({"check", "--json", "no/r.json"}, 2, "there is no folder no");
  expect_refused({"check", "--json", "-", "--junit", "-"}, 2, "give one of them a file");
  expect_refused({"check", "--exhaustive", "2", "--scenario", "llama3-8b-block"}, 2,
                 "does not go with --scenario");
}

}  // namespace
}  // namespace shardcheck
