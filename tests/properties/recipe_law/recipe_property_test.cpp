// The laws hold for every recipe; cases survive their JSON and are refused with a sentence.
#include "properties/recipe_law/recipe_property.h"

#include <gtest/gtest.h>

#include <set>

#include "backends/cpu/cpu_backend.h"
#include "core/error.h"

namespace shardcheck {
namespace {

TEST(RecipeProperty, HoldsAndReachesEverySituation) {
  const auto backend = make_cpu_backend(kIdeal);
  std::set<std::size_t> reached;
  for (std::uint64_t number = 0; number < 300; ++number) {
    const auto c = recipe_kind().draw({.seed = 1, .number = number});
    EXPECT_EQ(recipe_kind().read(c->json(), "c.json")->json(), c->json());
    const JudgedCase judged = judge_recipe_case(*backend, *c);
    for (const Finding& finding : judged.findings)
      ADD_FAILURE() << c->describe() << " " << finding.clause << ": " << finding.sentence;
    reached.insert(judged.situations.begin(), judged.situations.end());
    for (const auto& less : c->smaller()) EXPECT_NO_THROW(recipe_kind().read(less->json(), "less.json"));
  }
  EXPECT_EQ(reached.size(), recipe_situations().size());
}

TEST(RecipeProperty, DamageIsASentence) {
  for (const auto& [fields, part] :
       std::vector<std::pair<std::string, std::string>>{{R"("recipe": "x")", "is no recipe"},
                                                        {R"("rows": 0)", "expected rows and columns"},
                                                        {R"("numbers": "special")", "not special"},
                                                        {R"("fault": "Q0")", "is no fault"}}) {
    try {
      recipe_kind().read(R"({"kind": "recipe", )" + fields + "}", "c.json");
      ADD_FAILURE() << "accepted; expected " << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace shardcheck
