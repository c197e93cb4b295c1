// Plans of random FP8 scenarios keep their life, and a fault is found on the plan without a machine.
#include "properties/fp8_life.h"

#include <gtest/gtest.h>

#include "backends/registry.h"
#include "properties/generate/random_scenario.h"
#include "properties/property.h"
#include "sim/faults/zoo.h"

namespace shardcheck {
namespace {

TEST(Fp8Life, RandomPlansAreRight) {
  const auto backend = make_backend("cpu", {"ideal"});
  for (std::uint64_t number = 0; number < 400; ++number) {
    Draw draw(11, number);
    const Scenario scenario = random_scenario(draw, Focus::fp8);
    ASSERT_TRUE(scenario.fp8.has_value());
    const auto findings = fp8_life(*backend, scenario);
    ASSERT_TRUE(findings.empty()) << findings.front().clause << ": " << findings.front().sentence << "\n"
                                  << describe(scenario);
  }
}

TEST(Fp8Life, ScenariosWithoutFp8HaveNone) {
  const auto backend = make_backend("cpu", {"ideal"});
  EXPECT_TRUE(fp8_life(*backend, Scenario{}).empty());
}

}  // namespace
}  // namespace shardcheck
