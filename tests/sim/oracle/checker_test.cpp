// What a wrong gradient is called: the checker reads a backend whose values the test decides.
#include "sim/oracle/checker.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

/// Reads as the oracle's values, which a test changes.
class Values : public Backend {
 public:
  Values(const Planned& planned, const Oracle& oracle, std::int32_t step, Rows rows) : planned_(planned) {
    for (std::int32_t rank = 0; rank < planned.plan.ranks; ++rank) {
      const auto expected = oracle.expected(0, step, rank, rows).value;
      of_rank.emplace_back(expected.begin(), expected.end());
    }
  }
  BackendInfo info() const override { return {"values", "", ""}; }
  void execute(const Plan&, OpIndex, OpIndex) override {}
  void write(const Plan&, Rank, View, std::span<const std::byte>) override {}
  void read(const Plan&, Rank rank, View view, std::span<std::byte> bytes) override {
    for (const Placement& p : planned_.plan.owned) {
      if (p.rank != rank || p.view.buffer != view.buffer || view.offset < p.view.offset) continue;
      const auto element = static_cast<std::size_t>(p.first + view.offset - p.view.offset);
      std::memcpy(bytes.data(), of_rank[static_cast<std::size_t>(rank.value)].data() + element, bytes.size());
    }
  }

  std::vector<std::vector<float>> of_rank;

 private:
  const Planned& planned_;
};

class Checker : public ::testing::Test {
 protected:
  using Change = void (*)(std::vector<float>& values);

  /// The findings of step 0 when `change` has been at the values of rank 1.
  std::vector<Finding> findings(Change change) {
    const Planned planned = plan_of(s);
    const ScenarioData data(s);
    const Oracle oracle(s, data);
    Values backend(planned, oracle, 0, {0, s.parameters[0].rows()});
    change(backend.of_rank[1]);
    ValueChecker checker(s, data, planned);
    checker.check(0, backend);
    fingerprint = checker.fingerprint();
    budget_used = checker.budget_used();
    return checker.take();
  }
  std::string clause(Change change) {
    const auto all = findings(change);
    EXPECT_LE(all.size(), 1u);
    return all.empty() ? "" : all.front().clause;
  }

  Scenario s = base(Strategy::megatron_ddp);
  std::uint64_t fingerprint = 0;
  double budget_used = 0;
};

TEST_F(Checker, NamesTheClause) {
  EXPECT_EQ(clause([](auto&) {}), "");
  EXPECT_EQ(clause([](auto& v) {
              for (float& x : v) x *= 2;
            }),
            "W24");
  EXPECT_EQ(clause([](auto& v) {
              for (float& x : v) x /= 4;
            }),
            "W24");
  EXPECT_EQ(clause([](auto& v) { v[0] = 0; }), "W2");
  EXPECT_EQ(clause([](auto& v) { v[0] = std::numeric_limits<float>::quiet_NaN(); }), "W1");
  EXPECT_EQ(clause([](auto& v) { v[0] = 0.3f; }), "W1");
  EXPECT_EQ(clause([](auto& v) { v.back() = std::numeric_limits<float>::infinity(); }), "W1");
}

TEST_F(Checker, ARatioIsNamedOnlyWhenAllElementsHaveIt) {
  EXPECT_EQ(clause([](auto& v) {
              for (std::size_t i = 0; i < v.size(); ++i) v[i] *= i == 0 ? 0.0f : 2.0f;
            }),
            "W2")
      << "the first element lost everything";
  EXPECT_EQ(clause([](auto& v) {
              for (std::size_t i = 0; i < v.size(); ++i) v[i] *= i == 1 ? 1.0f : 2.0f;
            }),
            "W2");
  EXPECT_EQ(clause([](auto& v) {
              for (float& x : v) x = 0;
            }),
            "W1")
      << "nothing at all is no scale and no lost contribution among others";
}

TEST_F(Checker, ASilentStepIsZero) {
  s.silent = {{.parameter = 0, .step = 0}};
  EXPECT_EQ(clause([](auto&) {}), "");
  EXPECT_EQ(clause([](auto& v) { v[3] = 1; }), "W8");
}

TEST_F(Checker, ReportsPlaceValuesAndProvenance) {
  s.steps = 1;
  s.loss = Loss::per_token;  // 4 tokens, so the scale is 1/4
  const auto all = findings([](auto& v) { v[33] = 0; });
  ASSERT_EQ(all.size(), 1u);
  const Finding& f = all[0];
  EXPECT_EQ(f.rank, 1);
  EXPECT_EQ(f.step, 0);
  EXPECT_EQ(f.parameter_name, "w0");
  EXPECT_EQ(f.element, 33);
  EXPECT_EQ(f.actual.value, 0.0);
  EXPECT_EQ(f.actual.bits, 0u);
  EXPECT_EQ(f.expected.value, 0.25 * (4 + 16 + 64 + 256)) << "rotated by one place, and negative twice";
  EXPECT_EQ(f.provenance.size(), 4u);
}

TEST_F(Checker, MinusZeroIsZeroButAnotherFingerprint) {
  s.silent = {{.parameter = 0, .step = 0}};
  EXPECT_EQ(clause([](auto&) {}), "");
  const std::uint64_t plus = fingerprint;
  EXPECT_EQ(clause([](auto& v) { v[0] = -0.0f; }), "");
  EXPECT_NE(fingerprint, plus);
}

TEST_F(Checker, ABoundedComparisonTellsHowMuchItUsed) {
  s.ranks = 3;
  EXPECT_EQ(clause([](auto& v) { v[0] = std::nextafter(v[0], 0.0f); }), "");
  EXPECT_GT(budget_used, 0.0);
  EXPECT_LE(budget_used, 1.0);
  EXPECT_EQ(clause([](auto& v) { v[0] *= 1 + 0x1p-9f; }), "W1")
      << "a detour through bf16 is beyond the bound";
}

}  // namespace
}  // namespace shardcheck::tests
