#include "core/recipe/strips.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/assert.h"
#include "core/each_on_threads.h"
#include "core/integers.h"
#include "core/recipe/fast_quantize.h"

namespace shardcheck::recipe {
namespace {

constexpr std::int64_t kStripElements = std::int64_t{1} << 18;  ///< 1 MB of fp32: a core's cache holds it

/// Numbers that nobody reads before they are written.
template <class Number>
struct Buffer {
  explicit Buffer(std::int64_t count)
      : numbers(std::make_unique_for_overwrite<Number[]>(static_cast<std::size_t>(count))),
        span(numbers.get(), static_cast<std::size_t>(count)) {}
  std::unique_ptr<Number[]> numbers;
  std::span<Number> span;
};

bool is_whole_height(const Blocks& blocks) {
  return blocks.grid.rows == 1 && blocks.height >= blocks.extent.rows;
}

/// One matrix on its way.
struct Walk {
  const Recipe& recipe;
  const StripOptions& options;
  const RowSource& source;
  Blocks blocks;
  FastQuantizer quantizer;

  std::int64_t rows_of_strip() const { return strip_rows(blocks); }
  std::int64_t strips() const { return div_ceil(source.extent.rows, rows_of_strip()); }
  layout::Range rows(std::int64_t strip) const {
    const std::int64_t lo = strip * rows_of_strip();
    return {lo, std::min(lo + rows_of_strip(), source.extent.rows)};
  }
  Buffer<float> values(layout::Range rows) const {
    Buffer<float> values(rows.numel() * source.extent.columns);
    source.read(rows, values.span);
    return values;
  }
  std::vector<float> amaxes(layout::Range rows, std::span<const float> values) const {
    const Blocks part = blocks_of_rows(blocks, rows);
    std::vector<float> amaxes(static_cast<std::size_t>(part.count()));
    quantizer.take_amaxes(part, values, amaxes);
    return amaxes;
  }
  void hand_over(layout::Range rows, std::span<const BlockScale> scales, std::span<const float> values,
                 const std::function<void(const QuantizedStrip&)>& take) const {
    const Buffer<std::uint8_t> codes(std::ssize(values));
    quantizer.cast(blocks_of_rows(blocks, rows), scales, values, codes.span);
    take({rows, block_range(blocks, rows), scales, codes.span, values});
  }
  template <class Body>
  void each_strip(Body body) const {
    each_on_threads({strips(), options.threads}, [&](std::int64_t strip) {
      if (options.stop == nullptr || !*options.stop) body(rows(strip));
    });
  }
};

/// The amaxes of all blocks, strips combined.
std::vector<float> all_amaxes(const Walk& walk) {
  std::vector<float> all(static_cast<std::size_t>(walk.blocks.count()));
  std::mutex mutex;
  walk.each_strip([&](layout::Range rows) {
    const std::vector<float> part = walk.amaxes(rows, walk.values(rows).span);
    const layout::Range where = block_range(walk.blocks, rows);
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < part.size(); ++i) {
      float& amax = all[static_cast<std::size_t>(where.lo) + i];
      amax = larger(walk.recipe.amax_nan, amax, part[i]);
    }
  });
  return all;
}

}  // namespace

std::int64_t strip_rows(const Blocks& blocks) {
  const std::int64_t height = is_whole_height(blocks) ? 1 : blocks.height;
  const std::int64_t wanted = kStripElements / std::max<std::int64_t>(blocks.extent.columns, 1);
  return std::max<std::int64_t>(wanted / height, 1) * height;
}

Blocks blocks_of_rows(const Blocks& whole, layout::Range rows) {
  Blocks part = whole;
  part.extent.rows = rows.numel();
  if (is_whole_height(whole)) {
    part.height = std::max<std::int64_t>(rows.numel(), 1);
  } else {
    SC_ASSERT(rows.lo % whole.height == 0, "rows begin inside a block");
    part.grid.rows = div_ceil(rows.numel(), whole.height);
  }
  return part;
}

layout::Range block_range(const Blocks& whole, layout::Range rows) {
  if (is_whole_height(whole)) return {0, whole.count()};
  return {rows.lo / whole.height * whole.grid.columns, div_ceil(rows.hi, whole.height) * whole.grid.columns};
}

TensorScale quantize_in_strips(const Recipe& recipe, const StripOptions& options, const RowSource& source,
                               const std::function<void(const QuantizedStrip& strip)>& take) {
  SC_ASSERT(recipe.formula != ScaleFormula::given, "a given scale is not a function of the matrix");
  const Walk walk{recipe, options, source, blocks_of(recipe, options.direction, source.extent),
                  FastQuantizer(recipe, options.elements)};
  const bool needs_all =
      recipe.formula == ScaleFormula::two_level || (is_whole_height(walk.blocks) && walk.strips() > 1);
  if (!needs_all) {
    walk.each_strip([&](layout::Range rows) {
      const Buffer<float> values = walk.values(rows);
      const std::vector<float> amaxes = walk.amaxes(rows, values.span);
      walk.hand_over(rows, walk.quantizer.scales(amaxes), values.span, take);
    });
    return {};
  }
  const std::vector<float> amaxes = all_amaxes(walk);
  const Scales scales =
      scales_of(recipe, options.elements, {.amaxes = amaxes, .tensor_amax = tensor_amax_of(recipe, amaxes)});
  walk.each_strip([&](layout::Range rows) {
    const layout::Range where = block_range(walk.blocks, rows);
    walk.hand_over(rows,
                   std::span(scales.blocks)
                       .subspan(static_cast<std::size_t>(where.lo), static_cast<std::size_t>(where.numel())),
                   walk.values(rows).span, take);
  });
  return {scales.tensor_factor, scales.tensor_inverse};
}

}  // namespace shardcheck::recipe
