#include "backends/faulty/block_faults.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "core/assert.h"
#include "core/numerics/encode.h"
#include "core/numerics/narrow.h"
#include "core/numerics/same_code.h"
#include "core/recipe/catalogue.h"
#include "core/recipe/quantize.h"

namespace shardcheck::faulty {
namespace {

using Bytes = std::vector<std::byte>;
using recipe::Direction;

/// One op of a plan, with its operands as bytes.
struct Site {
  Backend& inner;
  const Plan& plan;
  OpIndex index;
  const Op& op = plan.ops[static_cast<std::size_t>(index.value)];

  void execute() const { inner.execute(plan, index, OpIndex{index.value + 1}); }
  std::size_t ranks() const { return static_cast<std::size_t>(op.ranks); }
  View view(int operand, std::size_t i) const { return plan.operand(op, operand)[i]; }
  DType type(int operand, std::size_t i) const { return plan.buffer(view(operand, i).buffer).dtype; }

  Bytes read(int operand, std::size_t i) const {
    Bytes bytes(static_cast<std::size_t>(view(operand, i).numel * bytes_of(type(operand, i))));
    if (!bytes.empty()) inner.read(plan, plan.ranks_of(op)[i], view(operand, i), bytes);
    return bytes;
  }
  void write(int operand, std::size_t i, const Bytes& bytes) const {
    if (!bytes.empty()) inner.write(plan, plan.ranks_of(op)[i], view(operand, i), bytes);
  }
  /// Replaces an operand on every rank by change(its bytes, position).
  template <class Change>
  void change(int operand, Change change) const {
    for (std::size_t i = 0; i < ranks(); ++i) write(operand, i, change(read(operand, i), i));
  }
};

const recipe::Recipe& recipe_of(const BlockCopy& of) {
  return recipe::recipes()[static_cast<std::size_t>(of.recipe)];
}

template <class Number, class Change>
Bytes each(Bytes bytes, Change change) {
  for (std::size_t at = 0; at + sizeof(Number) <= bytes.size(); at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, &bytes[at], sizeof number);
    number = change(number);
    std::memcpy(&bytes[at], &number, sizeof number);
  }
  return bytes;
}

/// A plane of E8M0 scales as products read it.
Bytes swizzled_plane(const BlockCopy& of, const Bytes& plane) {
  const recipe::ScaleStorage& storage = recipe::storage_of(recipe_of(of), of.direction);
  const recipe::Blocks blocks = recipe::blocks_of(recipe_of(of), of.direction, {of.rows, of.columns});
  const std::vector<std::uint32_t> zeros(static_cast<std::size_t>(blocks.count()));
  recipe::ScalePlane laid_out = recipe::scale_plane(FormatId::e8m0, storage, {blocks.grid, zeros});
  SC_ASSERT(laid_out.bytes.size() == plane.size(), "a plane of scales has another size");
  laid_out.bytes = plane;
  return recipe::swizzled(laid_out, of.direction);
}

}  // namespace

bool is_take_amax(const Action& action) {
  return std::holds_alternative<TakeAmax>(action);
}
bool is_scale_from_amax(const Action& action) {
  return std::holds_alternative<ScaleFromAmax>(action);
}
bool is_quantize_blocks(const Action& action) {
  return std::holds_alternative<QuantizeBlocks>(action);
}
bool makes_two_copies(const Action& action) {
  const auto* quantize = std::get_if<QuantizeMatrix>(&action);
  return quantize != nullptr && !recipe::is_derivable(recipe_of(quantize->of).second_copy);
}
bool is_derive_column_copy(const Action& action) {
  return std::holds_alternative<DeriveColumnCopy>(action);
}
bool stores_scales_to_swizzle(const Action& action) {
  if (const auto* scale = std::get_if<ScaleFromAmax>(&action))
    return recipe_of(scale->of).swizzled_for_products;
  const auto* quantize = std::get_if<QuantizeMatrix>(&action);
  return quantize != nullptr && recipe_of(quantize->of).swizzled_for_products;
}
bool is_close_delayed_step(const Action& action) {
  return std::holds_alternative<CloseDelayedStep>(action);
}
bool is_maximum(const Action& action) {
  const auto* communicate = std::get_if<Communicate>(&action);
  return communicate != nullptr && communicate->collective != Collective::all_gather &&
         communicate->reduction == Reduction::maximum;
}

/// The op runs on a piece that ends a row earlier; a piece of a row or less, an element earlier.
void amax_without_last_row(Backend& inner, const Plan& plan, OpIndex index) {
  Plan shorter = plan;
  const Op& op = shorter.ops[static_cast<std::size_t>(index.value)];
  const std::int64_t columns = std::get<TakeAmax>(op.action).of.columns;
  for (std::int32_t i = 0; i < op.ranks; ++i) {
    View& piece = shorter.view_arena[static_cast<std::size_t>(op.first_view + i)];
    piece.numel -= std::min<std::int64_t>(piece.numel, piece.numel > columns ? columns : 1);
  }
  inner.execute(shorter, index, OpIndex{index.value + 1});
}

/// Half the factor and twice the stored scale: consistent, and a bit of every element is lost.
void scale_rounded_up(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  const recipe::Recipe& named = recipe_of(std::get<ScaleFromAmax>(site.op.action).of);
  site.execute();
  site.change(1, [&](Bytes factors, std::size_t) {
    return each<float>(std::move(factors), [](float factor) { return factor * 0.5f; });
  });
  site.change(2, [&](Bytes plane, std::size_t) {
    if (named.scale_format == FormatId::f32)
      return each<float>(std::move(plane), [](float stored) { return stored * 2; });
    // Padding and NaN stay.
    return each<std::uint8_t>(std::move(plane), [](std::uint8_t code) {
      return static_cast<std::uint8_t>(code == 0 || code >= 0xFE ? code : code + 1);
    });
  });
}

void double_rounded_codes(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  const auto& quantize = std::get<QuantizeBlocks>(site.op.action);
  const recipe::Recipe& named = recipe_of(quantize.of);
  const recipe::Blocks blocks =
      recipe::blocks_of(named, quantize.of.direction, {quantize.of.rows, quantize.of.columns});
  site.execute();
  site.change(2, [&](Bytes codes, std::size_t i) {
    const Bytes source = site.read(0, i), factors = site.read(1, i);
    const Format& format = format_of(*format_id_of(site.type(2, i)));
    for (std::size_t e = 0; e < codes.size(); ++e) {
      const auto at = static_cast<std::int64_t>(e);
      const auto x = static_cast<float>(value_of_code(site.type(0, i), code_at(site.type(0, i), source, at)));
      const auto factor = static_cast<float>(
          value_of_code(DType::f32, code_at(DType::f32, factors, blocks.of(quantize.start + at))));
      const float scaled = named.use == recipe::ScaleUse::divide ? x / factor : x * factor;
      const float through_bf16 = bf16_to_f32(f32_to_bf16(scaled));
      codes[e] =
          static_cast<std::byte>(encode(format, named.cast, std::bit_cast<std::uint32_t>(through_bf16)));
    }
    return codes;
  });
}

void column_of_row_codes(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  const BlockCopy& of = std::get<QuantizeMatrix>(site.op.action).of;
  const bool turns = recipe_of(of).second_copy != recipe::SecondCopy::requantised_in_place;
  site.execute();
  site.change(3, [&](Bytes column, std::size_t i) {
    const Bytes row = site.read(1, i);
    if (row.size() != column.size()) return column;  // one of them is not made
    for (std::size_t e = 0; e < row.size(); ++e) {
      const auto columns = static_cast<std::size_t>(of.columns), rows = static_cast<std::size_t>(of.rows);
      column[turns ? e % columns * rows + e / columns : e] = row[e];
    }
    return column;
  });
}

void grid_not_transposed(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  site.execute();
  site.change(3, [&](Bytes column, std::size_t i) {
    const Bytes row = site.read(1, i);
    std::copy_n(row.begin(), std::min(row.size(), column.size()), column.begin());
    return column;
  });
}

void swizzled_scales(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  site.execute();
  const auto swizzle = [&](int operand, const BlockCopy& of) {
    site.change(operand, [&](const Bytes& plane, std::size_t) {
      return plane.empty() ? plane : swizzled_plane(of, plane);
    });
  };
  if (const auto* scale = std::get_if<ScaleFromAmax>(&site.op.action)) return swizzle(2, scale->of);
  BlockCopy of = std::get<QuantizeMatrix>(site.op.action).of;
  for (const Direction direction : {Direction::row, Direction::column}) {
    of.direction = direction;
    swizzle(direction == Direction::row ? 2 : 4, of);
  }
}

void frozen_history(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  std::vector<Bytes> before;
  for (std::size_t i = 0; i < site.ranks(); ++i) before.push_back(site.read(1, i));
  site.execute();
  site.change(1, [&](const Bytes&, std::size_t i) { return before[i]; });
}

/// Every rank keeps its own: in a reduce-scatter, its part of it.
void lose_maximum(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  const auto& communicate = std::get<Communicate>(site.op.action);
  const bool scatters = communicate.collective == Collective::reduce_scatter;
  std::vector<Bytes> own;
  for (std::size_t i = 0; i < site.ranks(); ++i) own.push_back(site.read(0, i));
  site.execute();
  site.change(1, [&](Bytes output, std::size_t i) {
    const std::size_t part = scatters ? i % static_cast<std::size_t>(communicate.group) : 0;
    std::copy_n(own[i].begin() + static_cast<std::ptrdiff_t>(part * output.size()), output.size(),
                output.begin());
    return output;
  });
}

}  // namespace shardcheck::faulty
