// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include <set>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(ScaleFaults, RewriteThePlan) {
  expect_rewrites(add_scale_faults, {
                                        {"B-33", ""},
                                        {"B-35", "+2 scale "},
                                        {"B-39", ""},
                                        {"B-40", "-1 scale -1 scale@r "},
                                        {"B-46", ""},
                                        {"K09", "-1 scale -1 scale@r "},
                                        {"M-W24", "+1 scale +1 scale@r "},
                                    });
}

TEST(ScaleFaults, ScaleTheShardInsteadOfTheContribution) {
  const Plan plan = rewritten("B-33");
  int scales = 0;
  for (const Op& op : plan.ops) {
    if (op.why.purpose != Purpose::scale) continue;
    EXPECT_EQ(plan.buffer(plan.operand(op, 0)[0].buffer).role, BufferRole::shard);
    ++scales;
  }
  EXPECT_EQ(scales, 4) << "2 steps x 2 microbatches";
}

TEST(ScaleFaults, TakeAnotherFactor) {
  const auto factors = [](std::string_view id) {
    std::set<float> all;
    for (const Op& op : rewritten(id).ops)
      if (const auto* scale = std::get_if<Scale>(&op.action)) all.insert(scale->factor);
    return all;
  };
  EXPECT_EQ(factors("B-39"), (std::set{0.25f, 0.5f})) << "dense right, experts by their own group of 2";
  EXPECT_EQ(factors("B-46"), std::set{0.5f}) << "2 tokens of one rank, not 4 of both";
}

}  // namespace
}  // namespace shardcheck::tests
