// The judge on single questions: refusals are verdicts, huge models move no bytes, and models of the field
// hold.
#include "properties/layout_laws/judge.h"

#include <gtest/gtest.h>

#include "properties/layout_laws/zoo_models.h"

namespace shardcheck::laws {
namespace {

TEST(Judge, ARefusalIsAVerdict) {
  const Verdict verdict = judge({.asked = ask("fsdp2-per-param", {{}}, 2)});
  EXPECT_TRUE(verdict.rejected);
  EXPECT_NE(verdict.rejection.find("P0"), std::string::npos);
  EXPECT_TRUE(verdict.findings.empty());
}

TEST(Judge, SizesBeyond64BitsAreARefusal) {
  EXPECT_TRUE(judge({.asked = ask("zero12-flat", {{1LL << 40, 1LL << 40}}, 2)}).rejected);
}

TEST(Judge, HugeTensorsMoveNoBytes) {
  const Verdict verdict = judge({.asked = ask("zero12-flat", {{1LL << 40, 3}}, 7)});
  EXPECT_FALSE(verdict.rejected || verdict.moved_bytes);
  EXPECT_TRUE(verdict.findings.empty());
}

/// One transformer layer of Llama-3-8B (shard-layouts 7).
Asked llama_layer(std::string_view layout, std::int32_t world) {
  Asked asked = ask(layout,
                    {{4096, 4096},
                     {1024, 4096},
                     {1024, 4096},
                     {4096, 4096},
                     {14336, 4096},
                     {14336, 4096},
                     {4096, 14336},
                     {4096},
                     {4096}},
                    world);
  for (auto& parameter : asked.parameters) {
    parameter.unit = 0;
    parameter.layerwise = parameter.shape.size() == 2;
  }
  return asked;
}

TEST(Judge, ALayerOfLlama3HoldsUnderEveryLayout) {
  for (const layout::NamedLayout& layout : layout::named_layouts()) {
    for (const std::int32_t world : {1, 8, 64, 72}) {
      const Verdict verdict = judge({.asked = llama_layer(layout.name, world), .choice = world});
      EXPECT_FALSE(verdict.rejected) << layout.name << ": " << verdict.rejection;
      for (const LawFinding& finding : verdict.findings) {
        EXPECT_FALSE(finding.quirk.empty()) << world << " ranks: " << to_text(finding);
      }
    }
  }
}

}  // namespace
}  // namespace shardcheck::laws
