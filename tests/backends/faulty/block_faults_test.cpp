// Every numeric fault of ops on blocks changes what it says, is silent where there is nothing to change, and
// is named by a shadow: the op, the operand that it wrote, and what that came from.
#include "backends/faulty/block_faults.h"

#include <gtest/gtest.h>

#include <bit>

#include "backends/cpu/cpu_backend.h"
#include "backends/faulty/faulty.h"
#include "backends/shadow/shadow_backend.h"
#include "core/recipe/catalogue.h"
#include "tests/backends/rig.h"

namespace shardcheck::test {
namespace {

using enum DType;

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
Codes codes_of(const std::vector<float>& values) {
  Codes codes;
  for (const float value : values) codes.push_back(bits(value));
  return codes;
}
BlockCopy of(std::string_view name, recipe::Extent extent) {
  return {.recipe = static_cast<std::int8_t>(recipe::find_recipe(name) - recipe::recipes().data()),
          .rows = extent.rows,
          .columns = extent.columns};
}

struct BlockOperand {
  DType type;
  Codes codes;
};
/// An op on `ranks` ranks, whose operands are equal but for the first, rotated by the rank.
struct BlockCase {
  Action action;
  std::vector<BlockOperand> operands;
  std::int32_t ranks = 1;
};

void build(Plan& plan, const BlockCase& c, auto write) {
  plan.ranks = c.ranks;
  PlanBuilder build(plan);
  std::vector<View> views;
  for (const BlockOperand& operand : c.operands) {
    views.push_back(build.whole(build.buffer("b" + std::to_string(views.size()), BufferRole::inputs,
                                             operand.type, std::ssize(operand.codes))));
  }
  build.op(c.action, {}, Stream::compute, ranks_upto(c.ranks));
  for (const View view : views) build.on(view);
  for (std::int32_t rank = 0; rank < c.ranks; ++rank) {
    for (std::size_t o = 0; o < views.size(); ++o) {
      Codes codes = c.operands[o].codes;
      if (o == 0) std::rotate(codes.begin(), codes.begin() + rank % std::ssize(codes), codes.end());
      const auto size = static_cast<std::size_t>(bytes_of(c.operands[o].type));
      std::vector<std::byte> bytes(codes.size() * size);
      for (std::size_t i = 0; i < codes.size(); ++i) std::memcpy(&bytes[i * size], &codes[i], size);
      write(Rank{rank}, views[o], bytes);
    }
  }
}

/// Operand `operand` on rank 0 afterwards.
Codes result(const std::string& spec, const BlockCase& c, int operand) {
  const auto backend = make_backend(spec, {.profile = "ideal"});
  Plan plan;
  build(plan, c, [&](Rank rank, View view, const auto& bytes) { backend->write(plan, rank, view, bytes); });
  backend->execute(plan, OpIndex{0}, OpIndex{1});
  const View view = plan.operand(plan.ops[0], operand)[0];
  const auto size = static_cast<std::size_t>(bytes_of(plan.buffer(view.buffer).dtype));
  std::vector<std::byte> bytes(static_cast<std::size_t>(view.numel) * size);
  backend->read(plan, Rank{0}, view, bytes);
  Codes codes(static_cast<std::size_t>(view.numel));
  for (std::size_t i = 0; i < codes.size(); ++i) std::memcpy(&codes[i], &bytes[i * size], size);
  return codes;
}

/// What the shadow says of the fault.
ShadowDifference difference(const std::string& fault, const BlockCase& c) {
  const auto shadow = make_shadow_backend(
      ShadowPair{make_cpu_backend(kIdeal),
                 make_faulty_backend(make_cpu_backend(kIdeal), *find_numeric_fault(fault))},
      {.after = AfterDifference::stop});
  Plan plan;
  build(plan, c, [&](Rank rank, View view, const auto& bytes) { shadow->write(plan, rank, view, bytes); });
  shadow->execute(plan, OpIndex{0}, OpIndex{1});
  const ShadowReport report = shadow->take();
  EXPECT_EQ(report.differences.size(), 1u) << fault;
  return report.differences.empty() ? ShadowDifference{} : report.differences[0];
}

std::string origin_of(const ShadowDifference& d) {
  std::string text = d.buffer + "[" + std::to_string(d.element) + "]";
  for (const OperandExcerpt& excerpt : d.operands) text += " " + excerpt.name;
  return text;
}

TEST(BlockFaults, AmaxWithoutLastRow) {
  const BlockCase c{TakeAmax{of("te-current", {2, 2}), 0},
                    {{f32, codes_of({1, 2, 3, 4})}, {f32, codes_of({0})}}};
  EXPECT_EQ(result("cpu", c, 1), codes_of({4}));
  EXPECT_EQ(result("faulty:amax-without-last-row", c, 1), codes_of({2}));
  EXPECT_EQ(origin_of(difference("amax-without-last-row", c)), "b1[0] of the block raised from");
}

TEST(BlockFaults, ScaleRoundedUp) {
  const BlockCase wide{ScaleFromAmax{of("te-block-1x128", {1, 128})},
                       {{f32, codes_of({7})}, {f32, codes_of({0})}, {f32, codes_of({0, 0, 0, 0})}}};
  EXPECT_EQ(result("cpu", wide, 1), codes_of({64}));
  EXPECT_EQ(result("cpu", wide, 2), codes_of({0x1p-6f, 0, 0, 0}));
  EXPECT_EQ(result("faulty:scale-rounded-up", wide, 1), codes_of({32}));
  EXPECT_EQ(result("faulty:scale-rounded-up", wide, 2), codes_of({0x1p-5f, 0, 0, 0}));
  EXPECT_EQ(origin_of(difference("scale-rounded-up", wide)), "b1[0] amax");
}

TEST(BlockFaults, DoubleRoundedCodes) {
  // 17.00390625 lies above the tie of 16 and 18; in bf16 it is the tie, which goes to 16.
  const BlockCase c{QuantizeBlocks{of("te-current", {1, 2}), 0},
                    {{f32, codes_of({17.00390625f, 1})}, {f32, codes_of({1})}, {e4m3, {0, 0}}}};
  EXPECT_EQ(result("cpu", c, 2), (Codes{0x59, 0x38}));
  EXPECT_EQ(result("faulty:double-rounded-codes", c, 2), (Codes{0x58, 0x38}));
  EXPECT_EQ(origin_of(difference("double-rounded-codes", c)), "b2[0] source factor");
}

TEST(BlockFaults, ColumnOfRowCodes) {
  // fp8 3.8, m5: a row with 7168 in it.
  std::vector<float> values(32, 0.046875f);
  values[0] = 7168;
  const BlockCase c{QuantizeMatrix{of("te-mxfp8", {1, 32})},
                    {{f32, codes_of(values)},
                     {e4m3, Codes(32)},
                     {u8, Codes(128 * 4)},
                     {e4m3, Codes(32)},
                     {u8, Codes(4 * 128)}}};
  EXPECT_EQ(result("cpu", c, 3)[1], 0x7Cu);
  EXPECT_EQ(result("faulty:column-of-row-codes", c, 3), result("cpu", c, 1));
  EXPECT_EQ(result("faulty:column-of-row-codes", c, 3)[1], 0x02u);
  EXPECT_EQ(origin_of(difference("column-of-row-codes", c)), "b3[1] source");
}

TEST(BlockFaults, GridNotTransposed) {
  const recipe::Extent extent{128, 256};
  const BlockCase c{DeriveColumnCopy{of("te-block-128x128", extent)},
                    {{e4m3, Codes(static_cast<std::size_t>(extent.numel()), 0x38)},
                     {f32, codes_of({1, 64, 0, 0})},
                     {e4m3, Codes(static_cast<std::size_t>(extent.numel()))},
                     {f32, Codes(2 * 4)}}};
  EXPECT_EQ(result("cpu", c, 3), codes_of({1, 0, 0, 0, 64, 0, 0, 0}));
  EXPECT_EQ(result("faulty:grid-not-transposed", c, 3), codes_of({1, 64, 0, 0, 64, 0, 0, 0}));
  EXPECT_EQ(origin_of(difference("grid-not-transposed", c)), "b3[1]") << "padding comes from nothing";
}

TEST(BlockFaults, SwizzledScales) {
  const BlockCase c{ScaleFromAmax{of("te-mxfp8", {2, 32})},
                    {{f32, codes_of({448, 896})}, {f32, codes_of({0, 0})}, {u8, Codes(128 * 4)}}};
  const Codes right = result("cpu", c, 2), wrong = result("faulty:swizzled-scales", c, 2);
  EXPECT_EQ(right[0], 0x7Fu);
  EXPECT_EQ(right[4], 0x80u) << "row 1";
  EXPECT_EQ(wrong[4], 0u);
  EXPECT_EQ(wrong[16], 0x80u);
  EXPECT_EQ(origin_of(difference("swizzled-scales", c)), "b2[4] amax");
  const BlockCase fp32{ScaleFromAmax{of("te-current", {1, 1})},
                       {{f32, codes_of({7})}, {f32, codes_of({0})}, {f32, codes_of({0})}}};
  EXPECT_EQ(result("faulty:swizzled-scales", fp32, 2), result("cpu", fp32, 2)) << "no order to mistake";
}

TEST(BlockFaults, FrozenHistory) {
  const BlockCase c{CloseDelayedStep{},
                    {{f32, codes_of({7})}, {f32, codes_of({1, 2, 3})}, {f32, codes_of({1, 1})}}};
  EXPECT_EQ(result("cpu", c, 1), codes_of({0, 3, 7}));
  EXPECT_EQ(result("faulty:frozen-history", c, 1), codes_of({1, 2, 3}));
  EXPECT_EQ(origin_of(difference("frozen-history", c)), "b1[0] amax of the group history");
}

TEST(BlockFaults, LoseMaximum) {
  const BlockCase c{Communicate{Collective::all_reduce, Reduction::maximum, 3},
                    {{f32, codes_of({3, 1, 2})}, {f32, codes_of({0, 0, 0})}},
                    3};
  EXPECT_EQ(result("cpu", c, 1), codes_of({3, 3, 3}));
  EXPECT_EQ(result("faulty:lose-maximum", c, 1), codes_of({3, 1, 2}));
  EXPECT_EQ(result("faulty:skip-last-rank", c, 1), codes_of({3, 3, 3})) << "of sums only";
  EXPECT_EQ(origin_of(difference("lose-maximum", c)), "b1[1] rank 0 rank 1 rank 2");
}

}  // namespace
}  // namespace shardcheck::test
