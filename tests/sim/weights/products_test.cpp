// y = x W^T and dx = dy W out of codes, in numbers: with weights and activations that FP8 holds exactly,
// outputs are exact products.
#include "sim/weights/products.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/numerics/narrow.h"
#include "tests/sim/weights/training.h"

namespace shardcheck::tests {
namespace {

/// Every finished output of a run on the CPU, as numbers: by pass, of use 0 of w0 on rank 0.
std::vector<float> output_of(const Scenario& s, Pass pass) {
  const auto backend = make_backend("cpu", {.profile = "ideal"});
  const ScenarioData data(s);
  const Planned planned = plan_of(s);
  run(planned, s, data, *backend, {});
  for (const OutputSlot& slot : planned.outputs) {
    if (slot.pass != pass || slot.parameter != 0 || slot.microbatch != 0) continue;
    std::vector<std::uint16_t> codes(static_cast<std::size_t>(slot.view.numel));
    backend->read(planned.plan, Rank{0}, slot.view, std::as_writable_bytes(std::span(codes)));
    std::vector<float> values;
    for (const std::uint16_t code : codes) values.push_back(bf16_to_f32(code));
    return values;
  }
  return {};
}

/// The same in double out of the model's version 0, for a step that is skipped.
std::vector<float> expected_of(const Scenario& s, bool backward) {
  const ScenarioData data(s);
  const ScenarioParameter& p = s.parameters[0];
  std::vector<float> initial(static_cast<std::size_t>(p.numel()));
  data.initial(0, Rank{0}, initial);
  WeightModel model(s, 0);
  model.create(rounded_values(p.dtype, initial));
  const recipe::Direction direction = backward && !recipe::is_derivable(model.recipe().second_copy)
                                          ? recipe::Direction::column
                                          : recipe::Direction::row;
  const auto w = recipe::dequantize(model.recipe(), model.now().copy(direction));
  std::vector<float> x(static_cast<std::size_t>(s.tokens * p.columns())),
      dy(static_cast<std::size_t>(s.tokens * p.rows()));
  data.operands({0, 0, 0, 0, 0}, {0, s.tokens}, x, dy);
  std::vector<float> out;
  const std::int64_t width = backward ? p.columns() : p.rows(), k = backward ? p.rows() : p.columns();
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    for (std::int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        const auto element = static_cast<std::size_t>(backward ? i * p.columns() + j : j * p.columns() + i);
        sum += double{w[element]} * double{(backward ? dy : x)[static_cast<std::size_t>(t * k + i)]};
      }
      out.push_back(bf16_to_f32(f32_to_bf16(static_cast<float>(sum))));
    }
  }
  return out;
}

TEST(Products, AreThoseOfTheDecodedWeights) {
  for (const char* recipe : {"te-current-pow2", "te-mxfp8", "te-block-128x128"}) {
    const std::int64_t side = std::string_view(recipe) == "te-block-128x128" ? 128 : 32;
    Scenario s = training(recipe, Strategy::fsdp_optim_grads_params, {side, 2 * side});
    s.steps = 1;
    s.fp8->skipped_steps = {0};
    EXPECT_EQ(output_of(s, Pass::forward), expected_of(s, false)) << recipe;
    EXPECT_EQ(output_of(s, Pass::backward), expected_of(s, true)) << recipe;
  }
}

TEST(Products, RecomputeAndEvaluationRepeatTheForward) {
  Scenario s = training("te-delayed", Strategy::fsdp_optim_grads_params, {4, 6});
  s.steps = 1;
  s.fp8->skipped_steps = {0};
  s.fp8->recompute = true;
  s.fp8->evaluations = {0};
  const std::vector<float> forward = output_of(s, Pass::forward);
  EXPECT_EQ(output_of(s, Pass::recompute), forward);
  // The amaxes of the step have become its activations' scale: small integers are exact in any of them.
  EXPECT_EQ(output_of(s, Pass::evaluation), forward);
}

TEST(Products, OnlyTheFirstForwardAndItsBackwardPushAmaxes) {
  Scenario s = training("te-delayed", Strategy::megatron_ddp, {4, 6});
  const auto pushes = [&] {
    const Planned planned = plan_of(s);
    return std::ranges::count_if(planned.plan.ops, [](const Op& op) {
      return std::holds_alternative<TakeAmax>(op.action) && op.why.purpose != Purpose::weights &&
             op.why.purpose != Purpose::setup;
    });
  };
  EXPECT_EQ(pushes(), 3 * 2 * 2 * 2) << "steps, microbatches, weights, x and dy";
  s.fp8->recompute = true;
  s.fp8->evaluations = {0, 1, 2};
  EXPECT_EQ(pushes(), 3 * 2 * 2 * 2);
}

}  // namespace
}  // namespace shardcheck::tests
