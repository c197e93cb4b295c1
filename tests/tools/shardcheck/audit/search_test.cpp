// The search end to end, without torch: a stand-in framework with a planted bug is run, judged, and its
// failure shrunk there to the smallest case that still shows it.
#include "tools/shardcheck/audit/search.h"

#include <sstream>

#include "properties/audit/case_shrinks.h"
#include "tests/tools/shardcheck/command_run.h"
#include "tools/shardcheck/processes.h"

namespace shardcheck {
namespace {

class Search : public InFolder {
 protected:
  static CommandRun audit(std::vector<std::string> more) {
    std::vector<std::string> words = {"audit",    "--run", "--python", SHARDCHECK_STUB_PYTHON,
                                      "--ranks",  "2",     "--tries",  "30",
                                      "--device", "cpu",   "--out",    "traces"};
    words.insert(words.end(), more.begin(), more.end());
    return run(std::move(words));
  }
};

TEST_F(Search, ShrinksAPlantedBugToTheSmallestCaseThatShowsIt) {
  const CommandRun found = audit({"--adapter", "ddp", "--shrink", "1", "--json", "all.json"});
  EXPECT_EQ(found.status, 1) << found.err;
  const AuditCase smallest = audit_case_from_json(content_of("traces/failure-1.json"), "failure-1.json");
  const Scenario& s = smallest.scenario;
  EXPECT_EQ(s.parameters.size(), 1u);
  EXPECT_EQ(s.uses.size(), 2u);  // the bug needs a weight that is used twice, and nothing else
  EXPECT_EQ(s.steps, 1);
  EXPECT_EQ(s.microbatches, 1);
  EXPECT_TRUE(s.silent.empty());
  EXPECT_EQ(smallest.adapter, AuditAdapter{.name = "ddp"});
  for (const char* part : {"shrunk from traces/cases/", "it fails without shardcheck, too", "rank 1: WRONG",
                           "torchrun --standalone --nproc-per-node 2 traces/failure-1.py", "30 of 30 cases"})
    EXPECT_TRUE(holds(found.out, part)) << part << " in\n" << found.out;
  // Every case with such a weight failed, and no other.
  for (const auto& trace : nlohmann::json::parse(content_of("all.json"))["traces"]) {
    const AuditCase c = audit_case_from_json(trace["case"].dump(), "case");
    bool twice = false;
    for (std::int32_t p = 0; p < std::ssize(c.scenario.parameters); ++p)
      twice |= c.scenario.parameters[static_cast<std::size_t>(p)].trainable &&
               std::ranges::count(c.scenario.uses, p, &ScenarioUse::parameter) > 1;
    EXPECT_EQ(trace["verdict"] == "BROKEN", twice) << trace["case"].dump();
  }
}

TEST_F(Search, ARightFrameworkHolds) {
  const CommandRun held = audit({"--adapter", "deepspeed"});
  EXPECT_EQ(held.status, 0) << held.out << held.err;
  EXPECT_TRUE(holds(held.out, "held: 30 of 30 cases through deepspeed")) << held.out;
  EXPECT_FALSE(std::filesystem::exists("traces/failure-1.json"));
}

TEST_F(Search, WithoutShrinkingThereIsATableOnly) {
  const CommandRun found = audit({"--adapter", "ddp", "--shrink", "0"});
  EXPECT_EQ(found.status, 1) << found.err;
  EXPECT_TRUE(holds(found.out, "BROKEN: 30 of 30 cases")) << found.out;
  EXPECT_FALSE(std::filesystem::exists("traces/failure-1.json"));
}

}  // namespace
}  // namespace shardcheck
