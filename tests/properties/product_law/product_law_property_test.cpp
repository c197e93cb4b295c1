// The laws of products hold under every profile; cases survive their JSON, shrink, and are refused with a
// sentence.
#include "properties/product_law/product_law_property.h"

#include <gtest/gtest.h>

#include <set>

#include "backends/cpu/cpu_backend.h"
#include "core/error.h"

namespace shardcheck {
namespace {

std::set<std::size_t> reached_under(const ArithmeticProfile& profile) {
  const auto backend = make_cpu_backend(profile);
  std::set<std::size_t> reached;
  for (std::uint64_t number = 0; number < 150; ++number) {
    const auto c = product_law_kind().draw({.seed = 1, .number = number});
    const JudgedCase judged = judge_product_question(*backend, *c);
    for (const Finding& finding : judged.findings)
      ADD_FAILURE() << profile.name << ": " << c->describe() << " " << finding.clause << ": "
                    << finding.sentence;
    reached.insert(judged.situations.begin(), judged.situations.end());
  }
  return reached;
}

TEST(ProductLaws, HoldUnderEveryProfileAndReachEverySituation) {
  for (const ArithmeticProfile* profile : kProfiles) {
    EXPECT_EQ(reached_under(*profile).size(), product_law_situations().size()) << profile->name;
  }
}

TEST(ProductLaws, CasesSurviveTheirJsonAndShrink) {
  for (std::uint64_t number = 0; number < 50; ++number) {
    const auto c = product_law_kind().draw({.seed = 2, .number = number});
    EXPECT_EQ(product_law_kind().read(c->json(), "c.json")->json(), c->json());
    for (const auto& less : c->smaller()) {
      EXPECT_NO_THROW(product_law_kind().read(less->json(), "less.json"));
      EXPECT_NE(less->json(), c->json());
    }
  }
}

TEST(ProductLaws, AZeroThatUnderflowedMayBecomeANumber) {
  const auto backend = make_cpu_backend(kIdeal);
  const auto c = product_law_kind().read(
      R"({"kind": "product-law", "law": "F59", "power": 2, "row": 55,
          "gemm": {"m": 6, "n": 1, "k": 96, "a": "e4m3", "b": "e5m2", "d": "f16", "scales_a": "tensor",
                   "scales_b": "tensor", "fast_accumulation": true, "operands": "sparse", "scales": "any",
                   "seed": 1118635409}})",
      "c.json");
  EXPECT_TRUE(judge_product_question(*backend, *c).findings.empty());
}

TEST(ProductLaws, DamageIsASentence) {
  for (const auto& [fields, part] : std::vector<std::pair<std::string, std::string>>{
           {R"("gemm": {"m": 0, "n": 1, "k": 1})", "m, n and k are numbers from 1"},
           {R"("gemm": {"m": 5000, "n": 5000, "k": 5000})", "products"},
           {R"("gemm": {"m": 1, "n": 1, "k": 1}, "power": 9)", "c.json.power: expected at most 8"},
           {R"("gemm": {"m": 1, "n": 1, "k": 1}, "law": "F67")", "c.json.law: expected one of F57"},
           {R"("gemm": {"m": 1, "n": 1, "k": 1}, "fault": "Q0")", "is no fault of products"}}) {
    try {
      product_law_kind().read(R"({"kind": "product-law", )" + fields + "}", "c.json");
      ADD_FAILURE() << "accepted; expected " << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace shardcheck
