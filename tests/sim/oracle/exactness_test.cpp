// Exact means: whatever the order of the additions, the bits are the oracle's. Bounded means: no order leaves
// the bound, and the bound is no larger than its roundings. The sums here are our own, in random order.
#include "sim/oracle/exactness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/numerics/narrow.h"
#include "tests/sim/oracle/random_cases.h"

namespace shardcheck::tests {
namespace {

double rounded(DType type, double value) {
  const auto f = static_cast<float>(value);
  if (type == DType::bf16) return static_cast<double>(bf16_to_f32(f32_to_bf16(f)));
  if (type == DType::f16) return static_cast<double>(f16_to_f32(f32_to_f16(f)));
  return static_cast<double>(f);
}

/// Adds and scales in the types of the scenario: unfused uses in the parameter's type, a rank's contributions
/// in main_grad (in the wire's type for a lease), ranks in the wire's type. Everything is shuffled first.
double computed(const Scenario& s, const ScenarioData& data, std::int32_t step, std::int64_t element,
                Draw& draw) {
  auto all = contributions_of(s, data, 0, element);
  std::shuffle(all.begin(), all.end(), draw.engine());
  const DType local = has_leases(s.strategy) ? s.comm : s.main_grad;
  const auto scale = s.loss == Loss::per_token
                         ? static_cast<float>(1.0 / static_cast<double>(tokens_of_step(s)))
                         : static_cast<float>(1.0 / s.ranks);
  std::vector<double> of_rank(static_cast<std::size_t>(s.ranks));
  for (const auto& [key, value] : all) {
    if (key.step != step) continue;
    double& sum = of_rank[static_cast<std::size_t>(key.rank)];
    const bool unfused = s.uses[static_cast<std::size_t>(key.use)].producer == Producer::unfused;
    sum = rounded(local, sum + (unfused ? rounded(s.parameters[0].dtype, value) : value));
  }
  std::shuffle(of_rank.begin(), of_rank.end(), draw.engine());
  const bool before = s.loss == Loss::mean && draw(0, 1) == 1;
  double total = 0;
  for (const double sum : of_rank) {
    const double sent = rounded(s.comm, sum);
    const double scaled = before ? rounded(s.comm, sent * static_cast<double>(scale)) : sent;
    total = rounded(s.comm, total + scaled);
  }
  total = rounded(s.main_grad, total);
  return before ? total : rounded(s.main_grad, total * static_cast<double>(scale));
}

TEST(Exactness, ExactSumsAreExactInEveryOrderAndBoundsHold) {
  int exact = 0, bounded = 0;
  double most = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    Scenario s = random_scenario_of(seed, seed % 2 ? DataMode::integers : DataMode::provenance);
    if (s.scaling == Scaling::in_collective) s.scaling = Scaling::before;
    const ScenarioData data(s);
    const Oracle oracle(s, data);
    const Exactness& exactness = oracle.exactness(0);
    (exactness.is_exact ? exact : bounded)++;
    const Expected expected = oracle.expected(0, 0, 0, {0, s.parameters[0].rows()});
    Draw draw(seed);
    for (std::size_t e = 0; e < expected.value.size(); e += 5) {
      for (int order = 0; order < 4; ++order) {
        const double value = computed(s, data, 0, static_cast<std::int64_t>(e), draw);
        if (exactness.is_exact) {
          ASSERT_EQ(value, expected.value[e]) << "seed " << seed << ": " << describe(s);
          continue;
        }
        const double bound = exactness.growth * expected.magnitude[e] + exactness.underflow;
        const double error = std::fabs(value - expected.value[e]);
        ASSERT_LE(error, bound) << "seed " << seed << ": " << describe(s);
        most = std::max(most, error / bound);
      }
    }
  }
  EXPECT_GT(exact, 40);
  EXPECT_GT(bounded, 40);
  EXPECT_GT(most, 1.0 / 16) << "the bounds are of the size of real roundings";
}

TEST(Exactness, ABoundIsNoLargerThanItsRoundings) {
  Scenario s = base(Strategy::megatron_ddp);
  s.ranks = 3;
  const auto growth = [&] { return exactness_of(s, ScenarioData(s), 0).growth; };
  // PL1 counts (M U - 1) + 2 + (R - 1) = 5 roundings of 2^-24; ours may count some twice.
  EXPECT_LT(growth(), 4 * 5 * 0x1p-24) << "a fused gradient never passes through bf16 (W16)";
  s.uses[0].producer = Producer::unfused;
  EXPECT_GT(growth(), 0x1p-8);
  EXPECT_LT(growth(), 5 * 0x1p-8);
  // PL2: 4 + 1 + 2 roundings of 2^-8.
  s.uses[0].producer = Producer::fused;
  s.main_grad = s.comm = DType::bf16;
  EXPECT_LT(growth(), 3 * 7 * 0x1p-8);
}

struct DigitCase {
  std::string_view name;
  void (*vary)(Scenario& s);
  bool is_exact;
};

TEST(Exactness, Table) {
  const DigitCase cases[] = {
      {"provenance on two ranks", [](Scenario&) {}, true},
      {"1/3", [](Scenario& s) { s.ranks = 3; }, false},
      {"1/4 over groups of 2",
       [](Scenario& s) { s.ranks = 4, s.expert_parallel = 2, s.parameters[0].expert = true; }, true},
      {"tokens, a power of two", [](Scenario& s) { s.loss = Loss::per_token, s.tokens = 2; }, true},
      {"tokens, not a power of two", [](Scenario& s) { s.loss = Loss::per_token, s.tokens = 3; }, false},
      {"no token at all", [](Scenario& s) { s.loss = Loss::per_token, s.tokens = 0; }, true},
      {"1/3, but per token", [](Scenario& s) { s.ranks = 3, s.microbatches = 4, s.loss = Loss::per_token; },
       false},
      {"integers", [](Scenario& s) { s.data = DataMode::integers; }, true},
      {"integers that fill bf16 exactly: 2 ranks x 2 microbatches x 16 tokens x 4 = 2^8",
       [](Scenario& s) { s.data = DataMode::integers, s.comm = DType::bf16, s.tokens = 16; }, true},
      {"integers beyond bf16",
       [](Scenario& s) { s.data = DataMode::integers, s.comm = DType::bf16, s.tokens = 17; }, false},
      {"integers beyond bf16 in autograd",
       [](Scenario& s) {
         s.data = DataMode::integers, s.tokens = 65, s.microbatches = 1,
         s.uses[0].producer = Producer::unfused;
       },
       false},
      {"the same, fused", [](Scenario& s) { s.data = DataMode::integers, s.tokens = 65, s.microbatches = 1; },
       true},
  };
  for (const DigitCase& c : cases) {
    Scenario s = base(Strategy::megatron_ddp);
    c.vary(s);
    EXPECT_EQ(exactness_of(s, ScenarioData(s), 0).is_exact, c.is_exact) << c.name;
  }
}

TEST(Exactness, Significands) {
  EXPECT_EQ(significand_of(DType::f32), 24);
  EXPECT_EQ(significand_of(DType::f16), 11);
  EXPECT_EQ(significand_of(DType::bf16), 8);
}

}  // namespace
}  // namespace shardcheck::tests
