// Random scenarios on two backends: equal ones agree, and each numeric fault is named at an op that it
// touches, before anything depends on it.
#include "properties/comparison.h"

#include <gtest/gtest.h>

#include <memory>

#include "backends/cpu/cpu_backend.h"
#include "backends/faulty/faulty.h"
#include "backends/shadow/shadow_backend.h"
#include "core/numerics/profile.h"
#include "properties/diagnosis/subject.h"
#include "properties/generate/random_scenario.h"

namespace shardcheck {
namespace {

Scenario scenario_number(std::uint64_t number) {
  Draw draw(number, 7);
  return random_scenario(draw, Focus::any);
}

TEST(Comparison, EqualBackendsAgreeOnRandomScenarios) {
  const auto reference = make_cpu_backend(kHopper), candidate = make_cpu_backend(kHopper);
  const auto shadow =
      make_shadow_backend(BorrowedPair{*reference, *candidate}, {.after = AfterDifference::stop});
  std::int64_t ops = 0;
  for (std::uint64_t number = 0; number < 300; ++number) {
    const Scenario scenario = scenario_number(number);
    const Comparison comparison = compare_op_by_op(scenario, Poison::quiet_nan, *shadow);
    EXPECT_FALSE(comparison.first) << comparison.first->sentence;
    EXPECT_EQ(comparison.ops_bounded, 0);
    ops += comparison.ops_compared;
    EXPECT_TRUE(compare_backends(scenario, Poison::large, *shadow).empty());
  }
  EXPECT_GT(ops, 300 * 20);
}

TEST(Comparison, NamesTheFirstOpOfEveryNumericFault) {
  const auto reference = make_cpu_backend(kIdeal);
  for (const NumericFault& fault : list_numeric_faults()) {
    const auto candidate = make_faulty_backend(make_cpu_backend(kIdeal), fault);
    const auto shadow =
        make_shadow_backend(BorrowedPair{*reference, *candidate}, {.after = AfterDifference::resync});
    int seen = 0;
    for (std::uint64_t number = 0; number < 40 && seen < 3; ++number) {
      const Scenario scenario = scenario_number(number);
      const Comparison comparison = compare_op_by_op(scenario, Poison::quiet_nan, *shadow);
      if (!comparison.first) continue;
      ++seen;
      const Plan plan = rewritten_plan(scenario, Poison::quiet_nan).plan;
      std::vector<Finding> all = comparison.others;
      all.push_back(*comparison.first);
      for (const Finding& finding : all) {
        const Op& op = plan.ops[static_cast<std::size_t>(finding.op.value)];
        EXPECT_TRUE(fault.touches(op.action)) << fault.name << ": " << finding.op_text;
        EXPECT_EQ(finding.clause, std::holds_alternative<Gemm>(op.action) ? "F66" : "W39");
        EXPECT_TRUE(finding.has_values);
        EXPECT_FALSE(finding.sentence.empty());
        const bool writes_gradient = op.why.purpose == Purpose::write || op.why.purpose == Purpose::reduce;
        if (writes_gradient && finding.parameter >= 0) {
          const auto numel = plan.parameters[static_cast<std::size_t>(finding.parameter)].numel();
          EXPECT_LT(finding.element, numel);
        }
      }
    }
    // Scenarios hold exact data: what only rounds wrongly, or loses a sign, need not show on them.
    const bool is_structural = fault.name == "skip-last-rank" || fault.name == "drop-last-element" ||
                               fault.name == "stale-beta" || fault.name == "empty-gemm-skips" ||
                               fault.name == "scale-twice";
    if (is_structural) {
      EXPECT_GT(seen, 0) << fault.name;
    }
  }
}

Scenario one_weight() {
  Scenario scenario;
  scenario.name = "one weight";
  scenario.steps = 1;
  scenario.parameters = {{.name = "w", .shape = {2, 2}}};
  scenario.uses = {{0, Producer::fused, -1}};
  return scenario;
}

TEST(Comparison, TheFirstOpComesBeforeTheGradientsThatShowIt) {
  const auto reference = make_cpu_backend(kIdeal);
  const auto candidate =
      make_faulty_backend(make_cpu_backend(kIdeal), *find_numeric_fault("drop-last-element"));
  const auto shadow =
      make_shadow_backend(BorrowedPair{*reference, *candidate}, {.after = AfterDifference::stop});
  const auto findings = compare_backends(one_weight(), Poison::quiet_nan, *shadow);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].clause, "F66");
  EXPECT_TRUE(findings[0].op_text.starts_with("wgrad GEMM, beta = 1, 1 token of w (use 0, microbatch 0"));
  EXPECT_EQ(findings[0].rank, 0);
  EXPECT_EQ(findings[0].parameter_name, "w");
  EXPECT_EQ(findings[0].element, 3);
  EXPECT_FALSE(findings[0].history.empty()) << "the operands";
  EXPECT_EQ(findings[1].clause, "W39");
  EXPECT_EQ(findings[1].element, 3);
  EXPECT_EQ(findings[1].op.value, -1);
}

TEST(Comparison, OfDifferentArithmeticIsByBounds) {
  const auto reference = make_cpu_backend(kIdeal), candidate = make_cpu_backend(kHopper);
  EXPECT_FALSE(compute_alike({*reference, *candidate}));
  const auto shadow =
      make_shadow_backend(BorrowedPair{*reference, *candidate}, {.after = AfterDifference::stop});
  std::int64_t bounded = 0;
  for (std::uint64_t number = 0; number < 50; ++number) {
    const Comparison comparison = compare_op_by_op(scenario_number(number), Poison::quiet_nan, *shadow);
    EXPECT_FALSE(comparison.first) << comparison.first->sentence;
    bounded += comparison.ops_bounded;
  }
  EXPECT_GT(bounded, 0);
}

/// Right as long as somebody waits after every op: what is read after several writing ops is spoiled, as a
/// missing order between streams would.
class Racing final : public Backend {
 public:
  BackendInfo info() const override { return inner_->info(); }
  void execute(const Plan& plan, OpIndex first, OpIndex last) override {
    inner_->execute(plan, first, last);
    if (first.value == 0) in_flight_ = 0;
    for (std::int32_t i = first.value; i < last.value; ++i) {
      const Action& action = plan.ops[static_cast<std::size_t>(i)].action;
      const bool undefines = std::holds_alternative<Allocate>(action) ||
                             std::holds_alternative<OpenLease>(action) ||
                             std::holds_alternative<Undefine>(action);
      in_flight_ += access_of(action).writes != 0 && !undefines;
    }
  }
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    inner_->write(plan, rank, view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    inner_->read(plan, rank, view, bytes);
    if (in_flight_ > 1) bytes[0] ^= std::byte{1};
    in_flight_ = 0;
  }

 private:
  std::unique_ptr<Backend> inner_ = make_cpu_backend(kIdeal);
  int in_flight_ = 0;
};

TEST(Comparison, WhatOnlyFastRunsShowIsSaidToBeARace) {
  const auto reference = make_cpu_backend(kIdeal);
  Racing racing;
  const auto shadow = make_shadow_backend(BorrowedPair{*reference, racing}, {.after = AfterDifference::stop});
  const auto findings = compare_backends(one_weight(), Poison::quiet_nan, *shadow);
  ASSERT_FALSE(findings.empty());
  EXPECT_NE(findings[0].sentence.find("an order between streams is missing"), std::string::npos)
      << findings[0].sentence;
}

}  // namespace
}  // namespace shardcheck
