// G* against a sum written differently: over the numbering of contributions, element by element, in integers.
#include "sim/oracle/oracle.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/sim/oracle/random_cases.h"

namespace shardcheck::tests {
namespace {

TEST(Oracle, IsTheScaledSumOfTheContributions) {
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    const Scenario s = random_scenario_of(seed, seed % 2 ? DataMode::integers : DataMode::provenance);
    const ScenarioData data(s);
    const Oracle oracle(s, data);
    Draw draw(seed);
    const std::int32_t rank = draw(0, s.ranks - 1), step = draw(0, s.steps - 1);
    const Rows rows{draw(0, static_cast<int>(s.parameters[0].rows()) - 1), s.parameters[0].rows()};
    const Expected expected = oracle.expected(0, step, rank, rows);
    const std::int64_t first = rows.first * s.parameters[0].columns();
    ASSERT_EQ(std::ssize(expected.value), s.parameters[0].numel() - first);
    ASSERT_EQ(expected.magnitude.empty(), oracle.exactness(0).is_exact);
    for (std::int64_t e = first; e < s.parameters[0].numel(); e += 7) {
      std::int64_t sum = 0;
      for (const auto& [key, value] : contributions_of(s, data, rank, e))
        if (key.step == step) sum += static_cast<std::int64_t>(value);
      const auto i = static_cast<std::size_t>(e - first);
      EXPECT_EQ(expected.value[i], static_cast<double>(sum) * oracle.scale_of(0)) << "seed " << seed;
      if (!expected.magnitude.empty()) {
        EXPECT_GE(expected.magnitude[i], std::fabs(expected.value[i]));
      }
    }
  }
}

TEST(Oracle, ScaleTable) {
  Scenario s = base(Strategy::megatron_ddp);
  s.ranks = 8;
  s.expert_parallel = 4;
  s.tokens = 3;
  s.token_counts = {{.rank = 5, .microbatch = 1, .tokens = 0}};
  s.parameters.push_back({.name = "expert", .shape = {4, 32}, .expert = true});
  s.uses.push_back({1});
  const auto scale = [&](std::int32_t parameter) {
    const ScenarioData data(s);
    return Oracle(s, data).scale_of(parameter);
  };
  for (const Scaling scaling : {Scaling::before, Scaling::in_collective, Scaling::finalize}) {
    s.scaling = scaling;
    EXPECT_EQ(scale(0), 1.0 / 8);
    EXPECT_EQ(scale(1), 1.0 / 8) << "not 1/2: an expert sums its peers' tokens already";
  }
  s.loss = Loss::per_token;
  EXPECT_EQ(scale(0), 1.0 / 45);
  s.tokens = 0;
  EXPECT_EQ(scale(0), 1.0) << "at least one token";
}

TEST(Oracle, AnAverageScalesByTheRoundedReciprocal) {
  Scenario s = base(Strategy::megatron_ddp);
  s.ranks = 3;
  s.scaling = Scaling::in_collective;
  s.comm = DType::bf16;
  const ScenarioData data(s);
  EXPECT_EQ(Oracle(s, data).scale_of(0), 0.333984375) << "1/3 in bf16 (8.3)";
}

}  // namespace
}  // namespace shardcheck::tests
