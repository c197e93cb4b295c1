// Programs that differ from rank to rank: what the finding says of each, and that equal sizes mix the values
// of K15.
#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "core/contract/rank_symmetry.h"
#include "core/numerics/profile.h"
#include "core/plan/symmetry.h"
#include "sim/executor/executor.h"
#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

Mismatch first_mismatch(std::string_view fault) {
  const Symmetry symmetry = symmetry_of(rewritten(fault));
  EXPECT_FALSE(symmetry.mismatches.empty()) << fault;
  return symmetry.mismatches.empty() ? Mismatch{} : symmetry.mismatches[0];
}

TEST(SymmetryFaults, RewriteThePlan) {
  expect_rewrites(
      add_symmetry_faults,
      {{"B-49", "+1 call +1 call@r "}, {"B-51", "+8 call@r "}, {"B-52", "+8 call "}, {"K15", "+8 call "}});
}

TEST(SymmetryFaults, AnUnlaunchedBucketLeavesTheOthersWaiting) {
  EXPECT_EQ(first_mismatch("B-49").meeting, Meeting::hang);
  EXPECT_FALSE(symmetry_of(rewritten("B-49")).stuck.empty());
}

TEST(SymmetryFaults, AnUnusedParameterMakesTheCollectiveSmaller) {
  const Plan plan = rewritten("B-51");
  const Symmetry symmetry = symmetry_of(plan);
  ASSERT_FALSE(symmetry.mismatches.empty());
  const auto& calls = symmetry.mismatches[0].calls;
  const auto numel = [&](std::size_t i) {
    return plan.operand(plan.ops[static_cast<std::size_t>(calls[i].op.value)], 0)[0].numel;
  };
  EXPECT_EQ(numel(0) - numel(1), 128) << "the elements of w0";
}

TEST(SymmetryFaults, BucketsOfOtherSizesHangAndThoseOfOneSizeMix) {
  EXPECT_EQ(first_mismatch("B-52").meeting, Meeting::hang);
  const Mismatch mixed = first_mismatch("K15");
  EXPECT_EQ(mixed.meeting, Meeting::mix);
  EXPECT_TRUE(symmetry_of(rewritten("K15")).stuck.empty());
}

TEST(SymmetryFaults, EqualSizesAddUpWhatIsNotAlike) {  // K15: A = 1 / 2, B = 10 / 20
  const Fault* fault = find_fault("K15");
  Planned planned = plan_of(prepared(*fault));
  Plan& plan = planned.plan;
  ASSERT_TRUE(fault->rewrite(planned, prepared(*fault)));
  std::vector<std::int32_t> mixed;
  for (std::int32_t i = 0; i < std::ssize(plan.ops); ++i) {
    if (std::holds_alternative<Communicate>(plan.ops[static_cast<std::size_t>(i)].action)) mixed.push_back(i);
  }
  const auto backend = make_cpu_backend(kIdeal);
  backend->execute(plan, OpIndex{0}, planned.setup_end);
  const auto a = [&](int rank) {
    return plan.operand(plan.ops[static_cast<std::size_t>(mixed[rank])], 0)[0];
  };
  const auto write = [&](Rank rank, View view, float value) {
    const std::vector<float> values(static_cast<std::size_t>(view.numel), value);
    backend->write(plan, rank, view, std::as_bytes(std::span(values)));
  };
  const auto read = [&](Rank rank, View view) {
    std::vector<float> values(static_cast<std::size_t>(view.numel));
    backend->read(plan, rank, view, std::as_writable_bytes(std::span(values)));
    return values[0];
  };
  const View first = a(0), second = a(1);
  write(Rank{0}, first, 1);
  write(Rank{1}, first, 2);
  write(Rank{0}, second, 10);
  write(Rank{1}, second, 20);
  for (int i = 0; i < 2; ++i) backend->execute(plan, OpIndex{mixed[i]}, OpIndex{mixed[i] + 1});
  EXPECT_EQ(read(Rank{0}, first), 21);
  EXPECT_EQ(read(Rank{0}, second), 12);
  EXPECT_EQ(read(Rank{1}, first), 12);
  EXPECT_EQ(read(Rank{1}, second), 21);
}

}  // namespace
}  // namespace shardcheck::tests
