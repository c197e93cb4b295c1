// Every fault of the zoo is caught by its law and is silent when switched off; every judged law has a killer.
#include "properties/layout_laws/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "properties/layout_laws/checkpoint_law.h"

namespace shardcheck::laws {
namespace {

class EveryFault : public testing::TestWithParam<LayoutFault> {};

TEST_P(EveryFault, IsCaughtByItsLaw) {
  const Findings findings = findings_of(GetParam());
  std::string seen;
  for (const LawFinding& finding : findings) seen += "\n" + to_text(finding);
  EXPECT_TRUE(std::ranges::any_of(findings, [](const LawFinding& f) { return f.law == GetParam().law; }))
      << GetParam().title << seen;
}

TEST_P(EveryFault, IsSilentWhenSwitchedOff) {
  for (const LawFinding& finding : findings_without(GetParam())) {
    EXPECT_FALSE(finding.quirk.empty()) << to_text(finding);
  }
}

TEST_P(EveryFault, CorruptsOneThing) {
  const LayoutFault& fault = GetParam();
  EXPECT_EQ(
      (fault.corrupt_claim != nullptr) + (fault.corrupt_index != nullptr) + (fault.corrupt_moves != nullptr),
      1);
}

/// A claim may name ranks that its layout has not; they have files, and nothing is written past them.
TEST_P(EveryFault, IsOfACheckpointWhosePiecesHaveFiles) {
  Claim claim = claim_of(GetParam().model());
  if (GetParam().corrupt_claim != nullptr) GetParam().corrupt_claim(claim);
  const checkpoint::ShardedIndex index = checkpoint_index(claim);
  for (const checkpoint::SavedTensor& tensor : index.tensors) {
    for (const checkpoint::SavedPiece& piece : tensor.pieces) EXPECT_LT(piece.file, std::ssize(index.files));
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryFault, testing::ValuesIn(layout_zoo().begin(), layout_zoo().end()),
                         [](const auto& info) { return std::string(info.param.id); });

TEST(Zoo, EveryJudgedLawHasAKiller) {
  std::set<std::string_view> killed;
  for (const LayoutFault& fault : layout_zoo()) killed.insert(fault.law);
  for (const Law& law : laws()) {
    EXPECT_EQ(killed.contains(law.id), law.evidence != Evidence::nothing) << law.id;
  }
}

TEST(Zoo, NamesAreUnique) {
  for (const LayoutFault& fault : layout_zoo()) EXPECT_EQ(find_layout_fault(fault.id), &fault);
  EXPECT_EQ(find_layout_fault("B99"), nullptr);
}

}  // namespace
}  // namespace shardcheck::laws
