// Where codes, scales and pieces of FP8 weights lie: every owner cuts every weight without gap or overlap.
#include "sim/weights/weight_store.h"

#include <gtest/gtest.h>

#include "tests/sim/weights/training.h"

namespace shardcheck::tests {
namespace {

TEST(WeightStore, PiecesCoverEveryWeightOnceUnderEveryOwner) {
  for (const Strategy strategy : kWithFp8) {
    const Scenario s = training("te-current", strategy, {3, 7});
    const Planned planned = plan_of(s);
    for (const std::int32_t parameter : {0, 2}) {
      std::vector<int> owners(21);
      for (const Placement& piece : planned.masters) {
        if (piece.parameter.value != parameter) continue;
        for (std::int64_t i = 0; i < piece.view.numel; ++i)
          ++owners[static_cast<std::size_t>(piece.first + i)];
      }
      const int expected = shards_gradient(s.strategy) ? 1 : s.ranks;
      EXPECT_EQ(owners, std::vector<int>(21, expected)) << name_of(s.strategy);
    }
  }
}

TEST(WeightStore, RowsOfFsdp2AreCastApartFromWholeCodes) {
  const Scenario s = training("te-current", Strategy::fsdp2, {3, 7});
  const Planned planned = plan_of(s);
  const View whole = planned.plan.weight_copies[0].codes;
  EXPECT_EQ(whole.numel, 21);
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
  for (const auto& [direction, piece] : planned.code_pieces) {
    if (piece.parameter.value != 0) continue;
    EXPECT_NE(piece.view.buffer, whole.buffer);
    pieces.emplace_back(piece.first, piece.view.numel);
  }
  EXPECT_EQ(pieces, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 7}, {7, 7}, {14, 7}}))
      << "a row a rank, and none for the fourth";
}

TEST(WeightStore, CopiesLieInTheLayoutOfTheOwnersBuckets) {
  const Scenario s = training("te-mxfp8", Strategy::fsdp_optim_grads_params, {32, 64});
  const Planned planned = plan_of(s);
  ASSERT_EQ(planned.plan.weight_copies.size(), 4u) << "two directions of two weights";
  for (const WeightCopy& copy : planned.plan.weight_copies) {
    const Buffer& codes = planned.plan.buffer(copy.codes.buffer);
    EXPECT_EQ(codes.role, BufferRole::codes);
    EXPECT_EQ(codes.dtype, DType::e4m3);
    EXPECT_EQ(copy.codes.numel, 32 * 64);
    EXPECT_FALSE(copy.is_derived);
    EXPECT_EQ(planned.plan.buffer(copy.scales.buffer).role, BufferRole::scales);
  }
  const Scenario derived = training("te-current", Strategy::megatron_ddp_zero1, {3, 7});
  const Planned tensors = plan_of(derived);
  EXPECT_TRUE(tensors.plan.weight_copies[1].is_derived);
}

TEST(WeightStore, OnlyTrainableMatricesHaveCodes) {
  Scenario s = training("te-current", Strategy::megatron_ddp, {3, 7});
  s.parameters[2].trainable = false;
  const Planned planned = plan_of(s);
  ASSERT_EQ(planned.initial.size(), 1u);
  EXPECT_EQ(planned.initial[0].parameter, 0);
  EXPECT_EQ(planned.plan.weight_copies.size(), 2u);
}

TEST(WeightStore, AmaxesOfDenseAndExpertWeightsArePackedApart) {
  Scenario s = training("te-current", Strategy::megatron_ddp_zero1, {3, 7});
  s.expert_parallel = 2;
  s.parameters[2].expert = true;
  const Planned planned = plan_of(s);
  std::vector<std::pair<std::int32_t, std::int64_t>> reduced;
  for (const Op& op : planned.plan.ops) {
    const auto* c = std::get_if<Communicate>(&op.action);
    if (c != nullptr && c->reduction == Reduction::maximum && op.why.step == 0)
      reduced.emplace_back(c->group, planned.plan.operand(op, 0)[0].numel);
  }
  EXPECT_EQ(reduced, (std::vector<std::pair<std::int32_t, std::int64_t>>{{4, 1}, {2, 1}}));
}

}  // namespace
}  // namespace shardcheck::tests
