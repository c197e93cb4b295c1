// A counterexample is a scenario or a case of another kind, and its JSON says which.
#include "properties/counterexample.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "properties/gemm_law/gemm_property.h"
#include "sim/scenario/examples.h"

namespace shardcheck {
namespace {

TEST(Counterexample, AScenarioHasNoKind) {
  const Counterexample scenario = counterexample_of(*example("llama3-8b-block"));
  const Counterexample back = counterexample_from_json(to_json(scenario), "file");
  EXPECT_EQ(back, scenario);
  EXPECT_EQ(describe(back), describe(scenario.scenario));
}

TEST(Counterexample, AnotherCaseSaysItsKind) {
  const auto product = product_kind().draw({1, 2});
  const Counterexample back = counterexample_from_json(product->json(), "file");
  EXPECT_EQ(back.kind, &product_kind());
  EXPECT_EQ(to_json(back), product->json());
  EXPECT_EQ(describe(back), product->describe());
}

TEST(Counterexample, AnUnknownKindNamesTheKnown) {
  try {
    counterexample_from_json(R"({"kind": "layuot"})", "file");
    FAIL();
  } catch (const Error& error) {
    for (const char* part : {"there are ", "layout, ", "product"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
  EXPECT_THROW(counterexample_from_json(std::string(100'000, '['), "file"), Error);
}

}  // namespace
}  // namespace shardcheck
