// Runs are compared element by element, whatever their layout, and replicas with each other.
#include "properties/gradient_bits.h"

#include <gtest/gtest.h>

#include "sim/executor/executor.h"
#include "sim/planner/planner.h"
#include "tests/properties/drifting.h"
#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

struct Read {
  Read(const Scenario& s, Backend& backend) : scenario(s), planned(plan_of(s)), bits(scenario, planned) {
    ScenarioData data(scenario);
    data.use_reals(Reals::of_its_own);
    RunEvents events;
    events.at_finish = [&](std::int32_t step) { bits.read(step, backend); };
    run(planned, scenario, data, backend, events);
  }
  Read(const Read&) = delete;

  Scenario scenario;
  Planned planned;
  GradientBits bits;
};

TEST(GradientBits, OwnersAreComparedByElementWhateverTheyOwn) {
  const auto cpu = make_backend("cpu", {.profile = "ideal"});
  // Two addends and one microbatch: every owner has the same bits.
  Scenario whole = base(Strategy::megatron_ddp), cut = base(Strategy::megatron_ddp_zero1);
  whole.microbatches = cut.microbatches = 1;
  whole.ranks = cut.ranks = 2;
  EXPECT_TRUE(Read(whole, *cpu).bits.differences(Read(cut, *cpu).bits, "").empty());
  cut.seed = whole.seed + 1;
  const auto findings = Read(whole, *cpu).bits.differences(Read(cut, *cpu).bits, "other data");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].clause, "W39");
  EXPECT_EQ(findings[0].sentence, "other data");
  EXPECT_EQ(findings[0].element, 0);
  EXPECT_NE(findings[0].expected.value, findings[0].actual.value);
}

TEST(GradientBits, ReplicasAreComparedWithEachOther) {
  Drifting machine(Drifting::Drift::on_rank_1);
  const Read replicas(base(Strategy::megatron_ddp), machine);
  ASSERT_FALSE(replicas.bits.of_replicas().empty());
  EXPECT_NE(replicas.bits.of_replicas()[0].sentence.find("ranks 0 and 1"), std::string::npos);
  EXPECT_EQ(replicas.bits.of_replicas()[0].rank, 1);
  const Read shards(base(Strategy::megatron_ddp_zero1), machine);
  EXPECT_TRUE(shards.bits.of_replicas().empty()) << "nobody has what rank 1 has";
}

}  // namespace
}  // namespace shardcheck::tests
