// Which ops are held to bits, and which to a bound.
#include "backends/shadow/yardstick.h"

#include <gtest/gtest.h>

#include "tests/backends/rig.h"

namespace shardcheck::shadowing {
namespace {

Sides sides(const std::string& reference, const std::string& candidate) {
  return {{"a", "", reference, 1}, {"b", "", candidate, 1}};
}

Yardstick of(const Action& action, const Sides& sides, std::int32_t ranks = 4) {
  Plan plan;
  plan.ranks = ranks;
  PlanBuilder build(plan);
  build.op(action, {}, Stream::compute, test::ranks_upto(ranks));
  return yardstick_of(plan, plan.ops[0], sides);
}

TEST(Yardstick, GemmsNeedOneKnownProfile) {
  EXPECT_EQ(of(Gemm{3, 2, 2}, sides("hopper", "hopper")), Yardstick::bits);
  EXPECT_EQ(of(Gemm{3, 2, 2}, sides("ideal", "hopper")), Yardstick::bounds);
  EXPECT_EQ(of(Gemm{3, 2, 2}, sides("unknown", "unknown")), Yardstick::bounds);
  EXPECT_EQ(of(Gemm{0, 2, 2}, sides("ideal", "unknown")), Yardstick::bits);
}

TEST(Yardstick, MatmulsWithoutAProfileAreUnjudged) {
  EXPECT_EQ(of(Matmul{2, 2, 2}, sides("hopper", "hopper")), Yardstick::bits);
  EXPECT_EQ(of(Matmul{2, 2, 2}, sides("hopper", "unknown")), Yardstick::unjudged);
}

TEST(Yardstick, UndefinedBytesAndEventsAreNotCompared) {
  const Sides same = sides("ideal", "ideal");
  for (const Action& action : {Action{Allocate{}}, Action{Undefine{}}, Action{OpenLease{}}, Action{Record{}},
                               Action{BeginStep{}}, Action{Finish{}}}) {
    EXPECT_EQ(of(action, same), Yardstick::none);
  }
  for (const Action& action :
       {Action{Fill{}}, Action{Copy{}}, Action{Add{}}, Action{Scale{}}, Action{SgdStep{}}}) {
    EXPECT_EQ(of(action, sides("unknown", "ideal")), Yardstick::bits);
  }
}

TEST(Yardstick, OpsOnBlocksAndMaximaAreExact) {
  const Sides other = sides("unknown", "ideal");
  for (const Action& action :
       {Action{TakeAmax{}}, Action{ScaleFromAmax{}}, Action{QuantizeBlocks{}}, Action{DequantizeBlocks{}},
        Action{QuantizeMatrix{}}, Action{DeriveColumnCopy{}}, Action{CloseDelayedStep{}}}) {
    EXPECT_EQ(of(action, other), Yardstick::bits) << action.index();
  }
  Sides folded = other;
  folded.candidate.fold = 3;
  EXPECT_EQ(of(Communicate{Collective::all_reduce, Reduction::maximum, 8}, folded, 8), Yardstick::bits);
}

TEST(Yardstick, ReductionsNeedOneOrderOfAdditions) {
  const auto reduce = [](std::int32_t group, std::int32_t reference, std::int32_t candidate) {
    Sides folded = sides("ideal", "ideal");
    folded.reference.fold = reference;
    folded.candidate.fold = candidate;
    return of(Communicate{Collective::reduce_scatter, Reduction::sum, group}, folded, 8);
  };
  EXPECT_EQ(reduce(8, 1, 1), Yardstick::bits);
  EXPECT_EQ(reduce(8, 2, 2), Yardstick::bits);
  EXPECT_EQ(reduce(8, 1, 2), Yardstick::bounds);
  EXPECT_EQ(reduce(4, 1, 2), Yardstick::bits) << "each group lies on one GPU";
  EXPECT_EQ(reduce(8, 4, 4), Yardstick::bounds) << "three GPUs or more promise no order";
  EXPECT_EQ(reduce(2, 1, 8), Yardstick::bits) << "two addends";
  Sides far = sides("ideal", "ideal");
  far.candidate.fold = 8;
  EXPECT_EQ(of(Communicate{Collective::all_gather, Reduction::sum, 4}, far), Yardstick::bits);
}

}  // namespace
}  // namespace shardcheck::shadowing
