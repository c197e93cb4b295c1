// Sharded quantisation as a property: cases survive their JSON, are refused with a sentence where they are
// damaged, become smaller without leaving their limits, and reach every situation.
#include "properties/quantisation_law/quantisation_property.h"

#include <gtest/gtest.h>

#include <set>

#include "backends/cpu/cpu_backend.h"
#include "core/error.h"
#include "properties/quantisation_law/laws.h"
#include "properties/quantisation_law/zoo.h"

namespace shardcheck {
namespace {

const QuantisationCase& value_of(const Case& c) {
  return static_cast<const ShardedQuantisation&>(c).value();
}

TEST(QuantisationProperty, CasesSurviveTheirJson) {
  for (std::uint64_t number = 0; number < 100; ++number) {
    const auto drawn = quantisation_kind().draw({.seed = 3, .number = number});
    const auto read = quantisation_kind().read(drawn->json(), "case.json");
    EXPECT_EQ(read->json(), drawn->json());
    EXPECT_EQ(read->describe(), drawn->describe());
    for (const auto& less : drawn->smaller()) {
      EXPECT_NE(less->json(), drawn->json());
      EXPECT_NO_THROW(quantisation_kind().read(less->json(), "less.json")) << less->json();
    }
  }
}

TEST(QuantisationProperty, DamageIsASentence) {
  const auto expect_refused = [](const std::string& json, const std::string& part) {
    try {
      quantisation_kind().read(json, "case.json");
      ADD_FAILURE() << "accepted; expected " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  const std::string begin = R"({"kind": "quantisation", )";
  expect_refused(begin + R"("recipe": "te"})", "case.json.recipe: \"te\" is no recipe");
  expect_refused(begin + R"("layout": "cut"})", "neither \"cuts\" nor a layout");
  expect_refused(begin + R"("world": 0})", "case.json.world");
  expect_refused(begin + R"("weights": []})", "expected 1 to 64 weights");
  expect_refused(begin + R"("weights": [{"rows": 99999999, "columns": 99999999}]})", "elements");
  expect_refused(begin + R"("world": 2, "weights": [{"rows": 2}]})", "has 0 places, expected 1");
  expect_refused(begin + R"("world": 2, "weights": [{"rows": 2, "cuts": [3]}]})",
                 "ascending places from 0 to 2");
  expect_refused(begin + R"("model_type": "u8", "weights": [{}]})", "expected bf16 or f16");
  expect_refused(begin + R"("fault": "Q1", "weights": [{}]})", "\"Q1\" is no fault");
  expect_refused(begin + R"("weigths": []})", "weigths");
}

TEST(QuantisationProperty, RandomCasesReachEverySituation) {
  const auto backend = make_cpu_backend(kIdeal);
  std::set<std::size_t> reached;
  const auto& situations = quantisation_situations();
  for (std::uint64_t number = 0; number < 1500 && reached.size() < situations.size(); ++number) {
    const auto c = quantisation_kind().draw({.seed = 1, .number = number});
    const JudgedCase judged = judge_quantisation(*backend, *c);
    EXPECT_TRUE(judged.findings.empty()) << c->json() << judged.findings[0].sentence;
    reached.insert(judged.situations.begin(), judged.situations.end());
  }
  for (std::size_t i = 0; i < situations.size(); ++i) EXPECT_TRUE(reached.contains(i)) << situations[i];
}

TEST(QuantisationProperty, AFaultIsJudgedByItsCase) {
  const auto backend = make_cpu_backend(kIdeal);
  for (const QuantisationFault& fault : quantisation_zoo()) {
    QuantisationCase c = fault.smallest();
    c.fault = fault.id;
    const auto read = quantisation_kind().read(ShardedQuantisation(c).json(), "case.json");
    EXPECT_EQ(value_of(*read).fault, fault.id);
    EXPECT_TRUE(read->smaller().empty());
    const JudgedCase judged = judge_quantisation(*backend, *read);
    ASSERT_FALSE(judged.findings.empty()) << fault.id;
    EXPECT_EQ(judged.findings[0].clause, fault.law);
    EXPECT_NE(read->describe().find(fault.id), std::string::npos);
  }
}

}  // namespace
}  // namespace shardcheck
