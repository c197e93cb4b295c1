#include "properties/fingerprint/elementwise.h"

#include "core/numerics/profile.h"
#include "tests/properties/fingerprint/values.h"

namespace shardcheck {
namespace {

TEST(ObserveElementwise, TheReferenceRoundsOnceAndKeepsSmallNumbers) {
  const auto cpu = make_cpu_backend(kIdeal);
  const std::vector<Fact> facts = observe_elementwise(*cpu);
  for (const char* type : {"f32", "bf16", "f16"}) {
    const std::string add = std::string("add ") + type, scale = std::string("scale ") + type;
    EXPECT_EQ(value_in(facts, add, "rounding"), "nearest_even");
    EXPECT_EQ(value_in(facts, add, "zero"), "-0 + -0 gives -0, -0 + +0 gives +0");
    EXPECT_EQ(value_in(facts, add, "subnormals"), "kept");
    EXPECT_EQ(value_in(facts, scale, "product"), "once, rounded to nearest");
    EXPECT_EQ(value_in(facts, scale, "zero"), "-0 gives -0");
    EXPECT_EQ(value_in(facts, scale, "subnormals"), "kept");
  }
  EXPECT_EQ(value_in(facts, "optimizer step", "w - rate g"), "product and difference are rounded");
}

TEST(ObserveElementwise, FaultsShow) {
  EXPECT_EQ(value_in(observe_elementwise(*faulty("truncate-add")), "add bf16", "rounding"), "toward_zero");
  EXPECT_EQ(value_in(observe_elementwise(*faulty("scale-twice")), "scale f32", "product"), "another product");
  const std::vector<Fact> flushed = observe_elementwise(*faulty("flush-subnormals"));
  EXPECT_EQ(value_in(flushed, "add f32", "subnormals"), "flushed to zero");
  EXPECT_EQ(value_in(flushed, "scale f16", "subnormals"), "flushed to zero");
  EXPECT_EQ(value_in(observe_elementwise(*faulty("lose-zero-sign")), "scale f32", "zero"), "-0 gives +0");
}

}  // namespace
}  // namespace shardcheck
