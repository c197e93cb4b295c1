// The laws of formats hold for every format, source and policy; cases survive their JSON, shrink, and are
// refused with a sentence.
#include "properties/format_law/format_property.h"

#include <gtest/gtest.h>

#include <set>

#include "backends/cpu/cpu_backend.h"
#include "core/error.h"

namespace shardcheck {
namespace {

TEST(FormatProperty, HoldsAndReachesEverySituation) {
  const auto backend = make_cpu_backend(kIdeal);
  std::set<std::size_t> reached;
  for (std::uint64_t number = 0; number < 600; ++number) {
    const auto c = format_kind().draw({.seed = 1, .number = number});
    const JudgedCase judged = judge_format_case(*backend, *c);
    for (const Finding& finding : judged.findings)
      ADD_FAILURE() << c->describe() << " " << finding.clause << ": " << finding.sentence;
    reached.insert(judged.situations.begin(), judged.situations.end());
  }
  EXPECT_EQ(reached.size(), format_situations().size());
}

TEST(FormatProperty, CasesSurviveTheirJsonAndShrink) {
  for (std::uint64_t number = 0; number < 50; ++number) {
    const auto c = format_kind().draw({.seed = 2, .number = number});
    EXPECT_EQ(format_kind().read(c->json(), "c.json")->json(), c->json());
    for (const auto& less : c->smaller()) {
      EXPECT_NO_THROW(format_kind().read(less->json(), "less.json"));
      EXPECT_NE(less->json(), c->json());
    }
  }
}

TEST(FormatProperty, DamageIsASentence) {
  for (const auto& [fields, part] : std::vector<std::pair<std::string, std::string>>{
           {R"("format": "bf16")", "c.json.format: expected a narrow format"},
           {R"("policy": "rp_sat")", "c.json.policy: \"rp_sat\" is no cast into e4m3"},
           {R"("format": "e2m1", "source": "bf16")", "c.json.source: expected f32"},
           {R"("source": "bf16", "inputs": [1065353217])",
            "c.json.inputs[0]: expected the fp32 bits of a number"},
           {R"("inputs": [4294967296])", "c.json.inputs[0]"},
           {R"("random_bits": 9)", "c.json.random_bits: expected 1 to 8"},
           {R"("shift": 301)", "c.json.shift: expected at most 300"},
           {R"("fault": "Q0")", "is no fault of formats"}}) {
    try {
      format_kind().read(R"({"kind": "format", )" + fields + "}", "c.json");
      ADD_FAILURE() << "accepted; expected " << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace shardcheck
