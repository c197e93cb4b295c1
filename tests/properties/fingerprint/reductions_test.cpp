#include "properties/fingerprint/reductions.h"

#include "core/numerics/profile.h"
#include "tests/properties/fingerprint/values.h"

namespace shardcheck {
namespace {

TEST(ObserveReductions, TheOrderOfTheFoldIsFound) {
  const auto one = make_cpu_backend(kIdeal), two = make_cpu_backend(kIdeal, 2);
  const std::vector<Fact> flat = observe_reductions(*one), folded = observe_reductions(*two);
  for (const char* type : {"f32", "bf16"}) {
    for (const char* collective : {"all_reduce ", "reduce_scatter "}) {
      const std::string subject = std::string(collective) + type + " over 4 ranks";
      EXPECT_EQ(value_in(flat, subject, "sum"), "ascending ranks");
      EXPECT_EQ(value_in(folded, subject, "sum"), "two halves, each ascending");
      EXPECT_EQ(value_in(flat, subject, "average"), "every addend times RN(1/R), ascending ranks");
    }
    const std::string corners = std::string("reductions of ") + type;
    EXPECT_EQ(value_in(flat, corners, "zero"), "-0 + -0 gives -0, -0 + +0 gives +0");
    EXPECT_EQ(value_in(flat, corners, "NaN"), "reaches the sum");
    EXPECT_EQ(value_in(flat, corners, "subnormals"), "kept");
    EXPECT_EQ(value_in(flat, corners, "overflow"), "infinity");
  }
  EXPECT_EQ(value_in(flat, "all_gather over 4 ranks", "pieces"), "ascending ranks");
  const char* maximum = "the largest; a NaN is dropped, of NaN alone NaN";
  EXPECT_EQ(value_in(flat, "reductions", "maximum with NaN"), maximum);
  EXPECT_EQ(value_in(folded, "reductions", "maximum with NaN"), maximum);
}

TEST(ObserveReductions, FaultsShow) {
  const char* subject = "all_reduce f32 over 4 ranks";
  EXPECT_EQ(value_in(observe_reductions(*faulty("truncate-add")), subject, "sum"),
            "ascending ranks, toward zero");
  EXPECT_EQ(value_in(observe_reductions(*faulty("descending-reduction")), subject, "sum"),
            "descending ranks");
  EXPECT_EQ(value_in(observe_reductions(*faulty("skip-last-rank")), subject, "sum"),
            "ascending, the last rank missing");
  EXPECT_EQ(value_in(observe_reductions(*faulty("average-after")), "all_reduce f32 over 3 ranks", "average"),
            "the sum times RN(1/R), ascending ranks");
  EXPECT_EQ(value_in(observe_reductions(*faulty("lose-maximum")), "reductions", "maximum with NaN"),
            "another number; a NaN counts by its rank, of NaN alone NaN; ranks differ");
}

}  // namespace
}  // namespace shardcheck
