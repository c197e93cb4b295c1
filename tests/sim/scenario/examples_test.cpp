#include "sim/scenario/examples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/scenario/embedded.h"
#include "sim/scenario/json.h"
#include "sim/scenario/provenance_coding.h"

namespace shardcheck {
namespace {

std::int64_t elements_of(const Scenario& s, bool expert) {
  std::int64_t sum = 0;
  for (const ScenarioParameter& p : s.parameters) sum += p.expert == expert ? p.numel() : 0;
  return sum;
}

TEST(Examples, NamesAreSortedAndNameTheScenarios) {
  const auto names = example_names();
  EXPECT_TRUE(std::ranges::is_sorted(names));
  ASSERT_EQ(names.size(), 11u);
  for (const auto& name : names) EXPECT_EQ(example(name).value().name, name);
  EXPECT_EQ(example("none"), std::nullopt);
}

TEST(Examples, FilesAreWhatToJsonWrites) {
  for (const EmbeddedExample& embedded : embedded_examples())
    EXPECT_EQ(to_json(example(std::string(embedded.name)).value()), embedded.json);
}

TEST(Examples, EveryContributionToEveryParameterCanBeToldApart) {
  for (const auto& name : example_names()) {
    const Scenario s = example(name).value();
    EXPECT_EQ(s.data, DataMode::provenance);
    for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p)
      EXPECT_TRUE(provenance_coding(s, p).has_value()) << name << ' ' << p;
  }
}

// The sums of shard-layouts 7.
TEST(Examples, ElementsAreThoseOfTheModels) {
  const Scenario llama = example("llama3-8b-block").value();
  EXPECT_EQ(elements_of(llama, false) - llama.parameters[0].numel(), 218'112'000);
  EXPECT_EQ(llama.parameters[0].shape, (std::vector<std::int64_t>{128256, 4096}));
  EXPECT_EQ(elements_of(example("deepseek-v3-dense-layer").value(), false), 583'483'392);
  const Scenario moe = example("moe-expert-group-of-one").value();
  EXPECT_EQ(elements_of(moe, true), 4 * 3 * 2048 * 7168);
}

TEST(Examples, TheEmbeddingIsTied) {
  const Scenario s = example("llama3-8b-block").value();
  EXPECT_EQ(s.uses.front(), (ScenarioUse{.parameter = 0, .producer = Producer::unfused}));
  EXPECT_EQ(s.uses.back(), (ScenarioUse{.parameter = 0, .producer = Producer::fused}));
}

TEST(Examples, TheExpertGroupHasOneRank) {
  const Scenario s = example("moe-expert-group-of-one").value();
  EXPECT_EQ(domain_size(s, true), 1);
  EXPECT_EQ(domain_size(s, false), 2);
  EXPECT_TRUE(has_leases(s.strategy));
}

}  // namespace
}  // namespace shardcheck
