// The laws hold for every recipe over random cuts and layouts, and for a weight cut at every place.
#include "properties/quantisation_law/laws.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "properties/quantisation_law/quantisation_case.h"

namespace shardcheck {
namespace {

void expect_held(const QuantisationCase& c) {
  for (const Finding& finding : judge_sharded(call_of(c), nullptr))
    ADD_FAILURE() << describe(c) << "\n" << finding.clause << ": " << finding.sentence;
}

TEST(ShardedLaws, HoldForRandomCases) {
  int refused = 0;
  for (std::uint64_t number = 0; number < 300; ++number) {
    Draw draw(5, number);
    const QuantisationCase c = random_quantisation_case(draw);
    try {
      expect_held(c);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_LT(refused, 60);
}

TEST(ShardedLaws, HoldForEveryCut) {
  for (const char* recipe : {"te-block-128x128", "te-mxfp8", "te-nvfp4", "ao-tensorwise", "te-delayed"}) {
    QuantisationCase c{.recipe = recipe, .world = 3};
    c.weights = {{.rows = 3, .columns = 5}};
    for (std::int64_t a = 0; a <= 15; ++a) {
      for (std::int64_t b = a; b <= 15; ++b) {
        c.weights[0].cuts = {a, b};
        c.masters = static_cast<MasterFamily>((a + b) % kMasterFamilies);
        expect_held(c);
      }
    }
  }
}

}  // namespace
}  // namespace shardcheck
