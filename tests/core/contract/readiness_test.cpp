// W20 on plans written by hand: when a parameter is counted as ready, written
// and reduced, in which order.
#include "core/contract/readiness.h"

#include <gtest/gtest.h>

#include "tests/core/contract/tiny_plan.h"

namespace shardcheck::tests {
namespace {

void ready(TinyPlan& p) {
  p.op(Ready{}, Purpose::none, kCompute, TinyPlan::w);
}
void microbatch(TinyPlan& p) {
  p.op(BeginMicrobatch{}, Purpose::none);
}
void begin(TinyPlan& p) {
  p.begin_step(), p.zero(p.all(p.main)), microbatch(p);
}

/// The findings of Readiness alone: clause, rank and op, counted from the first
/// one of `ops`.
std::string found(void (*ops)(TinyPlan& p)) {
  TinyPlan p;
  const auto before = static_cast<std::int32_t>(p.plan.ops.size());
  ops(p);
  Reporter reporter(p.plan);
  Readiness readiness(p.plan, reporter);
  for (std::int32_t i = 0; i < std::ssize(p.plan.ops); ++i) {
    reporter.begin_op(OpIndex{i});
    const Op& op = p.plan.ops[static_cast<std::size_t>(i)];
    if (const auto* lease = std::get_if<OpenLease>(&op.action))
      reporter.open_lease(lease->bucket, p.plan.operand(op, 0)[0]);
    readiness.apply(OpIndex{i});
  }
  std::string text;
  for (const Finding& f : reporter.take()) {
    text += (text.empty() ? "" : ", ") + f.clause + " op " + std::to_string(f.op.value - before) + " rank " +
            std::to_string(f.rank);
    EXPECT_EQ(f.parameter_name, "w");
  }
  return text;
}

TEST(Readiness, FollowsTheLastWrite) {
  EXPECT_EQ(found([](TinyPlan& p) { begin(p), p.write(1, p.main), ready(p), p.all_reduce(p.main); }), "");
  EXPECT_EQ(found([](TinyPlan& p) {
              begin(p), p.write(1, p.main), microbatch(p), p.write(1, p.main), ready(p), p.all_reduce(p.main);
            }),
            "");
  EXPECT_EQ(found([](TinyPlan& p) { begin(p), ready(p), p.write(1, p.main); }),
            "W20 op 3 rank 0, W20 op 3 rank 1");
  EXPECT_EQ(found([](TinyPlan& p) { begin(p), p.write(1, p.main), ready(p), p.fold(true, p.main); }),
            "W20 op 4 rank 0, W20 op 4 rank 1")
      << "one use is written, another one is not";
  EXPECT_EQ(
      found([](TinyPlan& p) { begin(p), p.write(1, p.main), ready(p), microbatch(p), p.write(1, p.main); }),
      "W20 op 4 rank 0, W20 op 4 rank 1")
      << "counted in the first of two microbatches that are reduced together";
  EXPECT_EQ(found([](TinyPlan& p) {
              begin(p), ready(p), p.write(0, p.grad), p.fold(true, p.main), p.fold(true, p.main);
            }),
            "W20 op 3 rank 0, W20 op 3 rank 1")
      << "once a window, and autograd's gradient is no destination";
}

TEST(Readiness, WithoutAHookIsTheLaunchAfterTheLastWrite) {
  static constexpr auto kBegin = [](TinyPlan& p) {
    p.plan.parameters[0].hooked = false;
    begin(p), p.op(Ready{}, Purpose::none, kCompute, TinyPlan::frozen);  // another one is counted
  };
  EXPECT_EQ(found([](TinyPlan& p) { kBegin(p), p.write(1, p.main), p.all_reduce(p.main); }), "");
  EXPECT_EQ(found([](TinyPlan& p) { kBegin(p), p.all_reduce(p.main), p.write(1, p.main); }),
            "W20 op 4 rank 0, W20 op 4 rank 1");
  EXPECT_EQ(found([](TinyPlan& p) {
              kBegin(p), p.open(), p.write(0, p.slot), p.all_reduce(p.slot), p.close(), microbatch(p),
                  p.open(), p.write(0, p.slot);
            }),
            "")
      << "a lease's window ends with its microbatch";
}

TEST(Readiness, OfADistributedWeightFollowsTheAdditionOfItsRows) {
  static constexpr auto kUse = [](TinyPlan& p) {
    p.plan.parameters[0].shards = 1;
    begin(p), p.open(), p.write(0, p.slot);
  };
  static constexpr auto kAdd = [](TinyPlan& p) {
    p.op(Add{}, Purpose::accumulate, kCompute, TinyPlan::w).on(p.of_w(p.slot)).on(p.of_w(p.main));
    p.close();
  };
  EXPECT_EQ(found([](TinyPlan& p) { kUse(p), kAdd(p), ready(p), p.all_reduce(p.main); }), "")
      << "the scratch that goes back ends no window";
  EXPECT_EQ(found([](TinyPlan& p) { kUse(p), ready(p), kAdd(p), p.all_reduce(p.main); }),
            "W20 op 5 rank 0, W20 op 5 rank 1");
}

TEST(Readiness, IsWaitedForByTheLaunch) {
  EXPECT_EQ(found([](TinyPlan& p) { begin(p), p.write(1, p.main), p.all_reduce(p.main), ready(p); }),
            "W20 op 4 rank 0, W20 op 4 rank 1");
  EXPECT_EQ(found([](TinyPlan& p) { begin(p), p.all_reduce(p.main), ready(p); }),
            "W20 op 3 rank 0, W20 op 3 rank 1")
      << "no use here, but the owner counts it";
  EXPECT_EQ(found([](TinyPlan& p) {
              begin(p), p.write(1, p.main), ready(p), p.all_reduce(p.main);
              p.begin_step(), p.all_reduce(p.main);
            }),
            "")
      << "no use in the whole step, and nobody counts it";
}

TEST(Readiness, HasItsWindowInEveryLease) {
  EXPECT_EQ(found([](TinyPlan& p) {
              for (int m = 0; m < 2; ++m)
                microbatch(p), p.open(), p.write(0, p.slot), ready(p), p.all_reduce(p.slot), p.close();
            }),
            "");
  EXPECT_EQ(found([](TinyPlan& p) {
              for (int m = 0; m < 2; ++m) microbatch(p), p.open(), p.write(0, p.slot), ready(p), p.close();
            }),
            "")
      << "a group of one";
  EXPECT_EQ(found([](TinyPlan& p) {
              for (int m = 0; m < 2; ++m)
                microbatch(p), p.open(), ready(p), p.all_reduce(p.slot), p.write(0, p.slot), p.close();
            }),
            "W20 op 2 rank 0, W20 op 2 rank 1, W20 op 8 rank 0, W20 op 8 rank 1");
}

TEST(Readiness, IsNotJudgedWhereNobodyTellsOfIt) {
  EXPECT_EQ(found([](TinyPlan& p) { begin(p), p.write(1, p.main), p.all_reduce(p.main); }), "");
}

TEST(Readiness, IsJudgedWithEveryPlan) {
  TinyPlan p;
  begin(p), ready(p), p.write(1, p.main), p.all_reduce(p.main);
  EXPECT_EQ(broken(p.plan), "W20");
}

}  // namespace
}  // namespace shardcheck::tests
