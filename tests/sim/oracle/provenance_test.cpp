// Provenance read back: random multiplicities 0 to 3 of every contribution, in every lane, with the rotation
// and signs of the coding and a scale.
#include "sim/oracle/provenance.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "tests/sim/oracle/random_cases.h"

namespace shardcheck::tests {
namespace {

TEST(Provenance, MultiplicitiesAreReadBack) {
  int read = 0;
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    Scenario s = random_scenario_of(seed, DataMode::provenance);
    s.tokens = 1;
    s.token_counts.clear();
    const ScenarioData data(s);
    Draw draw(seed);
    const std::int32_t rank = draw(0, s.ranks - 1), step = draw(0, s.steps - 1);
    const double scale = draw(0, 1) ? 1.0 : 0.25;
    for (std::int64_t e = 0; e < s.parameters[0].numel(); e += draw(1, 9)) {
      double value = 0;
      std::map<std::int64_t, std::int32_t> times;  // of the contributions in the element's lane
      for (const auto& [key, contribution] : contributions_of(s, data, rank, e)) {
        if (contribution == 0) continue;
        const std::int32_t n = draw(0, 3);
        times[data.index_of(key)] = n;
        value += n * contribution;
      }
      const auto wrong = decode(s, data, 0, step, rank, e, value * scale, scale);
      ASSERT_TRUE(wrong) << "seed " << seed << ", element " << e;
      for (const Multiplicity& m : *wrong) {
        const auto known = times.find(data.index_of(m.key));
        ASSERT_NE(known, times.end()) << "seed " << seed << ": " << to_text(m, 2);
        EXPECT_EQ(m.times, known->second);
        EXPECT_EQ(m.expected, m.key.step == step ? 1 : 0);
        EXPECT_NE(m.times, m.expected);
        times.erase(known);
        ++read;
      }
      for (const auto& [index, n] : times)
        EXPECT_EQ(n, data.key_of(0, rank, index).step == step ? 1 : 0) << "right ones are not listed";
    }
  }
  EXPECT_GT(read, 1000);
}

TEST(Provenance, TheOraclesValueHasNothingWrong) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const Scenario s = random_scenario_of(seed, DataMode::provenance);
    const ScenarioData data(s);
    const Oracle oracle(s, data);
    if (!oracle.exactness(0).is_exact) continue;
    const Expected expected = oracle.expected(0, 0, 0, {0, s.parameters[0].rows()});
    for (std::size_t e = 0; e < expected.value.size(); ++e) {
      const auto wrong =
          decode(s, data, 0, 0, 0, static_cast<std::int64_t>(e), expected.value[e], oracle.scale_of(0));
      ASSERT_TRUE(wrong && wrong->empty()) << "seed " << seed << ", element " << e;
    }
  }
}

TEST(Provenance, GarbageIsRefused) {
  Scenario s = base(Strategy::megatron_ddp);
  s.steps = 1;  // 4 contributions in 12 digits
  const ScenarioData data(s);
  const auto is_read = [&](double value) { return decode(s, data, 0, 0, 0, 0, value, 1).has_value(); };
  EXPECT_TRUE(is_read(0));
  EXPECT_TRUE(is_read(85));
  EXPECT_TRUE(is_read(255));
  for (const double garbage :
       {-1.0, 0.5, 256.0, 0x1p24, 1e30, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), -85.0})
    EXPECT_FALSE(is_read(garbage)) << garbage;
  EXPECT_FALSE(decode(s, data, 0, 0, 0, 0, 85, 2).has_value()) << "another scale";
  s.data = DataMode::integers;
  EXPECT_FALSE(decode(s, ScenarioData(s), 0, 0, 0, 0, 85, 1).has_value()) << "integers are no digits";
}

TEST(Provenance, IsASentence) {
  const ContributionKey key{.step = 1, .rank = 3, .microbatch = 2, .use = 1};
  EXPECT_EQ(to_text({key, 0, 1}, 1), "microbatch 2 of rank 3 (step 1) is missing");
  EXPECT_EQ(to_text({key, 2, 1}, 2), "microbatch 2 of rank 3 (step 1, use 1) is counted twice");
  EXPECT_EQ(to_text({key, 3, 1}, 1), "microbatch 2 of rank 3 (step 1) is counted 3 times");
  EXPECT_EQ(to_text({key, 1, 0}, 1), "microbatch 2 of rank 3 (step 1) is in it and must not be");
  EXPECT_EQ(to_text({key, 3, 0}, 1), "microbatch 2 of rank 3 (step 1) is in it 3 times and must not be");
}

}  // namespace
}  // namespace shardcheck::tests
