#include "properties/fingerprint/blocks.h"

#include "core/numerics/profile.h"
#include "tests/properties/fingerprint/values.h"

namespace shardcheck {
namespace {

TEST(ObserveBlocks, TheReferenceIsAsDefined) {
  const auto cpu = make_cpu_backend(kIdeal);
  const std::vector<Fact> facts = observe_block_ops(*cpu);
  EXPECT_EQ(facts.size(), 4u * 6 + 2 + 1);
  for (const Fact& fact : facts) {
    if (fact.name == "NaN in an amax") {
      EXPECT_EQ(fact.value, "dropped") << fact.subject;
    } else {
      EXPECT_EQ(fact.value, "as defined") << fact.subject << ", " << fact.name;
    }
  }
}

TEST(ObserveBlocks, FaultsShow) {
  struct Row {
    const char *fault, *subject, *name;
  };
  for (const Row& row : {Row{"amax-without-last-row", "te-mxfp8", "amaxes of a piece"},
                         Row{"scale-rounded-up", "te-block-1x128", "scales"},
                         Row{"double-rounded-codes", "te-current", "codes"},
                         Row{"column-of-row-codes", "te-mxfp8", "both copies"},
                         Row{"grid-not-transposed", "te-block-128x128", "derived column copy"},
                         Row{"swizzled-scales", "te-mxfp8", "scales"},
                         Row{"frozen-history", "delayed scaling", "history and scale"}}) {
    const Fact fact = fact_in(observe_block_ops(*faulty(row.fault)), row.subject, row.name);
    EXPECT_TRUE(fact.value.starts_with("another: ")) << row.fault << ": " << fact.value;
    ASSERT_EQ(fact.probes.size(), 1u) << row.fault;
    EXPECT_FALSE(fact.probes[0].outputs.empty()) << row.fault;
  }
}

}  // namespace
}  // namespace shardcheck
