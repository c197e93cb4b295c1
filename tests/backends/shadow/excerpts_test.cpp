// The operands that explain an element, one kind of op after the other.
#include "backends/shadow/excerpts.h"

#include <gtest/gtest.h>

#include "tests/backends/rig.h"

namespace shardcheck::shadowing {
namespace {

constexpr std::int64_t kKeepAll = 1 << 20;

/// "name: value value" of every excerpt of the rig's only op; buffer b holds 100 b + position + 10 rank.
std::string excerpts(const Action& action, const std::vector<std::int64_t>& numels, WrittenElement written) {
  test::Rig rig("cpu", "ideal", 2);
  auto& op = rig.op(action);
  for (std::size_t b = 0; b < numels.size(); ++b) {
    const View view = rig.buffer(DType::f32, numels[b]);
    op.on(view);
    for (int rank = 0; rank < 2; ++rank) {
      test::Codes codes;
      for (std::int64_t i = 0; i < numels[b]; ++i)
        codes.push_back(test::rounded(DType::f32, 100.0 * double(b) + double(i) + 10.0 * rank));
      rig.write(rank, view, codes);
    }
  }
  Operands operands(rig.backend());
  operands.keep(rig.plan, rig.plan.ops[0], kKeepAll);
  rig.run();
  std::string text;
  for (const OperandExcerpt& excerpt : excerpts_of(operands, written)) {
    text += excerpt.name + ":";
    for (const Sighting& value : excerpt.values) text += " " + std::to_string(int(value.value));
    text += "; ";
  }
  return text;
}

TEST(Excerpts, NameWhatEachOpComputesFrom) {
  EXPECT_EQ(excerpts(Copy{}, {4, 4}, {1, 2}), "source: 12; ");
  EXPECT_EQ(excerpts(Add{}, {4, 4}, {0, 3}), "addend: 3; added to: 103; ");
  EXPECT_EQ(excerpts(Scale{2}, {4}, {0, 1}), "times 2: 1; ");
  EXPECT_EQ(excerpts(SgdStep{0.5f}, {4, 4}, {0, 1}), "weight: 101; minus 0.5 times: 1; ");
  EXPECT_EQ(excerpts(Gemm{2, 2, 3, true}, {4, 6, 6}, {0, 5}),
            "dy, row 1: 1 3; x, column 2: 102 105; added to: 205; ");
  EXPECT_EQ(excerpts(Fill{1}, {4}, {0, 1}), "");
}

TEST(Excerpts, OfCollectivesAreThoseOfEveryRank) {
  EXPECT_EQ(excerpts(Communicate{Collective::all_reduce, Reduction::sum, 2}, {4, 4}, {1, 3}),
            "rank 0: 3; rank 1: 13; ");
  EXPECT_EQ(excerpts(Communicate{Collective::reduce_scatter, Reduction::sum, 2}, {4, 2}, {1, 1}),
            "rank 0: 3; rank 1: 13; ");
  EXPECT_EQ(excerpts(Communicate{Collective::all_gather, Reduction::sum, 2}, {2, 4}, {0, 3}), "rank 1: 11; ");
}

}  // namespace
}  // namespace shardcheck::shadowing
