// Cases: numbers depend on their place and not on who owns it, and pieces partition every weight.
#include "properties/quantisation_law/quantisation_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace shardcheck {
namespace {

TEST(QuantisationCase, NumbersDoNotDependOnTheCut) {
  QuantisationCase a{.recipe = "te-mxfp8", .world = 2},
      b{.recipe = "te-mxfp8", .layout = "fsdp1-flat", .world = 3};
  a.weights = {{.rows = 4, .columns = 9, .cuts = {7}}};
  b.weights = {{.rows = 4, .columns = 9}};
  for (const MasterFamily family :
       {MasterFamily::log_uniform, MasterFamily::outlier, MasterFamily::midpoints}) {
    a.masters = b.masters = family;
    EXPECT_EQ(call_of(a).weights[0].master, call_of(b).weights[0].master);
  }
  EXPECT_EQ(call_of(a).weights[0].owned[0], (std::vector<layout::Range>{{0, 7}}));
  EXPECT_EQ(call_of(b).weights[0].owned.size(), 3u);
}

TEST(QuantisationCase, FamiliesAreWhatTheySay) {
  QuantisationCase c{.recipe = "te-current", .world = 1};
  c.weights = {{.rows = 8, .columns = 32}};
  const auto count = [&](MasterFamily family, auto holds) {
    c.masters = family;
    return std::ranges::count_if(call_of(c).weights[0].master, holds);
  };
  EXPECT_EQ(count(MasterFamily::outlier, [](float x) { return std::abs(x) > 100; }), 1);
  EXPECT_EQ(count(MasterFamily::special, [](float x) { return !std::isfinite(x); }), 1);
  EXPECT_EQ(count(MasterFamily::equal, [](float x) { return std::abs(x) == 3; }), 256);
  EXPECT_GT(count(MasterFamily::zeros, [](float x) { return x == 0; }), 200);
  EXPECT_EQ(count(MasterFamily::tiny, [](float x) { return std::abs(x) < 0x1p-110f; }), 256);
}

TEST(QuantisationCase, IsDescribedInWords) {
  QuantisationCase c{.recipe = "te-mxfp8", .world = 2};
  c.weights = {{.rows = 3, .columns = 130, .expert = true, .cuts = {5}}};
  c.model_type = DType::bf16;
  EXPECT_EQ(
      describe(c),
      "te-mxfp8 over 2 ranks of cuts: 3 x 130 expert cut at 5; masters log-uniform rounded to bf16, seed 0");
}

}  // namespace
}  // namespace shardcheck
