// Ops on blocks: the miniatures of fp8 3.8, the recorded quantisations, and every recipe by pieces against
// core/recipe as a whole.
#include "backends/cpu/block_ops.h"

#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/recipe/catalogue.h"
#include "core/recipe/quantize.h"
#include "tests/backends/rig.h"

namespace shardcheck::test {
namespace {

using recipe::Direction;
using recipe::Extent;
using recipe::Recipe;

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
Codes codes_of(const std::vector<float>& values) {
  Codes codes;
  for (const float value : values) codes.push_back(bits(value));
  return codes;
}
std::int8_t index_of(std::string_view name) {
  return static_cast<std::int8_t>(recipe::find_recipe(name) - recipe::recipes().data());
}

/// A matrix on one rank, and the operands of ops on it.
struct Bench {
  Rig rig{"cpu", "ideal", 1};
  const Recipe& named;
  BlockCopy of;

  Bench(std::string_view name, Extent extent)
      : named(*recipe::find_recipe(name)),
        of{.recipe = index_of(name), .rows = extent.rows, .columns = extent.columns} {}

  BlockCopy copy(Direction direction) const {
    BlockCopy result = of;
    result.direction = direction;
    return result;
  }
  recipe::Blocks blocks(Direction direction) const {
    return recipe::blocks_of(named, direction, {of.rows, of.columns});
  }
  /// As the recipe stores the scales, in bytes or in fp32.
  View plane(Direction direction) {
    const std::vector<std::uint32_t> zeros(static_cast<std::size_t>(blocks(direction).count()));
    const auto plane = recipe::scale_plane(named.scale_format, recipe::storage_of(named, direction),
                                           {blocks(direction).grid, zeros});
    const bool is_wide = named.scale_format == FormatId::f32;
    return rig.buffer(is_wide ? DType::f32 : DType::u8, std::ssize(plane.bytes) / (is_wide ? 4 : 1));
  }
  View filled(DType type, const Codes& codes) {
    const View view = rig.buffer(type, std::ssize(codes));
    rig.write(0, view, codes);
    return view;
  }
  /// A buffer that an op writes all of.
  View output(DType type, std::int64_t numel) {
    return filled(type, Codes(static_cast<std::size_t>(numel), 0x55));
  }
  View output_plane(Direction direction) {
    const View view = plane(direction);
    rig.write(0, view, Codes(static_cast<std::size_t>(view.numel), 0x55));
    return view;
  }
};

/// Both copies by one op.
struct Made {
  Codes row, row_scales, column, column_scales;
};
Made made(Bench& bench, DType source_type, const Codes& source, DType codes) {
  const View from = bench.filled(source_type, source);
  const View row = bench.output(codes, from.numel), row_scales = bench.output_plane(Direction::row);
  const View column = bench.output(codes, from.numel), column_scales = bench.output_plane(Direction::column);
  bench.rig.op(QuantizeMatrix{bench.of}).on(from).on(row).on(row_scales).on(column).on(column_scales);
  bench.rig.run();
  const auto read = [&](View view) { return bench.rig.read(0, view); };
  return {read(row), read(row_scales), read(column), read(column_scales)};
}
Made made(std::string_view name, Extent extent, const std::vector<float>& values) {
  Bench bench(name, extent);
  return made(bench, DType::f32, codes_of(values), DType::e4m3);
}

// ---- fp8 3.8.

TEST(BlockOps, MiniaturesPerTensor) {
  const Made m1 = made("te-current", {1, 3}, {12, 3, 0.01f});
  EXPECT_EQ(m1.row, (Codes{0x7E, 0x6E, 0x2C}));
  EXPECT_EQ(m1.row_scales, Codes{0x3CDB6DB7});
  EXPECT_EQ(made("te-current-pow2", {1, 1}, {300}).row, Codes{0x79});
  EXPECT_EQ(made("te-current-pow2", {1, 1}, {300}).row_scales, Codes{bits(1)});
  for (const char* name : {"te-current", "te-current-pow2"}) {
    const Made m3 = made(name, {1, 1}, {7});
    EXPECT_EQ(m3.row, Codes{0x7E});
    EXPECT_EQ(m3.row_scales, Codes{bits(0x1p-6f)});
    const Made m4 = made(name, {2, 1}, {0.0f, -0.0f});
    EXPECT_EQ(m4.row, (Codes{0x00, 0x80}));
    EXPECT_EQ(m4.row_scales, Codes{bits(1)});
  }
}

TEST(BlockOps, MiniatureOfBothDirections) {
  // m5: a row of 32 with amax 7168, whose other elements are alone in their columns.
  std::vector<float> values(32, 0.046875f);
  values[0] = 7168;
  const Made m5 = made("te-mxfp8", {1, 32}, values);
  EXPECT_EQ(m5.row_scales[0], 0x83u);
  EXPECT_EQ(m5.row[1], 0x02u);
  EXPECT_EQ(m5.column_scales[1], 0x72u);
  EXPECT_EQ(m5.column[1], 0x7Cu);
  EXPECT_EQ(m5.row_scales.size(), 128u * 4);
  EXPECT_EQ(m5.row_scales[1], 0u) << "padding";
  EXPECT_EQ(m5.column_scales[128], 0u) << "padding";
}

TEST(BlockOps, MiniatureOfDelayedScaling) {
  // m6: what is used is the scale before a step is closed.
  Bench bench("te-delayed", {1, 1});
  const View history = bench.filled(DType::f32, codes_of({0, 0, 0})),
             state = bench.filled(DType::f32, codes_of({1, 1}));
  std::vector<View> amaxes;
  for (const float amax : {3.5f, 0.75f, 12.0f, 12.0f, 0.03125f, std::numeric_limits<float>::infinity()})
    amaxes.push_back(bench.filled(DType::f32, {bits(amax)}));
  std::vector<std::uint32_t> used;
  for (const View amax : amaxes) {
    used.push_back(bench.rig.read(0, state)[0]);
    bench.rig.op(CloseDelayedStep{}).on(amax).on(history).on(state);
    const auto last = static_cast<std::int32_t>(bench.rig.plan.ops.size());
    bench.rig.backend().execute(bench.rig.plan, OpIndex{last - 1}, OpIndex{last});
  }
  const std::uint32_t of_12 = 0x42155555;
  EXPECT_EQ(used, (Codes{bits(1), bits(128), bits(128), of_12, of_12, of_12}));
  EXPECT_EQ(bench.rig.read(0, state), (Codes{of_12, 0x3CDB6DB7}));
  EXPECT_EQ(bench.rig.read(0, history), codes_of({0, 0.03125f, std::numeric_limits<float>::infinity()}));
}

// ---- Recorded quantisations.

std::string fnv(const Codes& codes, int bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::uint32_t code : codes) {
    for (int i = 0; i < bytes; ++i) hash = (hash ^ (code >> 8 * i & 0xFFu)) * 0x100000001b3u;
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

/// bf16 codes by the file's "pattern".
Codes pattern(std::uint64_t seed, Extent extent) {
  const auto mix = [](std::uint64_t i) {
    std::uint64_t z = i + 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  };
  Codes codes;
  const auto columns = static_cast<std::uint64_t>(extent.columns);
  for (std::uint64_t r = 0; r < static_cast<std::uint64_t>(extent.rows); ++r) {
    for (std::uint64_t c = 0; c < columns; ++c) {
      const std::uint64_t z = mix(seed * 0x100000001u + r * columns + c);
      const std::uint64_t tilts = mix(seed * 1000003 + r) % 7 + mix(seed * 2000003 + c) % 7 +
                                  mix(seed * 3000017 + r / 128 * 64 + c / 128) % 7;
      const std::uint64_t exponent = 124 - 9 + (z >> 8) % 6 + tilts;
      codes.push_back(static_cast<std::uint32_t>((z >> 63) << 15 | exponent << 7 | ((z >> 32) & 127)));
    }
  }
  return codes;
}

/// Our recipe for what the file calls one; nothing for FP4, which is no type of a buffer.
std::string_view name_in_catalogue(const nlohmann::json& recorded) {
  const std::string name = recorded.at("recipe");
  const bool pow2 = recorded.value("pow2", false);
  if (name == "current") return pow2 ? "te-current-pow2" : "te-current";
  if (name == "block_1x128") return pow2 ? "te-block-1x128" : "te-block-1x128-fp32";
  if (name == "block_128x128") return pow2 ? "te-block-128x128" : "te-block-128x128-fp32";
  return name == "mxfp8" ? "te-mxfp8" : "";
}

TEST(BlockOps, RecordedQuantisations) {
  std::ifstream file(std::string(SHARDCHECK_TEST_DATA) + "/fp8/quantize_cases.json");
  const auto all = nlohmann::json::parse(file);
  int compared = 0;
  for (const auto& recorded : all.at("cases")) {
    const std::string_view name = name_in_catalogue(recorded);
    if (name.empty()) continue;
    const Extent extent{recorded.at("rows"), recorded.at("cols")};
    Bench bench(name, extent);
    const DType codes = recorded.at("format") == "e5m2" ? DType::e5m2 : DType::e4m3;
    const Made m = made(bench, DType::bf16, pattern(recorded.at("seed"), extent), codes);
    const int scale_bytes = bench.named.scale_format == FormatId::f32 ? 4 : 1;
    const auto expect = [&](const char* field, const std::string& found) {
      if (!recorded.contains(field)) return;
      EXPECT_EQ(found, recorded.at(field).get<std::string>()) << recorded.at("name") << " " << field;
      ++compared;
    };
    expect("data_fnv64", fnv(m.row, 1));
    expect("transpose_fnv64", fnv(m.column, 1));
    expect("row_data_fnv64", fnv(m.row, 1));
    expect("col_data_transposed_fnv64", fnv(m.column, 1));
    expect("col_data_untransposed_fnv64", fnv(m.column, 1));
    expect("row_scale_inv_bits_fnv64", fnv(m.row_scales, scale_bytes));
    expect("col_scale_inv_bits_fnv64", fnv(m.column_scales, scale_bytes));
    expect("row_scale_padded_fnv64", fnv(m.row_scales, scale_bytes));
    expect("col_scale_padded_fnv64", fnv(m.column_scales, scale_bytes));
  }
  EXPECT_EQ(compared, 26);
}

// ---- Every recipe.

std::vector<float> random_values(Extent extent, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values;
  for (std::int64_t i = 0; i < extent.numel(); ++i) {
    const float magnitude =
        std::ldexp(1.0f + static_cast<float>(random() % 4096) / 4096, static_cast<int>(random() % 20) - 10);
    values.push_back(random() % 2 == 0 ? magnitude : -magnitude);
  }
  return values;
}
/// A plane's bytes as elements of the buffer that holds it.
Codes wide(const recipe::ScalePlane& plane) {
  const std::size_t size = plane.format == FormatId::f32 ? 4 : 1;
  Codes codes(plane.bytes.size() / size);
  for (std::size_t i = 0; i < codes.size(); ++i) std::memcpy(&codes[i], &plane.bytes[i * size], size);
  return codes;
}

View part(View whole, std::int64_t first, std::int64_t numel) {
  return {whole.buffer, whole.offset + first, numel};
}

void expect_pieces_make_the_whole(const Recipe& named, Direction direction, Extent extent) {
  Bench bench(named.name, extent);
  const std::vector<float> values = random_values(extent, 7);
  const recipe::QuantizedCopy whole =
      recipe::quantize(named, {.direction = direction, .elements = named.forward}, {extent, values});
  const BlockCopy of = bench.copy(direction);
  const std::int64_t blocks = bench.blocks(direction).count(), numel = extent.numel();
  const View source = bench.filled(DType::f32, codes_of(values));
  const View amaxes = bench.filled(DType::f32, Codes(static_cast<std::size_t>(blocks)));
  const View factors = bench.output(DType::f32, blocks), plane = bench.output_plane(direction);
  const View codes = bench.output(DType::e4m3, numel), numbers = bench.output(DType::f32, numel);
  const std::int64_t cuts[] = {0, numel / 3 + 5, numel / 3 + 6, numel};
  for (int i : {2, 0, 1})  // in any order
    bench.rig.op(TakeAmax{of, cuts[i]}).on(part(source, cuts[i], cuts[i + 1] - cuts[i])).on(amaxes);
  bench.rig.op(ScaleFromAmax{of}).on(amaxes).on(factors).on(plane);
  for (int i : {1, 2, 0}) {
    const std::int64_t first = cuts[i], count = cuts[i + 1] - first;
    bench.rig.op(QuantizeBlocks{of, first})
        .on(part(source, first, count))
        .on(factors)
        .on(part(codes, first, count));
    bench.rig.op(DequantizeBlocks{of, first})
        .on(part(codes, first, count))
        .on(plane)
        .on(part(numbers, first, count));
  }
  bench.rig.run();
  EXPECT_EQ(bench.rig.read(0, plane), wide(whole.scales));
  const Codes read = bench.rig.read(0, codes);
  std::vector<std::uint8_t> in_order(read.begin(), read.end());
  const auto scales = recipe::scales_of(named, named.forward,
                                        {.amaxes = recipe::amaxes_of(named, direction, {extent, values})});
  EXPECT_EQ(recipe::stored_copy(named, {.direction = direction, .elements = named.forward},
                                bench.blocks(direction), scales, in_order)
                .codes,
            whole.codes);
  EXPECT_EQ(bench.rig.read(0, numbers), codes_of(recipe::dequantize(named, whole)));
}

TEST(BlockOps, PiecesMakeTheWholeOfEveryRecipe) {
  for (const Recipe& named : recipe::recipes()) {
    if (named.formula == recipe::ScaleFormula::two_level) continue;
    SCOPED_TRACE(named.name);
    for (const Direction direction : {Direction::row, Direction::column})
      expect_pieces_make_the_whole(named, direction, {129, 70});
  }
}

TEST(BlockOps, ADerivedCopyIsTheMadeOne) {
  for (const Recipe& named : recipe::recipes()) {
    if (named.formula == recipe::ScaleFormula::two_level || !is_derivable(named.second_copy)) continue;
    SCOPED_TRACE(named.name);
    const Extent extent{130, 260};
    Bench bench(named.name, extent);
    const Made m = made(bench, DType::f32, codes_of(random_values(extent, 8)), DType::e4m3);
    Bench other(named.name, extent);
    const View row = other.filled(DType::e4m3, m.row), row_scales = other.plane(Direction::row);
    other.rig.write(0, row_scales, m.row_scales);
    const View column = other.output(DType::e4m3, extent.numel()),
               column_scales = other.output_plane(Direction::column);
    other.rig.op(DeriveColumnCopy{other.of}).on(row).on(row_scales).on(column).on(column_scales);
    other.rig.run();
    EXPECT_EQ(other.rig.read(0, column), m.column);
    EXPECT_EQ(other.rig.read(0, column_scales), m.column_scales);
  }
}

TEST(BlockOps, AnAmaxOnlyRises) {
  Bench bench("te-block-1x128", {2, 128});
  std::vector<float> values(256, 1.0f);
  values[130] = std::numeric_limits<float>::quiet_NaN();
  const View source = bench.filled(DType::f32, codes_of(values));
  const View amaxes = bench.filled(DType::f32, codes_of({3, 0.5f}));
  bench.rig.op(TakeAmax{bench.of, 0}).on(source).on(amaxes);
  bench.rig.run();
  EXPECT_EQ(bench.rig.read(0, amaxes), codes_of({3, 1}));
}

TEST(BlockOps, OneCopyAlone) {
  const Extent extent{64, 64};
  const std::vector<float> values = random_values(extent, 9);
  const Made both = made("te-mxfp8", extent, values);
  Bench bench("te-mxfp8", extent);
  const View source = bench.filled(DType::f32, codes_of(values)), none{source.buffer, 0, 0};
  const View column = bench.output(DType::e4m3, extent.numel()),
             scales = bench.output_plane(Direction::column);
  bench.rig.op(QuantizeMatrix{bench.of}).on(source).on(none).on(none).on(column).on(scales);
  bench.rig.run();
  EXPECT_EQ(bench.rig.read(0, column), both.column);
  EXPECT_EQ(bench.rig.read(0, scales), both.column_scales);
}

}  // namespace
}  // namespace shardcheck::test
