// Recorded quantisations (fp8 9): inputs by formula, outputs by hash and first entries. Every output that a
// case records is computed into a JSON value of the same shape and compared as that, so that a field which
// nothing computes is a disagreement and never passes unseen.
#include <fmt/format.h>

#include <bit>
#include <map>
#include <set>
#include <span>

#include "core/error.h"
#include "core/numerics/decode.h"
#include "core/recipe/catalogue.h"
#include "core/recipe/quantize.h"
#include "tools/shardcheck/conform/conform.h"
#include "tools/shardcheck/conform/json_fields.h"
#include "tools/shardcheck/conform/recorded_cast.h"

namespace shardcheck {
namespace {

using namespace recipe;
using nlohmann::json;

/// FNV-1a of 64 bits, in hexadecimal.
template <class Byte>
std::string fnv(std::span<const Byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const Byte byte : bytes) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}
template <class Byte>
std::string fnv(const std::vector<Byte>& bytes) {
  return fnv(std::span<const Byte>(bytes));
}

/// The finaliser of splitmix64, as the file's "mix" says.
std::uint64_t mix(std::uint64_t i) {
  std::uint64_t z = i + 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/// The bf16 numbers of the file's "pattern".
std::vector<float> pattern(std::uint64_t seed, Extent extent) {
  std::vector<float> values;
  const auto columns = static_cast<std::uint64_t>(extent.columns);
  for (std::uint64_t r = 0; r < static_cast<std::uint64_t>(extent.rows); ++r) {
    for (std::uint64_t c = 0; c < columns; ++c) {
      const std::uint64_t z = mix(seed * 0x100000001u + r * columns + c);
      const std::uint64_t tilts = mix(seed * 1000003 + r) % 7 + mix(seed * 2000003 + c) % 7 +
                                  mix(seed * 3000017 + r / 128 * 64 + c / 128) % 7;
      const std::uint64_t exponent = 124 - 9 + (z >> 8) % 6 + tilts;
      const std::uint64_t bits = (z >> 63) << 15 | exponent << 7 | ((z >> 32) & 127);
      values.push_back(decode(format_of(FormatId::bf16), static_cast<std::uint32_t>(bits)));
    }
  }
  return values;
}

json hex_of(float value) {
  return fmt::format("{:08x}", std::bit_cast<std::uint32_t>(value));
}
template <class Byte>
json hex_of(std::span<const Byte> bytes) {
  std::string digits;
  for (const Byte byte : bytes) digits += fmt::format("{:02x}", static_cast<std::uint8_t>(byte));
  return digits;
}
json shape_of(Extent extent) {
  return {extent.rows, extent.columns};
}
/// Rows of hexadecimal numbers.
template <class Value>
json grid_of(Extent extent, Value value_of) {
  json rows = json::array();
  for (std::int64_t r = 0; r < extent.rows; ++r) {
    rows.push_back(json::array());
    for (std::int64_t c = 0; c < extent.columns; ++c)
      rows.back().push_back(hex_of(value_of(static_cast<std::size_t>(r * extent.columns + c))));
  }
  return rows;
}
/// The first scales of a plane's first row, at most `most` and no padding.
json first_scales(const ScalePlane& plane, std::int64_t most) {
  const std::size_t size = plane.bytes.size() / static_cast<std::size_t>(plane.stored.numel());
  json list = json::array();
  for (std::int64_t i = 0; i < std::min(most, plane.stored.columns); ++i) {
    std::string digits;
    for (std::size_t byte = size; byte-- > 0;)
      digits += fmt::format(
          "{:02x}", static_cast<std::uint8_t>(plane.bytes[static_cast<std::size_t>(i) * size + byte]));
    list.push_back(digits);
  }
  return list;
}

/// A case quantised in both directions.
struct Quantised {
  const Recipe& recipe;
  FormatId elements;
  Extent extent;
  std::vector<float> values;
  std::vector<float> amaxes;  ///< of the row direction, as the scales
  Scales scales;
  QuantizedCopy row, column;
};

Quantised quantised(const Recipe& recipe, FormatId elements, Extent extent, std::vector<float> values) {
  const Matrix matrix{extent, values};
  const std::vector<float> amaxes = amaxes_of(recipe, Direction::row, matrix);
  return {.recipe = recipe,
          .elements = elements,
          .extent = extent,
          .values = values,
          .amaxes = amaxes,
          .scales =
              scales_of(recipe, elements, {.amaxes = amaxes, .tensor_amax = tensor_amax_of(recipe, amaxes)}),
          .row = quantize(recipe, {Direction::row, elements}, matrix),
          .column = quantize(recipe, {Direction::column, elements}, matrix)};
}

json per_tensor(const Quantised& q) {
  return {{"amax_bits", hex_of(q.amaxes[0])},
          {"scale_bits", hex_of(q.scales.blocks[0].factor)},
          {"scale_inv_bits", hex_of(q.scales.blocks[0].inverse)},
          {"data_fnv64", fnv(q.row.codes)},
          {"transpose_fnv64", fnv(q.column.codes)},
          {"first16", hex_of(std::span(q.row.codes).first(std::min<std::size_t>(16, q.row.codes.size())))}};
}

json lines_of_128(const Quantised& q) {
  return {{"row_data_fnv64", fnv(q.row.codes)},
          {"row_scale_inv_shape_gemm_ready", shape_of(q.row.scales.stored)},
          {"row_scale_inv_bits_fnv64", fnv(q.row.scales.bytes)},
          {"row_scale_inv_first4", first_scales(q.row.scales, 4)},
          {"col_data_transposed_fnv64", fnv(q.column.codes)},
          {"col_scale_inv_shape_gemm_ready", shape_of(q.column.scales.stored)},
          {"col_scale_inv_bits_fnv64", fnv(q.column.scales.bytes)},
          {"col_scale_inv_first4", first_scales(q.column.scales, 4)}};
}

/// Three equal contiguous pieces: what each knows alone, and what it casts with the scales of all.
json shards_of_3(const Quantised& q) {
  const Blocks blocks = blocks_of(q.recipe.block, Direction::row, q.extent);
  json shards = json::array();
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    const std::int64_t begin = q.extent.numel() * rank / 3, end = q.extent.numel() * (rank + 1) / 3;
    const Piece piece{begin, std::span(q.values).subspan(static_cast<std::size_t>(begin),
                                                         static_cast<std::size_t>(end - begin))};
    std::vector<float> partial(q.amaxes.size());
    take_amaxes(blocks, q.recipe.amax_nan, piece, partial);
    std::vector<std::uint8_t> codes(piece.values.size());
    cast_piece(q.recipe, q.elements, blocks, q.scales, piece, codes);
    shards.push_back({{"rank", rank},
                      {"start", begin},
                      {"end", end},
                      {"partial_amax_bits", grid_of(blocks.grid, [&](std::size_t i) { return partial[i]; })},
                      {"bytes_fnv64", fnv(codes)}});
  }
  return shards;
}

json tiles_of_128(const Quantised& q) {
  const Extent grid = q.row.scales.grid;
  return {{"amax_bits", grid_of(grid, [&](std::size_t i) { return q.amaxes[i]; })},
          {"scale_bits", grid_of(grid, [&](std::size_t i) { return q.scales.blocks[i].factor; })},
          {"scale_inv_bits", grid_of(grid, [&](std::size_t i) { return q.scales.blocks[i].inverse; })},
          {"row_scale_inv_shape", shape_of(q.row.scales.stored)},
          {"col_scale_inv_shape", shape_of(q.column.scales.stored)},
          {"data_fnv64", fnv(q.row.codes)},
          {"transpose_fnv64", fnv(q.column.codes)},
          {"shards_of_3", shards_of_3(q)}};
}

json mx(const Quantised& q) {
  return {{"row_data_fnv64", fnv(q.row.codes)},
          {"row_scale_shape", shape_of(q.row.scales.stored)},
          {"row_scale_compact_first8",
           first_scales(q.row.scales, std::min<std::int64_t>(8, q.row.scales.grid.columns))},
          {"row_scale_padded_fnv64", fnv(q.row.scales.bytes)},
          {"row_scale_swizzled_fnv64", fnv(swizzled(q.row.scales, Direction::row))},
          {"col_data_untransposed_fnv64", fnv(q.column.codes)},
          {"col_scale_shape", shape_of(q.column.scales.stored)},
          {"col_scale_row0_first8", first_scales(q.column.scales, 8)},
          {"col_scale_padded_fnv64", fnv(q.column.scales.bytes)},
          {"col_scale_swizzled_fnv64", fnv(swizzled(q.column.scales, Direction::column))}};
}

json two_levels(const Quantised& q) {
  const std::vector<std::uint8_t> packed = packed_fp4(q.row.codes);
  return {{"global_amax_bits", hex_of(tensor_amax_of(q.recipe, q.amaxes))},
          {"s_enc_bits", hex_of(q.scales.tensor_factor)},
          {"s_dec_bits", hex_of(q.scales.tensor_inverse)},
          {"block_scales", hex_of(std::span<const std::byte>(q.row.scales.bytes))},
          {"packed_low_nibble_first", hex_of(std::span<const std::uint8_t>(packed))}};
}

/// What a file calls a recipe, the recipe without and with powers of two, and its outputs.
struct Kind {
  std::string_view recorded, plain, power_of_two;
  json (*outputs)(const Quantised& q);
};
constexpr Kind kKinds[] = {
    {"current", "te-current", "te-current-pow2", per_tensor},
    {"block_1x128", "te-block-1x128-fp32", "te-block-1x128", lines_of_128},
    {"block_128x128", "te-block-128x128-fp32", "te-block-128x128", tiles_of_128},
    {"mxfp8", "te-mxfp8", "te-mxfp8", mx},
    {"nvfp4_row", "te-nvfp4", "te-nvfp4", two_levels},
};

const std::set<std::string, std::less<>> kQuestionFields = {"name", "recipe", "seed", "rows",
                                                            "cols", "format", "pow2"};

/// Every output that differs, in one sentence.
std::string differences(const JsonFields& entry) {
  const std::string recorded = entry.text("recipe");
  const auto kind = std::ranges::find(kKinds, recorded, &Kind::recorded);
  if (kind == std::end(kKinds))
    entry.refuse("recipe", "current, block_1x128, block_128x128, mxfp8 or nvfp4_row");
  const bool power = entry.has("pow2") && entry.boolean("pow2");
  const Recipe& recipe = *find_recipe(power ? kind->power_of_two : kind->plain);
  const auto elements = entry.has("format") ? recorded_format(entry.text("format")) : recipe.forward;
  if (!elements || format_of(*elements).width() > 8) entry.refuse("format", "e4m3fn or e5m2");
  const Extent extent{entry.integer("rows", 1), entry.integer("cols", 1)};
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  if (extent.rows > kMost / extent.columns) entry.refuse("rows", "a matrix of at most 2^24 elements");
  const auto seed = static_cast<std::uint64_t>(entry.integer("seed", 0));
  const json outputs = kind->outputs(quantised(recipe, *elements, extent, pattern(seed, extent)));

  std::string sentence;
  for (const auto& [name, value] : entry.object().items()) {
    if (kQuestionFields.contains(name)) continue;
    if (outputs.contains(name) && outputs[name] == value) continue;
    sentence += fmt::format("{}{}: recorded {}, computed {}", sentence.empty() ? "" : "; ", name,
                            value.is_structured() ? "a list" : value.dump(),
                            !outputs.contains(name)         ? "nothing"
                            : outputs[name].is_structured() ? "another"
                                                            : outputs[name].dump());
  }
  return sentence;
}

}  // namespace

std::optional<ConformReport> conform_quantised(const std::filesystem::path& json_file) {
  const json document = json_document(json_file);
  if (!document.is_object() || !document.contains("pattern") || !document.contains("cases"))
    return std::nullopt;
  ConformReport report{.file = json_file.string(), .kind = "recorded quantisations"};
  for (const JsonFields& entry : JsonFields(document, json_file.string() + ": ").objects("cases")) {
    std::string sentence = differences(entry);
    ++report.cases;
    if (sentence.empty()) {
      ++report.agreements;
    } else {
      report.disagreements.push_back({entry.text("name"), std::move(sentence)});
    }
  }
  return report;
}

}  // namespace shardcheck
