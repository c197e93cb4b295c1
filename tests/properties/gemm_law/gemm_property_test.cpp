// F66 as a property: products survive their JSON, the reference holds, and a short accumulator is caught.
#include "properties/gemm_law/gemm_property.h"

#include <gtest/gtest.h>

#include "backends/registry.h"
#include "core/error.h"
#include "properties/runner.h"

namespace shardcheck {
namespace {

RunOptions options_on(const std::string& backend, const std::string& profile) {
  RunOptions options{.seed = 5, .cases = 60, .threads = 2};
  options.make_backend = [=] { return make_backend(backend, {.profile = profile}); };
  return options;
}

TEST(Products, ComeBackFromTheirJson) {
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto drawn = product_kind().draw({1, i});
    const auto back = product_kind().read(drawn->json(), "case");
    EXPECT_EQ(back->json(), drawn->json());
    EXPECT_EQ(back->describe(), drawn->describe());
    for (const auto& smaller : drawn->smaller()) EXPECT_NE(smaller->json(), drawn->json());
  }
}

TEST(Products, TheReferenceHoldsUnderBothProfiles) {
  for (const char* profile : {"ideal", "hopper"}) {
    const PropertyReport report = run_random(*find_property("products"), options_on("cpu", profile));
    EXPECT_FALSE(report.failure) << report.failure->findings.front().sentence;
    EXPECT_EQ(report.cases, 60);
  }
}

TEST(Products, AShortAccumulatorIsCaughtAndShrunk) {
  const PropertyReport report =
      run_random(*find_property("products"), options_on("faulty:fast-accumulation", "hopper"));
  ASSERT_TRUE(report.failure);
  const Finding& finding = report.failure->findings.front();
  EXPECT_EQ(finding.clause, "F66");
  EXPECT_NE(finding.expected.bits, finding.actual.bits);
  const auto smallest = product_kind().read(report.failure->shrunk.json, "shrunk");
  const GemmCase& c = static_cast<const ProductCase&>(*smallest).value();
  EXPECT_EQ(c.op.m * c.op.n, 1) << "one output shows it: " << smallest->describe();
  EXPECT_FALSE(c.op.accumulate);
}

TEST(Products, BadCasesAreRefused) {
  for (const char* json : {R"({"kind": "product", "m": 0, "n": 1, "k": 1})",
                           R"({"kind": "product", "m": 1, "n": 1, "k": 1, "a": "u8"})",
                           R"({"kind": "product", "m": 1000000, "n": 1000000, "k": 1000000})",
                           R"({"kind": "product", "m": 1, "n": 1, "k": 1, "alpha": "x"})"})
    EXPECT_THROW(product_kind().read(json, "case"), Error) << json;
}

}  // namespace
}  // namespace shardcheck
