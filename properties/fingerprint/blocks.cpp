#include "properties/fingerprint/blocks.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/numerics/decode.h"
#include "core/numerics/same_code.h"
#include "core/recipe/catalogue.h"
#include "core/recipe/quantize.h"
#include "properties/fingerprint/one_op.h"
#include "properties/generate/draw.h"

namespace shardcheck {
namespace {

using namespace recipe;
constexpr Extent kExtent{40, 160};  ///< no tile divides it
constexpr std::array kRecipes = {"te-current", "te-block-1x128", "te-block-128x128", "te-mxfp8"};
constexpr std::int64_t kStart = 7;  ///< of a piece, inside a block

/// bf16 numbers over 16 binades, with more bits than any FP8 format has.
std::vector<std::uint32_t> source_codes() {
  Draw draw(0xB10C, 0);
  std::vector<std::uint32_t> codes;
  for (std::int64_t i = 0; i < kExtent.numel(); ++i) {
    const auto exponent = static_cast<std::uint32_t>(119 + draw.below(16));
    codes.push_back((draw.chance(50) ? 0x8000u : 0u) | exponent << 7 | (draw.word() & 0x7Fu));
  }
  return codes;
}
std::vector<float> values_of(std::span<const std::uint32_t> codes) {
  std::vector<float> values;
  for (const std::uint32_t code : codes) values.push_back(decode(format_of(FormatId::bf16), code));
  return values;
}

OpOperand bytes_on_one_rank(DType type, std::span<const std::byte> bytes) {
  return {type, {{bytes.begin(), bytes.end()}}};
}
OpOperand floats_on_one_rank(std::span<const float> values) {
  return bytes_on_one_rank(DType::f32, std::as_bytes(values));
}
OpOperand codes_on_one_rank(std::span<const std::uint8_t> codes) {
  return bytes_on_one_rank(DType::e4m3, std::as_bytes(codes));
}
/// What an op must write over.
OpOperand blank(const OpOperand& like) {
  return {like.type, {std::vector<std::byte>(like.ranks[0].size(), std::byte{0x5A})}};
}
OpOperand plane_on_one_rank(const ScalePlane& plane) {
  return bytes_on_one_rank(plane.format == FormatId::f32 ? DType::f32 : DType::u8, plane.bytes);
}

/// An output beside its definition.
struct Output {
  int operand;
  OpOperand defined;
};

/// One op, whose operands are as given where they are read, and blank where they are written.
Fact compared(Backend& backend, const char* name, const Action& action, std::vector<OpOperand> operands,
              const std::vector<Output>& outputs) {
  const std::vector<OpOperand> found = execute_whole_op(backend, action, operands);
  Fact fact{"", name, "as defined", "", {}};
  Probe probe{name, {}, {}};
  std::int64_t elements = 0, differ = 0;
  for (const Output& output : outputs) {
    const OpOperand& actual = found[static_cast<std::size_t>(output.operand)];
    if (actual.ranks[0].empty()) continue;  // another process has it
    const Differing differing_codes = differing(actual.type, {output.defined.ranks[0], actual.ranks[0]});
    elements += std::ssize(actual.ranks[0]) / bytes_of(actual.type);
    differ += differing_codes.count;
    if (differing_codes.count == 0) continue;
    const auto code = [&](const OpOperand& side) {
      return hex(side.type, code_at(side.type, side.ranks[0], differing_codes.first));
    };
    const std::string where = fmt::format("operand {}, element {}", output.operand, differing_codes.first);
    probe.inputs.push_back({where + ", defined", std::string(name_of(actual.type)), {code(output.defined)}});
    probe.outputs.push_back({where, std::string(name_of(actual.type)), {code(actual)}});
  }
  fact.how = fmt::format("{} elements beside their definition", elements);
  if (differ > 0) {
    fact.value = fmt::format("another: {} of {} elements", differ, elements);
    fact.probes.push_back(std::move(probe));
  }
  return fact;
}

/// The definitions of one recipe on the matrix.
struct Defined {
  const Recipe& named;
  BlockCopy of;
  Blocks blocks;
  std::vector<std::uint32_t> codes = source_codes();
  std::vector<float> values = values_of(codes);
  QuantizedCopy row, column;
  std::vector<float> amaxes, factors;

  explicit Defined(std::string_view name)
      : named(*find_recipe(name)),
        of{.recipe = static_cast<std::int8_t>(&named - recipes().data()),
           .rows = kExtent.rows,
           .columns = kExtent.columns},
        blocks(blocks_of(named, Direction::row, kExtent)),
        row(quantize(named, {.direction = Direction::row}, {kExtent, values})),
        column(quantize(named, {.direction = Direction::column}, {kExtent, values})),
        amaxes(amaxes_of(named, Direction::row, {kExtent, values})) {
    for (const BlockScale& scale : scales_of(named, FormatId::e4m3, {.amaxes = amaxes}).blocks)
      factors.push_back(scale.factor);
  }
};

Fact amax_fact(Backend& backend, const Defined& d) {
  const std::int64_t count = kExtent.numel() - kStart;
  std::vector<float> amaxes(d.amaxes.size());
  take_amaxes(d.blocks, d.named.amax_nan, {kStart, std::span(d.values).subspan(kStart)}, amaxes);
  const OpOperand piece =
      on_one_rank(DType::bf16, std::span(d.codes).subspan(kStart, static_cast<std::size_t>(count)));
  const OpOperand zeros = floats_on_one_rank(std::vector<float>(d.amaxes.size()));
  return compared(backend, "amaxes of a piece", TakeAmax{d.of, kStart}, {piece, zeros},
                  {{1, floats_on_one_rank(amaxes)}});
}

Fact nan_fact(Backend& backend, const Defined& d) {
  std::vector<std::uint32_t> codes = d.codes;
  codes[3] = format_of(FormatId::bf16).quiet_nan_code;
  const std::array operands = {on_one_rank(DType::bf16, codes),
                               floats_on_one_rank(std::vector<float>(d.amaxes.size()))};
  const OpOperand found = execute_op(backend, TakeAmax{d.of, 0}, operands);
  Fact fact{"", "NaN in an amax", "", "one NaN in the first block", {}};
  if (found.ranks[0].empty()) return fact;
  const auto amax = std::bit_cast<float>(code_at(DType::f32, found.ranks[0], 0));
  fact.value = std::isnan(amax) ? "propagates" : "dropped";
  return fact;
}

std::vector<Fact> facts_of(Backend& backend, std::string_view name) {
  const Defined d(name);
  const OpOperand source = on_one_rank(DType::bf16, d.codes), amaxes = floats_on_one_rank(d.amaxes),
                  factors = floats_on_one_rank(d.factors);
  const OpOperand row = codes_on_one_rank(d.row.codes), row_scales = plane_on_one_rank(d.row.scales);
  const OpOperand column = codes_on_one_rank(d.column.codes),
                  column_scales = plane_on_one_rank(d.column.scales);
  const OpOperand numbers = floats_on_one_rank(dequantize(d.named, d.row));
  std::vector<Fact> facts = {
      amax_fact(backend, d),
      nan_fact(backend, d),
      compared(backend, "scales", ScaleFromAmax{d.of}, {amaxes, blank(factors), blank(row_scales)},
               {{1, factors}, {2, row_scales}}),
      compared(backend, "codes", QuantizeBlocks{d.of, 0}, {source, factors, blank(row)}, {{2, row}}),
      compared(backend, "numbers", DequantizeBlocks{d.of, 0}, {row, row_scales, blank(numbers)},
               {{2, numbers}}),
      compared(backend, "both copies", QuantizeMatrix{d.of},
               {source, blank(row), blank(row_scales), blank(column), blank(column_scales)},
               {{1, row}, {2, row_scales}, {3, column}, {4, column_scales}})};
  if (is_derivable(d.named.second_copy)) {
    facts.push_back(compared(backend, "derived column copy", DeriveColumnCopy{d.of},
                             {row, row_scales, blank(column), blank(column_scales)},
                             {{2, column}, {3, column_scales}}));
  }
  for (Fact& fact : facts) fact.subject = name;
  return facts;
}

Fact delayed_fact(Backend& backend) {
  const auto floats = [](std::initializer_list<float> values) {
    return floats_on_one_rank(std::vector<float>(values));
  };
  Fact fact = compared(backend, "history and scale", CloseDelayedStep{},
                       {floats({7}), floats({1, 3.5f, 0.75f}), floats({1, 1})},
                       {{1, floats({0, 0.75f, 7})}, {2, floats({64, 0x1p-6f})}});
  fact.subject = "delayed scaling";
  return fact;
}

}  // namespace

std::vector<Fact> observe_block_ops(Backend& backend) {
  std::vector<Fact> facts;
  for (const char* name : kRecipes) {
    for (Fact& fact : facts_of(backend, name)) facts.push_back(std::move(fact));
  }
  facts.push_back(delayed_fact(backend));
  return facts;
}

}  // namespace shardcheck
