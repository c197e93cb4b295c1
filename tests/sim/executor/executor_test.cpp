// The executor hands a backend the inputs that ScenarioData says and every op once, in the plan's order, and
// stops where gradients may be read.
#include "sim/executor/executor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "core/numerics/narrow.h"
#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

/// Remembers what it is told.
class Recorder : public Backend {
 public:
  BackendInfo info() const override { return {"recorder", "", ""}; }
  void execute(const Plan&, OpIndex first, OpIndex last) override {
    EXPECT_EQ(first, next) << "no op twice, none left out";
    next = last;
    ++calls;
  }
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    EXPECT_EQ(plan.buffer(view.buffer).role, BufferRole::inputs);
    EXPECT_EQ(std::ssize(bytes), view.numel * bytes_of(plan.buffer(view.buffer).dtype));
    written_at = next;
    written[{rank.value, view.buffer.value}].assign(bytes.begin(), bytes.end());
  }
  void read(const Plan&, Rank, View, std::span<std::byte>) override { ADD_FAILURE() << "nobody asked"; }

  OpIndex next{0}, written_at{-1};
  int calls = 0;
  std::map<std::pair<int, int>, std::vector<std::byte>> written;  // rank, buffer
};

float value_at(const std::vector<std::byte>& bytes, DType type, std::int64_t index) {
  if (type == DType::f32) {
    float value = 0;
    std::memcpy(&value, bytes.data() + 4 * index, 4);
    return value;
  }
  std::uint16_t code = 0;
  std::memcpy(&code, bytes.data() + 2 * index, 2);
  return type == DType::bf16 ? bf16_to_f32(code) : f16_to_f32(code);
}

Scenario three_types() {
  Scenario s = base(Strategy::fsdp_optim_grads);
  s.data = DataMode::integers;
  s.parameters = {{.name = "a", .shape = {2, 3}},
                  {.name = "b", .shape = {3, 2}, .dtype = DType::f32},
                  {.name = "c", .shape = {5}, .dtype = DType::f16}};
  s.uses = {{0}, {1}, {2, Producer::unfused}, {0}};
  s.tokens = 2;
  s.token_counts = {{.rank = 1, .microbatch = 0, .tokens = 3}, {.rank = 0, .microbatch = 1, .tokens = 0}};
  s.silent = {{.parameter = 1, .rank = 0, .microbatch = 0}};
  return s;
}

TEST(Executor, InputsArriveAsScenarioDataSays) {
  const Scenario s = three_types();
  const Planned planned = plan_of(s);
  const ScenarioData data(s);
  Recorder backend;
  run(planned, s, data, backend, {});
  EXPECT_EQ(backend.written_at, planned.setup_end) << "after the allocations, before the first step";
  EXPECT_EQ(backend.written.size(), 6u) << "one write a rank and type";
  std::int64_t compared = 0;
  for (const InputSlot& slot : planned.inputs) {
    const ScenarioParameter& p = s.parameters[static_cast<std::size_t>(slot.parameter)];
    for (std::int32_t rank = 0; rank < s.ranks; ++rank) {
      const auto tokens = tokens_of(s, rank, slot.microbatch);
      if (!is_used(s, slot.parameter, slot.step, rank, slot.microbatch)) continue;
      std::vector<float> x(static_cast<std::size_t>(tokens * p.columns()));
      std::vector<float> dy(static_cast<std::size_t>(tokens * p.rows()));
      data.operands({slot.parameter, slot.step, rank, slot.microbatch, slot.use}, {0, tokens}, x, dy);
      const auto& bytes = backend.written.at({rank, slot.x.buffer.value});
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(value_at(bytes, p.dtype, slot.x.offset + static_cast<std::int64_t>(i)), x[i]);
      for (std::size_t i = 0; i < dy.size(); ++i)
        ASSERT_EQ(value_at(bytes, p.dtype, slot.dy.offset + static_cast<std::int64_t>(i)), dy[i]);
      compared += std::ssize(x) + std::ssize(dy);
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(Executor, ReturnsEveryOpInItsOrder) {
  const Scenario s = three_types();
  const Planned planned = plan_of(s);
  Recorder backend;
  const auto executed = run(planned, s, ScenarioData(s), backend, {});
  ASSERT_EQ(executed.size(), planned.plan.ops.size());
  for (std::size_t i = 0; i < executed.size(); ++i) EXPECT_EQ(executed[i].value, static_cast<int>(i));
  EXPECT_EQ(backend.next.value, static_cast<int>(planned.plan.ops.size()));
  EXPECT_LE(backend.calls, 2 + s.steps) << "in as few calls as the pauses allow";
}

TEST(Executor, CallsAtFinishOnceAStepWhereGradientsMayBeRead) {
  const Scenario s = three_types();
  const Planned planned = plan_of(s);
  Recorder backend;
  std::vector<std::int32_t> steps;
  RunEvents events;
  events.at_finish = [&](std::int32_t step) {
    steps.push_back(step);
    EXPECT_EQ(backend.next, planned.finishes[static_cast<std::size_t>(step)]);
  };
  run(planned, s, ScenarioData(s), backend, events);
  EXPECT_EQ(steps, (std::vector<std::int32_t>{0, 1}));
}

TEST(Executor, GoesOpByOpWhenSomebodyWatches) {
  const Scenario s = three_types();
  const Planned planned = plan_of(s);
  Recorder backend;
  std::int32_t before = 0, after = 0;
  RunEvents events;
  events.before_op = [&](OpIndex op) {
    EXPECT_EQ(op.value, before++);
    EXPECT_EQ(backend.next, op) << "not executed yet";
  };
  events.after_op = [&](OpIndex op) {
    EXPECT_EQ(op.value, after++);
    EXPECT_EQ(backend.next.value, op.value + 1) << "executed";
  };
  run(planned, s, ScenarioData(s), backend, events);
  EXPECT_EQ(before, static_cast<std::int32_t>(planned.plan.ops.size()));
  EXPECT_EQ(after, before);
  EXPECT_EQ(backend.calls, before);
}

}  // namespace
}  // namespace shardcheck::tests
