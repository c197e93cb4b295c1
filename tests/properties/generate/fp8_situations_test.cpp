// What a scenario with FP8 weights reaches, by the words of the table.
#include "properties/generate/fp8_situations.h"

#include <gtest/gtest.h>

#include <set>

#include "sim/owners/geometry.h"

namespace shardcheck {
namespace {

std::set<std::string_view> reached_in_fp8(const Scenario& s) {
  const Geometry geometry = geometry_of(s);
  std::set<std::string_view> names;
  for (const Situation& situation : fp8_situations()) {
    if (situation.is_reached(s, geometry)) names.insert(situation.name);
  }
  return names;
}

TEST(Fp8Situations, AreAskedOfPropertiesOfFp8Alone) {
  for (const Situation& situation : fp8_situations()) {
    EXPECT_EQ(situation.required_by, std::vector{Focus::fp8}) << situation.name;
    EXPECT_FALSE(is_required(situation, Focus::any)) << situation.name;
  }
}

TEST(Fp8Situations, ReadTheScenario) {
  Scenario s;
  s.strategy = Strategy::fsdp2;
  s.write_mode = WriteMode::r7;
  s.parameters = {{.name = "w0", .shape = {4, 6}}};
  s.uses = {{.parameter = 0, .producer = Producer::unfused}};
  EXPECT_TRUE(reached_in_fp8(s).empty());
  s.fp8.emplace();
  s.fp8->recipe = "te-current";
  EXPECT_EQ(reached_in_fp8(s),
            (std::set<std::string_view>{"FP8 by tensor", "FP8 weights gathered row by row, for every pass"}));
  s.reshard = Reshard::after_step;
  s.fp8->evaluations = {0};
  EXPECT_EQ(reached_in_fp8(s),
            (std::set<std::string_view>{"FP8 by tensor", "FP8 weights whole over the microbatches of a step",
                                        "evaluation"}));
}

}  // namespace
}  // namespace shardcheck
