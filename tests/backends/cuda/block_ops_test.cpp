// Ops on blocks on the GPU against the reference: every recipe with 8-bit codes and one level of scales, both
// copies, every type, matrices that tiles do not divide, pieces that begin inside a block, corners of
// numbers.
#include "core/recipe/catalogue.h"
#include "core/recipe/quantize.h"
#include "tests/backends/cuda/twins.h"

namespace shardcheck {
namespace {

using recipe::Direction;
using BlockOpsOnGpu = OnGpu;

constexpr DType kFloats[] = {DType::f32, DType::bf16, DType::f16};
constexpr DType kFp8[] = {DType::e4m3, DType::e5m2};
/// No tile, a row, a column, less than a tile, just more, several tiles of which the last is cut.
constexpr recipe::Extent kExtents[] = {{1, 1},     {1, 300},   {300, 1},   {17, 33},   {32, 32},
                                       {128, 128}, {129, 130}, {130, 129}, {256, 384}, {200, 272}};

bool is_one_level(const recipe::Recipe& named) {
  return named.formula != recipe::ScaleFormula::two_level;
}
std::vector<std::int8_t> one_level_recipes() {
  std::vector<std::int8_t> indices;
  for (std::size_t i = 0; i < recipe::recipes().size(); ++i) {
    if (is_one_level(recipe::recipes()[i])) indices.push_back(static_cast<std::int8_t>(i));
  }
  return indices;
}

struct Types {
  DType source, row_codes, column_codes, out;
};

/// A plan on one matrix, with its buffers by name.
struct Chain {
  Plan plan;
  PlanBuilder build{plan};
  BlockCopy of;
  const recipe::Recipe& named;

  Chain(std::int8_t recipe_index, recipe::Extent extent, int ranks)
      : of{.recipe = recipe_index, .rows = extent.rows, .columns = extent.columns},
        named(recipe::recipes()[static_cast<std::size_t>(recipe_index)]) {
    plan.ranks = ranks;
  }

  View view(const char* name, DType type, std::int64_t numel) {
    return build.whole(build.buffer(name, BufferRole::inputs, type, numel));
  }
  BlockCopy copy(Direction direction) const {
    BlockCopy result = of;
    result.direction = direction;
    return result;
  }
  recipe::Blocks blocks(Direction direction) const {
    return recipe::blocks_of(named, direction, {of.rows, of.columns});
  }
  View plane(const char* name, Direction direction) {
    const std::vector<std::uint32_t> zeros(static_cast<std::size_t>(blocks(direction).count()));
    const auto plane = recipe::scale_plane(named.scale_format, recipe::storage_of(named, direction),
                                           {blocks(direction).grid, zeros});
    const bool is_wide = named.scale_format == FormatId::f32;
    return view(name, is_wide ? DType::f32 : DType::u8, std::ssize(plane.bytes) / (is_wide ? 4 : 1));
  }
  PlanBuilder& op(const Action& action) { return build.op(action, {}, Stream::compute, all_ranks(plan)); }
};

View part(View whole, std::int64_t first, std::int64_t numel) {
  return {whole.buffer, whole.offset + first, numel};
}

/// Amaxes of three pieces, scales, codes of three pieces, numbers of three pieces.
void add_pieces(Chain& chain, RandomNumbers& random, View source, Direction direction, const Types& types) {
  const BlockCopy of = chain.copy(direction);
  const std::int64_t numel = source.numel, blocks = chain.blocks(direction).count();
  const View amaxes = chain.view("amaxes", DType::f32, blocks),
             factors = chain.view("factors", DType::f32, blocks);
  const View codes = chain.view("codes", types.row_codes, numel), plane = chain.plane("scales", direction);
  const View out = chain.view("numbers", types.out, numel);
  const auto first = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(numel) + 1));
  const auto second =
      first + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(numel - first) + 1));
  const std::int64_t cuts[] = {0, first, second, numel};
  const auto on_pieces = [&](auto add) {
    for (int i = 0; i < 3; ++i) add(cuts[i], cuts[i + 1] - cuts[i]);
  };
  chain.op(Fill{0}).on(amaxes);
  on_pieces([&](std::int64_t start, std::int64_t count) {
    chain.op(TakeAmax{of, start}).on(part(source, start, count)).on(amaxes);
  });
  chain.op(ScaleFromAmax{of}).on(amaxes).on(factors).on(plane);
  on_pieces([&](std::int64_t start, std::int64_t count) {
    chain.op(QuantizeBlocks{of, start})
        .on(part(source, start, count))
        .on(factors)
        .on(part(codes, start, count));
  });
  on_pieces([&](std::int64_t start, std::int64_t count) {
    chain.op(DequantizeBlocks{of, start}).on(part(codes, start, count)).on(plane).on(part(out, start, count));
  });
}

enum class Copies { both, row, column };

/// Both copies of the whole matrix at once, and the derived one where there is one.
void add_matrix(Chain& chain, View source, Copies copies, const Types& types) {
  const View none{source.buffer, 0, 0};
  View row_codes = none, row_plane = none, column_codes = none, column_plane = none;
  if (copies != Copies::column) {
    row_codes = chain.view("row codes", types.row_codes, source.numel);
    row_plane = chain.plane("row scales", Direction::row);
  }
  if (copies != Copies::row) {
    column_codes = chain.view("column codes", types.column_codes, source.numel);
    column_plane = chain.plane("column scales", Direction::column);
  }
  chain.op(QuantizeMatrix{chain.of});
  chain.build.on(source).on(row_codes).on(row_plane).on(column_codes).on(column_plane);
  if (copies == Copies::column || !is_derivable(chain.named.second_copy)) return;
  const View derived = chain.view("derived codes", types.row_codes, source.numel),
             plane = chain.plane("derived scales", Direction::column);
  chain.op(DeriveColumnCopy{chain.of}).on(row_codes).on(row_plane).on(derived).on(plane);
}

/// Random content of every buffer: numbers in the source, anything in what ops must write over.
void write_content(Twins& twins, const Chain& chain, RandomNumbers& random, View source) {
  for (Rank rank : all_ranks(chain.plan)) {
    for (std::size_t id = 0; id < chain.plan.buffers.size(); ++id) {
      const Buffer& buffer = chain.plan.buffers[id];
      const BufferId at{static_cast<std::int32_t>(id)};
      if (at == source.buffer) {
        const int binades = static_cast<int>(1 + random.below(12));
        twins.write(chain.plan, rank, {at, 0, buffer.numel},
                    random.bytes(buffer.dtype, buffer.numel, binades,
                                 random.below(2) == 0 ? Corners::all : Corners::finite));
      } else {
        std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.numel * bytes_of(buffer.dtype)));
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
        twins.write(chain.plan, rank, {at, 0, buffer.numel}, bytes);
      }
    }
  }
}

Types draw_types(RandomNumbers& random) {
  const DType codes = kFp8[random.below(2)];
  return {kFloats[random.below(3)], codes, random.below(6) == 0 ? kFp8[random.below(2)] : codes,
          kFloats[random.below(3)]};
}

/// The source is a view that begins `margin` elements into its buffer.
View source_of(Chain& chain, DType type, std::int64_t margin) {
  const std::int64_t numel = chain.of.rows * chain.of.columns;
  return {chain.build.buffer("source", BufferRole::inputs, type, margin + numel), margin, numel};
}

TEST_F(BlockOpsOnGpu, EveryRecipeByPieces) {
  Twins twins(one_gpu(), kHopper);
  RandomNumbers random(71);
  for (const std::int8_t index : one_level_recipes()) {
    for (const recipe::Extent& extent : kExtents) {
      for (const Direction direction : {Direction::row, Direction::column}) {
        Chain chain(index, extent, 1 + static_cast<int>(random.below(3)));
        const Types types = draw_types(random);
        const auto margin = static_cast<std::int64_t>(random.below(2) * random.below(9));
        const View source = source_of(chain, types.source, margin);
        add_pieces(chain, random, source, direction, types);
        write_content(twins, chain, random, source);
        twins.expect_equal_after(chain.plan, NanCodes::any);
        if (HasFailure()) {
          FAIL() << chain.named.name << " " << extent.rows << " x " << extent.columns << " "
                 << name_of(types.source);
        }
      }
    }
  }
}

TEST_F(BlockOpsOnGpu, EveryRecipeWhole) {
  Twins twins(one_gpu(), kHopper);
  RandomNumbers random(72);
  for (const std::int8_t index : one_level_recipes()) {
    for (const recipe::Extent& extent : kExtents) {
      for (const DType source_type : kFloats) {
        Chain chain(index, extent, 1 + static_cast<int>(random.below(3)));
        Types types = draw_types(random);
        types.source = source_type;
        const auto margin = static_cast<std::int64_t>(random.below(4) == 0 ? random.below(9) : 0);
        const View source = source_of(chain, types.source, margin);
        add_matrix(chain, source, static_cast<Copies>(random.below(5) % 3), types);
        write_content(twins, chain, random, source);
        twins.expect_equal_after(chain.plan, NanCodes::any);
        if (HasFailure()) {
          FAIL() << chain.named.name << " " << extent.rows << " x " << extent.columns << " "
                 << name_of(types.source);
        }
      }
    }
  }
}

TEST_F(BlockOpsOnGpu, MoreRanksThanALaunchTakes) {
  Twins twins(one_gpu(), kHopper);
  RandomNumbers random(73);
  for (const char* name : {"te-mxfp8", "te-block-1x128", "te-block-128x128", "te-current"}) {
    const auto index = static_cast<std::int8_t>(recipe::find_recipe(name) - recipe::recipes().data());
    Chain chain(index, {40, 144}, 70);
    const Types types{DType::bf16, DType::e4m3, DType::e4m3, DType::f32};
    const View source = source_of(chain, types.source, 0);
    add_pieces(chain, random, source, Direction::row, types);
    add_matrix(chain, source, Copies::both, types);
    write_content(twins, chain, random, source);
    twins.expect_equal_after(chain.plan, NanCodes::any);
    if (HasFailure()) FAIL() << name;
  }
}

/// An op on nothing changes nothing, or writes the scale of nothing.
TEST_F(BlockOpsOnGpu, EmptyMatrices) {
  Twins twins(one_gpu(), kHopper);
  RandomNumbers random(74);
  for (const std::int8_t index : one_level_recipes()) {
    for (const recipe::Extent& extent : {recipe::Extent{0, 128}, {128, 0}}) {
      Chain chain(index, extent, 2);
      const Types types{DType::bf16, DType::e4m3, DType::e4m3, DType::f32};
      const View source = source_of(chain, types.source, 1);
      if (chain.blocks(Direction::row).count() > 0) {
        add_pieces(chain, random, part(source, 0, 0), Direction::row, types);
      }
      write_content(twins, chain, random, source);
      twins.expect_equal_after(chain.plan, NanCodes::any);
      if (HasFailure()) FAIL() << chain.named.name;
    }
  }
}

TEST_F(BlockOpsOnGpu, DelayedScaling) {
  Twins twins(one_gpu(), kHopper);
  RandomNumbers random(75);
  for (const std::int64_t slots : {1, 2, 3, 16, 255, 256, 257, 1024}) {
    for (int kind = 0; kind < 8; ++kind) {
      Chain chain(0, {1, 1}, 3);
      const View amax = chain.view("amax", DType::f32, 1), history = chain.view("history", DType::f32, slots),
                 state = chain.view("scale", DType::f32, 2);
      chain.op(CloseDelayedStep{.most_recent = kind % 2 == 1,
                                .rolls_on_zero = kind / 2 % 2 == 1,
                                .margin = static_cast<std::int8_t>(kind / 4 * 3),
                                .largest = kind % 3 == 0 ? 57344.0f : 448.0f});
      chain.build.on(amax).on(history).on(state);
      for (Rank rank : all_ranks(chain.plan)) {
        std::vector<float> values(static_cast<std::size_t>(slots));
        for (float& value : values) value = std::abs(random.number(DType::f32, 20, Corners::all));
        const float corners[] = {std::abs(random.number(DType::f32, 40, Corners::all)), 0.0f, 0x1p-149f};
        const float of_step = corners[random.below(3)];
        const float before[] = {2, 0.5f};
        const auto bytes = [](std::span<const float> numbers) {
          const auto all = std::as_bytes(numbers);
          return std::vector<std::byte>(all.begin(), all.end());
        };
        twins.write(chain.plan, rank, amax, bytes({&of_step, 1}));
        twins.write(chain.plan, rank, history, bytes(values));
        twins.write(chain.plan, rank, state, bytes(before));
      }
      twins.expect_equal_after(chain.plan, NanCodes::any);
      if (HasFailure()) FAIL() << slots << " slots, kind " << kind;
    }
  }
}

/// A product of two matrices, each quantised by its recipe; the planes of scales are its operands as they
/// are.
struct Product {
  const char *a, *b;
  ScaleKind scales_a, scales_b;
  DType b_codes = DType::e4m3;
};
constexpr Product kProducts[] = {
    {"te-block-1x128", "te-block-128x128", ScaleKind::vector128, ScaleKind::block128x128},
    {"te-block-128x128", "te-block-1x128", ScaleKind::block128x128, ScaleKind::vector128},
    {"te-block-1x128-fp32", "te-block-1x128", ScaleKind::vector128, ScaleKind::vector128},
    {"te-block-1x128", "te-block-1x128", ScaleKind::vector128, ScaleKind::vector128, DType::e5m2},
    {"te-current", "te-current-pow2", ScaleKind::tensor, ScaleKind::tensor},
};

void compare_product(Twins& twins, RandomNumbers& random, const Product& product, const Matmul& sizes) {
  Matmul op = sizes;
  op.scales_a = product.scales_a;
  op.scales_b = product.scales_b;
  Plan plan;
  plan.ranks = 2;
  PlanBuilder build(plan);
  View codes[2], scales[2];
  for (const int side : {0, 1}) {
    const recipe::Extent extent{side == 0 ? op.m : op.n, op.k};
    Chain chain(static_cast<std::int8_t>(recipe::find_recipe(side == 0 ? product.a : product.b) -
                                         recipe::recipes().data()),
                extent, 2);
    const View laid_out = chain.plane("scales", Direction::row);
    const auto view = [&](const char* name, DType type, std::int64_t numel) {
      return build.whole(build.buffer(name, BufferRole::inputs, type, numel));
    };
    const View source = view("source", DType::bf16, extent.numel()), none{source.buffer, 0, 0};
    codes[side] = view("codes", side == 0 ? DType::e4m3 : product.b_codes, extent.numel());
    scales[side] = view("scales", DType::f32, laid_out.numel);
    build.op(QuantizeMatrix{chain.of}, {}, Stream::compute, all_ranks(plan));
    build.on(source).on(codes[side]).on(scales[side]).on(none).on(none);
  }
  const View d = build.whole(build.buffer("D", BufferRole::inputs, DType::f32, op.m * op.n));
  build.op(op, {}, Stream::compute, all_ranks(plan));
  build.on(codes[0]).on(codes[1]).on(scales[0]).on(scales[1]).on(d);
  for (std::size_t id = 0; id < plan.buffers.size(); ++id) {
    const Buffer& buffer = plan.buffers[id];
    for (Rank rank : all_ranks(plan)) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.numel * bytes_of(buffer.dtype)));
      if (buffer.dtype == DType::bf16) bytes = random.bytes(buffer.dtype, buffer.numel, 4, Corners::none);
      twins.write(plan, rank, {BufferId{static_cast<std::int32_t>(id)}, 0, buffer.numel}, bytes);
    }
  }
  twins.expect_equal_after(plan, NanCodes::any);
}

TEST_F(BlockOpsOnGpu, PlanesFeedTheLibrary) {
  CudaOptions options = one_gpu();
  options.emulate_below = 0;
  Twins twins(options, kHopper);
  RandomNumbers random(76);
  for (const Product& product : kProducts) {
    compare_product(twins, random, product, {.m = 256, .n = 128, .k = 512});
    ASSERT_FALSE(HasFailure()) << product.a << " x " << product.b;
    const std::vector<std::string> lines = gemm_algorithms(twins.cuda());
    ASSERT_FALSE(lines.empty());
    const std::string& line = lines.back();
    EXPECT_EQ(line.find("emulated"), std::string::npos) << line;
  }
}

TEST_F(BlockOpsOnGpu, PlanesOfOddSizesFeedOurKernel) {
  Twins twins(one_gpu(), kHopper);
  RandomNumbers random(77);
  for (const Product& product : kProducts) {
    for (const Matmul& sizes : {Matmul{.m = 17, .n = 5, .k = 130}, Matmul{.m = 130, .n = 3, .k = 1}}) {
      compare_product(twins, random, product, sizes);
      ASSERT_FALSE(HasFailure()) << product.a << " x " << product.b;
    }
  }
}

}  // namespace
}  // namespace shardcheck
