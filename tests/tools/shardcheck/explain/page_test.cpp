// The page holds what the diagnosis found, as data that a script cannot break out of.
#include "tools/shardcheck/explain/page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/faults/zoo.h"
#include "sim/planner/planner.h"

namespace shardcheck {
namespace {

class ExplainPage : public testing::Test {
 protected:
  ExplainPage() {
    scenario = {.strategy = Strategy::fsdp_optim_grads,
                .slots = 1,
                .parameters = {{.name = "a</script>", .shape = {2, 12}, .unit = 0},
                               {.name = "b", .shape = {2, 12}, .unit = 1}},
                .uses = {{0}, {1}},
                .fault = "B-28"};
    planned = plan_of(scenario);
    apply_fault(planned, scenario);
    diagnosis.finding = {
        .clause = "W33", .sentence = "reuses a slot", .rank = 0, .history = {"op 3: opened"}};
    diagnosis.first_wrong = races_of(planned.plan).front().second;
    diagnosis.counterfactuals.push_back({"one more slot", true, ""});
  }
  Explained explained() const { return {scenario, diagnosis, planned.plan, "shardcheck replay x.json"}; }

  Scenario scenario;
  Planned planned;
  Diagnosis diagnosis;
};

TEST_F(ExplainPage, DrawsOpsRacesAndWhatMends) {
  const auto data = nlohmann::json::parse(explain_data(explained()));
  EXPECT_EQ(data["finding"]["clause"], "W33");
  EXPECT_EQ(data["finding"]["history"].size(), 1u);
  EXPECT_EQ(data["ranks"].size(), 2u);
  EXPECT_FALSE(data["races"].empty());
  EXPECT_EQ(data["races"][0][3], "E2");
  EXPECT_TRUE(data["counterfactuals"][0]["mends"]);
  bool has_first_wrong = false;
  for (const auto& op : data["ops"]) has_first_wrong |= op["op"] == data["first_wrong"];
  EXPECT_TRUE(has_first_wrong);
}

TEST_F(ExplainPage, DrawsWhatIsGuiltyAndTakesNoTime) {
  scenario.strategy = Strategy::fsdp2;
  scenario.offload = true;
  for (ScenarioUse& use : scenario.uses) use.producer = Producer::unfused;
  scenario.fault = "M-E14";
  planned = plan_of(scenario);
  apply_fault(planned, scenario);
  const Race race = races_of(planned.plan).front();
  ASSERT_TRUE(std::holds_alternative<CloseLease>(
      planned.plan.ops[static_cast<std::size_t>(race.second.value)].action));
  diagnosis.first_wrong = race.second;
  const auto data = nlohmann::json::parse(explain_data(explained()));
  bool is_drawn = false;
  for (const auto& op : data["ops"])
    is_drawn |= op["op"] == race.second.value && op["spans"].size() == 2 && op["spans"][0][1] > 0;
  EXPECT_TRUE(is_drawn) << "on both ranks, behind what compute did before";
}

TEST_F(ExplainPage, ANameCannotEndTheScript) {
  const std::string page = explain_page(explained());
  EXPECT_EQ(page.find("a</script>"), std::string::npos);
  EXPECT_EQ(page.find("/*DATA*/"), std::string::npos);
}

}  // namespace
}  // namespace shardcheck
