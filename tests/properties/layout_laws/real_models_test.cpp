// The laws over the real models of shard-layouts 7, under every layout, at 8 and 64 ranks: geometry, for no
// byte is allocated.
#include <gtest/gtest.h>

#include "core/layout/models/named_models.h"
#include "properties/layout_laws/judge.h"

namespace shardcheck::laws {
namespace {

class RealModel : public testing::TestWithParam<std::string> {};

TEST_P(RealModel, KeepsTheLawsUnderEveryLayout) {
  const layout::NamedModel* model = layout::find_model(GetParam());
  ASSERT_NE(model, nullptr);
  const std::vector<layout::Parameter> parameters = model->make();
  // Every rank of a claim is written out: 45,000 tensors on 64 ranks take a minute.
  constexpr std::size_t kLarge = 10'000;
  const std::vector<std::int32_t> worlds =
      parameters.size() > kLarge ? std::vector<std::int32_t>{8} : std::vector<std::int32_t>{8, 64};
  for (const layout::NamedLayout& each : layout::named_layouts()) {
    for (const std::int32_t world : worlds) {
      const Asked asked{std::string(each.name), parameters, layout::mesh_of(world), {}};
      const Verdict verdict = judge({.asked = asked});
      // A router of 8 experts, or a vocabulary of 50,257, has no blocks of 32 rows.
      const bool may_refuse = each.name == "mfsdp-v2-block-atomic";
      EXPECT_TRUE(may_refuse || !verdict.rejected) << each.name << ": " << verdict.rejection;
      for (const LawFinding& finding : verdict.findings) {
        EXPECT_FALSE(finding.quirk.empty()) << world << " ranks: " << to_text(finding);
        if (finding.quirk.empty()) break;
      }
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const layout::NamedModel& model : layout::named_models()) all.emplace_back(model.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(LayoutLaws, RealModel, testing::ValuesIn(names()));

}  // namespace
}  // namespace shardcheck::laws
