#include "properties/fingerprint/scale_order.h"

#include "core/numerics/profile.h"
#include "tests/properties/fingerprint/values.h"

namespace shardcheck {
namespace {

TEST(ObserveScaleOrder, HopperIsTensorCore1) {
  const auto cpu = make_cpu_backend(kHopper);
  const std::vector<Fact> facts = observe_scale_order(*cpu);
  const auto order = [&](const char* subject) { return value_in(facts, subject, "order"); };
  EXPECT_EQ(order("alpha of bf16 x bf16"), "RN(alpha acc)");
  for (const char* mode : {"fast", "promoted"}) {
    EXPECT_EQ(order((std::string("scales tensor x tensor, ") + mode).c_str()), "RN(acc RN(RN(alpha sa) sb))");
    EXPECT_EQ(order((std::string("scales outer vector x outer vector, ") + mode).c_str()),
              "RN(RN(RN(acc sa) sb) alpha)");
  }
  EXPECT_EQ(order("scales 1x128 x 1x128"), "y = fma(RN(p sb), sa, y)");
  EXPECT_EQ(order("scales 1x128 x 128x128"), "y = fma(p, RN(sa sb), y)");
  EXPECT_EQ(order("scales 128x128 x 1x128"), "y = fma(p, RN(sa sb), y)");
  EXPECT_EQ(order("scales 1x128 x 1x128, alpha"), "y = fma(RN(p sb), sa, y); z = RN(alpha y)");
  EXPECT_EQ(order("scales 1x128 x 128x128, alpha"), "y = fma(p, RN(sa sb), y); z = RN(alpha y)");
}

TEST(ObserveScaleOrder, AnExactMachineIsSeenAsOne) {
  const auto cpu = make_cpu_backend(kIdeal);
  const std::vector<Fact> facts = observe_scale_order(*cpu);
  EXPECT_EQ(value_in(facts, "scales tensor x tensor, fast", "order"), "the exact product, rounded once");
  EXPECT_EQ(value_in(facts, "scales 1x128 x 1x128, alpha", "order"), "the exact sum, rounded once");
}

}  // namespace
}  // namespace shardcheck
