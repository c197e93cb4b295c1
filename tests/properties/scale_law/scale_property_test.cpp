// The laws of scales hold for every recipe; cases survive their JSON, shrink, and are refused with a
// sentence.
#include "properties/scale_law/scale_property.h"

#include <gtest/gtest.h>

#include <set>

#include "backends/cpu/cpu_backend.h"
#include "core/error.h"

namespace shardcheck {
namespace {

TEST(ScaleProperty, HoldsAndReachesEverySituation) {
  const auto backend = make_cpu_backend(kIdeal);
  std::set<std::size_t> reached;
  for (std::uint64_t number = 0; number < 600; ++number) {
    const auto c = scale_kind().draw({.seed = 1, .number = number});
    const JudgedCase judged = judge_scale_case(*backend, *c);
    for (const Finding& finding : judged.findings)
      ADD_FAILURE() << c->describe() << " " << finding.clause << ": " << finding.sentence;
    reached.insert(judged.situations.begin(), judged.situations.end());
  }
  EXPECT_EQ(reached.size(), scale_situations().size());
}

TEST(ScaleProperty, CasesSurviveTheirJsonAndShrink) {
  for (std::uint64_t number = 0; number < 50; ++number) {
    const auto c = scale_kind().draw({.seed = 2, .number = number});
    EXPECT_EQ(scale_kind().read(c->json(), "c.json")->json(), c->json());
    for (const auto& less : c->smaller()) {
      EXPECT_NO_THROW(scale_kind().read(less->json(), "less.json"));
      EXPECT_NE(less->json(), c->json());
    }
  }
}

TEST(ScaleProperty, ANumberJustBelowTheSmallestNormalOneHasItsScale) {
  const auto backend = make_cpu_backend(kIdeal);
  const auto c = scale_kind().read(
      R"({"kind": "scale", "recipe": "ao-rowwise", "rows": 7, "columns": 2, "code": 66, "seed": 1624719498})",
      "c.json");
  EXPECT_TRUE(judge_scale_case(*backend, *c).findings.empty());
}

TEST(ScaleProperty, DamageIsASentence) {
  for (const auto& [fields, part] : std::vector<std::pair<std::string, std::string>>{
           {R"("recipe": "x")", "is no recipe"},
           {R"("rows": 0)", "expected rows and columns"},
           {R"("stored_rows": 100000000)", "c.json.stored_rows: expected rows and columns"},
           {R"("cut": 2)", "c.json.cut: expected at most 1"},
           {R"("scale": 0)", "c.json.scale: expected a number between"},
           {R"("code": 255)", "c.json.code: expected at most 254"},
           {R"("fault": "Q0")", "is no fault of scales"}}) {
    try {
      scale_kind().read(R"({"kind": "scale", )" + fields + "}", "c.json");
      ADD_FAILURE() << "accepted; expected " << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace shardcheck
