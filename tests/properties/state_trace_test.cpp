// What a run leaves beside gradients, and the first op that leaves something else.
#include "properties/state_trace.h"

#include <gtest/gtest.h>

#include "sim/executor/executor.h"
#include "sim/planner/planner.h"
#include "tests/properties/drifting.h"
#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

StateTrace trace_of(const Planned& planned, const Scenario& s, Backend& backend) {
  StateTrace trace(planned.plan);
  const ScenarioData data(s);
  RunEvents events;
  events.after_op = [&](OpIndex op) { trace.after(op, backend); };
  events.at_end = [&] { trace.at_end(backend); };
  run(planned, s, data, backend, events);
  return trace;
}

TEST(StateTrace, NamesTheFirstOpThatLeavesSomethingElse) {
  const Scenario s = base(Strategy::megatron_ddp_zero1);
  const Planned planned = plan_of(s);
  const auto cpu = make_backend("cpu", {.profile = "ideal"});
  const StateTrace right = trace_of(planned, s, *cpu);
  EXPECT_FALSE(trace_of(planned, s, *cpu).difference(right));
  Drifting drifting(Drifting::Drift::on_rank_1);
  const auto wrong = trace_of(planned, s, drifting).difference(right);
  ASSERT_TRUE(wrong);
  EXPECT_TRUE(
      std::holds_alternative<Fill>(planned.plan.ops[static_cast<std::size_t>(wrong->op.value)].action));
  EXPECT_NE(wrong->sentence.find("leaves masters (master.0)"), std::string::npos) << wrong->sentence;
}

TEST(StateTrace, SeesWhatIsOtherAtTheEndOfAStep) {
  const Scenario s = base(Strategy::megatron_ddp_zero1);
  const Planned planned = plan_of(s);
  const auto cpu = make_backend("cpu", {.profile = "ideal"});
  Drifting drifting(Drifting::Drift::on_rank_1);
  StateTrace right(planned.plan), wrong(planned.plan);
  const ScenarioData data(s);
  for (auto [trace, backend] : {std::pair{&right, cpu.get()}, {&wrong, static_cast<Backend*>(&drifting)}}) {
    RunEvents events;
    events.at_finish = [&](std::int32_t step) {
      trace->before(planned.finishes[static_cast<std::size_t>(step)], *backend);
    };
    run(planned, s, data, *backend, events);
  }
  const auto difference = wrong.difference(right);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->sentence,
            "at the end of step 0 the masters (master.0) are not those of the plan's order");
}

TEST(StateTrace, SeesWhatIsOtherInTheEndAlone) {
  const Scenario s = base(Strategy::megatron_ddp_zero1);
  const Planned planned = plan_of(s);
  const auto cpu = make_backend("cpu", {.profile = "ideal"});
  StateTrace right(planned.plan), wrong(planned.plan);
  const ScenarioData data(s);
  run(planned, s, data, *cpu, {});
  right.at_end(*cpu);
  Drifting drifting(Drifting::Drift::on_rank_1);
  run(planned, s, data, drifting, {});
  wrong.at_end(drifting);
  const auto difference = wrong.difference(right);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->sentence, "in the end the masters (master.0) are not those of the plan's order");
}

}  // namespace
}  // namespace shardcheck::tests
