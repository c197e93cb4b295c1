// The unfused producer: Q4 of wgrad 4.1, the sum that autograd forms, and the placeholder beside it.
#include <gtest/gtest.h>

#include "sim/producers/producer.h"
#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

Scenario with_uses(Strategy strategy, std::vector<ScenarioUse> uses) {
  Scenario s = base(strategy);
  s.overlap = false;
  s.microbatches = 1;
  s.uses = std::move(uses);
  return s;
}

const ScenarioUse kFused{0, Producer::fused}, kUnfused{0, Producer::unfused}, kOther{0, Producer::other};

TEST(Unfused, ReturnsARealGradientThatTheHookFolds) {
  EXPECT_EQ(story(plan_of(with_uses(Strategy::megatron_ddp, {kUnfused})), 0, 0), "grad real hook+ fold+");
  EXPECT_EQ(story(plan_of(with_uses(Strategy::fsdp_optim_grads, {kUnfused})), 0, 0), "grad real hook= fold=")
      << "the first touch of a lease copies";
}

TEST(Unfused, AutogradSumsTheUsesOfAMicrobatch) {
  EXPECT_EQ(story(plan_of(with_uses(Strategy::megatron_ddp, {kUnfused, kUnfused, kUnfused})), 0, 0),
            "grad real grad real sum grad real sum hook+ fold+");
}

TEST(Unfused, ATiedWeightGetsAZeroedPlaceholder) {
  const std::string folded = "undefine zero-dummy dummy+ hook+ fold+";
  EXPECT_EQ(story(plan_of(with_uses(Strategy::fsdp_optim_grads, {kUnfused, kFused})), 0, 0),
            "acquire write0 flag zeroed-dummy grad real " + folded);
  EXPECT_EQ(story(plan_of(with_uses(Strategy::fsdp_optim_grads, {kFused, kUnfused})), 0, 0),
            "grad real acquire write0 flag zeroed-dummy " + folded)
      << "the other order";
  EXPECT_EQ(
      story(plan_of(with_uses(Strategy::megatron_ddp, {kFused, kUnfused, kFused})), 0, 0),
      "write1 flag zeroed-dummy grad real write1 flag zeroed-dummy undefine zero-dummy dummy+ dummy+ hook+ "
      "fold+")
      << "one placeholder a fused use";
}

TEST(Unfused, UnderR7AFusedUseIsUnfusedButAnotherOpIsNot) {
  Scenario s = with_uses(Strategy::fsdp_optim_grads, {kFused, kOther});
  s.write_mode = WriteMode::r7;
  EXPECT_EQ(story(plan_of(s), 0, 0),
            "acquire write0 flag zeroed-dummy grad real undefine zero-dummy dummy+ hook+ fold+");
}

TEST(Unfused, DelayedExecutionDelaysOnlyTheHook) {
  Scenario s = with_uses(Strategy::megatron_ddp, {kUnfused, kFused});
  s.execution = Execution::delayed;
  EXPECT_EQ(story(plan_of(s), 0, 0),
            "flag zeroed-dummy grad real write1 undefine zero-dummy dummy+ hook+ fold+");
}

std::vector<std::string> buffers_of(const Planned& planned, BufferRole role) {
  std::vector<std::string> names;
  for (const Buffer& b : planned.plan.buffers)
    if (b.role == role) names.push_back(b.name);
  return names;
}

TEST(Producers, SetUpAllocatesWhatUsesNeed) {
  Scenario s = base(Strategy::megatron_ddp);
  s.parameters = {{.name = "w0", .shape = {4, 32}},
                  {.name = "w1", .shape = {4, 32}},
                  {.name = "h", .shape = {4, 32}, .dtype = DType::f16},
                  {.name = "frozen", .shape = {4, 32}, .trainable = false},
                  {.name = "unused", .shape = {4, 32}}};
  s.uses = {{0}, {1}, {1}, {2}, {3}};
  const Planned planned = plan_of(s);
  EXPECT_EQ(buffers_of(planned, BufferRole::inputs), (std::vector<std::string>{"inputs.bf16", "inputs.f16"}));
  EXPECT_EQ(buffers_of(planned, BufferRole::param_grad),
            (std::vector<std::string>{"w0.grad", "w1.grad", "w1.grad.next", "h.grad"}));
  EXPECT_EQ(buffers_of(planned, BufferRole::placeholder),
            (std::vector<std::string>{"placeholder.bf16.4x32", "placeholder.f16.4x32"}))
      << "one a shape and type, shared by all layers";
}

TEST(Producers, EveryUseHasItsInputs) {
  Scenario s = base(Strategy::megatron_ddp);
  s.uses = {{0}, {0}};
  s.tokens = 3;
  s.token_counts = {{.rank = 1, .microbatch = 0, .tokens = 5}};
  const Planned planned = plan_of(s);
  ASSERT_EQ(planned.inputs.size(), 8u) << "2 steps x 2 microbatches x 2 uses";
  std::int64_t end = 0;
  for (const InputSlot& slot : planned.inputs) {
    EXPECT_EQ(slot.x.numel, 5 * 32) << "room for the most tokens";
    EXPECT_EQ(slot.dy.numel, 5 * 4);
    for (const View& view : {slot.x, slot.dy}) {
      EXPECT_GE(view.offset, end);
      EXPECT_EQ(view.offset * bytes_of(DType::bf16) % 16, 0) << "aligned";
      end = view.offset + view.numel;
    }
  }
  EXPECT_EQ(planned.inputs[5].step, 1);
  EXPECT_EQ(planned.inputs[5].use, 1);
  EXPECT_LE(end, planned.plan.buffer(planned.inputs[0].x.buffer).numel);
}

}  // namespace
}  // namespace shardcheck::tests
