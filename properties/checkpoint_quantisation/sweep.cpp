#include "properties/checkpoint_quantisation/sweep.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>

#include "core/each_on_threads.h"
#include "core/integers.h"
#include "core/numerics/decode.h"
#include "core/recipe/fast_quantize.h"

namespace shardcheck::verify {
namespace {

using namespace recipe;

/// Blocks from all threads; a block that several strips share is one.
class Collector {
 public:
  explicit Collector(Sweep& sweep) : sweep_(sweep) {}

  void add(const std::vector<BrokenBlock>& found, bool is_shared) {
    const std::lock_guard lock(mutex_);
    for (const BrokenBlock& each : found) {
      sweep_.wrong_codes += each.wrong_codes;
      const auto [at, is_new] = kept_.emplace(each.block, each);
      if (!is_new) {
        merge(at->second, each);
        continue;
      }
      ++sweep_.broken_blocks;
      if (each.scale != each.right_scale) ++sweep_.wrong_scales;
    }
    // Blocks that several strips share are few: nothing of them is forgotten.
    while (!is_shared && kept_.size() > kKept) kept_.erase(std::prev(kept_.end()));
  }
  void finish() {
    for (const auto& [block, each] : kept_) {
      if (sweep_.broken.size() < kKept) sweep_.broken.push_back(each);
    }
  }

 private:
  static void merge(BrokenBlock& into, const BrokenBlock& other) {
    into.wrong_codes += other.wrong_codes;
    if (other.element < 0 || (into.element >= 0 && into.element < other.element)) return;
    into.element = other.element;
    into.code = other.code;
    into.right_code = other.right_code;
  }
  Sweep& sweep_;
  std::mutex mutex_;
  std::map<std::int64_t, BrokenBlock> kept_;
};

bool is_whole_height(const Blocks& blocks) {
  return blocks.grid.rows == 1 && blocks.height >= blocks.extent.rows;
}

/// NaN scales have no payload that matters.
bool same_scale(FormatId format, std::uint32_t a, std::uint32_t b) {
  return a == b || (format == FormatId::f32 && std::isnan(std::bit_cast<float>(a)) &&
                    std::isnan(std::bit_cast<float>(b)));
}

/// Codes that differ, by the block of the strip that they lie in.
std::map<std::int64_t, BrokenBlock> differing_codes(const Blocks& part, std::span<const std::uint8_t> right,
                                                    std::span<const std::uint8_t> codes) {
  std::map<std::int64_t, BrokenBlock> wrong;
  if (std::memcmp(right.data(), codes.data(), codes.size()) == 0) return wrong;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (right[i] == codes[i]) continue;
    const auto element = static_cast<std::int64_t>(i);
    BrokenBlock& block = wrong[part.of(element)];
    if (block.wrong_codes++ > 0) continue;
    block.element = element;
    block.code = codes[i];
    block.right_code = right[i];
  }
  return wrong;
}

/// Codes of numbers, and NaNs and infinities apart.
struct Specials {
  std::uint8_t largest = 0;
  std::int64_t count = 0, first = -1;
  std::uint8_t code = 0;
};
Specials specials_of(const Format& format, const Blocks& part, std::int64_t block,
                     std::span<const std::uint8_t> codes) {
  Specials found;
  const std::int64_t row = block / part.grid.columns * part.height;
  const std::int64_t column = block % part.grid.columns * part.width;
  for (std::int64_t r = row; r < std::min(row + part.height, part.extent.rows); ++r) {
    for (std::int64_t c = column; c < std::min(column + part.width, part.extent.columns); ++c) {
      const std::int64_t at = r * part.extent.columns + c;
      const std::uint8_t code = codes[static_cast<std::size_t>(at)];
      const auto magnitude = static_cast<std::uint8_t>(code & format.magnitude_mask());
      if (magnitude <= format.max_code) {
        found.largest = std::max(found.largest, magnitude);
      } else if (found.count++ == 0) {
        found.first = at;
        found.code = code;
      }
    }
  }
  return found;
}

std::string_view clause_of_scale(FormatId format, std::uint32_t stored) {
  return is_scale(format, stored) ? "F20" : "F21";
}

/// The judgement of codes and scales against each other.
struct Alone {
  const Subject& subject;
  ScaleImage image;

  /// A block by its largest code, or nothing where all is well. `codes` are those of the strip.
  std::optional<BrokenBlock> judged(const Blocks& part, std::int64_t block, std::uint32_t scale,
                                    std::uint8_t largest, std::span<const std::uint8_t> codes) const {
    const auto allowed = image.of(scale);
    const bool is_number = largest <= subject.elements().max_code;
    if (is_number && allowed && image.holds(*allowed, largest)) return std::nullopt;
    BrokenBlock broken{.scale = scale, .right_scale = scale, .largest = largest};
    if (!is_number) {
      const Specials specials = specials_of(subject.elements(), part, block, codes);
      broken.clause = "F8";
      broken.largest = specials.largest;
      broken.wrong_codes = specials.count;
      broken.element = specials.first;
      broken.code = specials.code;
    }
    if (!is_scale(subject.recipe().scale_format, scale)) {
      broken.clause = "F21";
      return broken;
    }
    if (!allowed) {
      broken.clause = "F20";
      return broken;
    }
    broken.allowed = *allowed;
    if (is_number) broken.clause = "F23";
    return broken;
  }
};

layout::Range strip_of(const Blocks& blocks, std::int64_t rows, std::int64_t strip) {
  const std::int64_t height = strip_rows(blocks);
  return {strip * height, std::min((strip + 1) * height, rows)};
}

/// Codes of whole rows in one block: largest ones of all strips first, NaNs left to a strip of their own.
void sweep_shared(const Alone& alone, const SweepOptions& options, std::int64_t rows, Collector& collector) {
  const Subject& subject = alone.subject;
  const Blocks& blocks = subject.blocks();
  std::vector<std::uint8_t> largest(static_cast<std::size_t>(blocks.count()));
  const auto mask = static_cast<std::uint8_t>(subject.elements().magnitude_mask());
  std::mutex mutex;
  each_on_threads({div_ceil(rows, strip_rows(blocks)), options.threads}, [&](std::int64_t strip) {
    if (options.stop != nullptr && *options.stop) return;
    const layout::Range range = strip_of(blocks, rows, strip);
    const std::vector<std::uint8_t> codes = subject.codes(range);
    const Blocks part = blocks_of_rows(blocks, range);
    std::vector<std::uint8_t> of_strip(largest.size());
    take_largest_codes(part, mask, codes, of_strip);
    std::vector<BrokenBlock> found;
    for (std::size_t b = 0; b < of_strip.size(); ++b) {
      if (of_strip[b] <= subject.elements().max_code) continue;
      const Specials specials = specials_of(subject.elements(), part, static_cast<std::int64_t>(b), codes);
      of_strip[b] = specials.largest;
      found.push_back({.block = static_cast<std::int64_t>(b),
                       .clause = "F8",
                       .scale = subject.scales()[b],
                       .right_scale = subject.scales()[b],
                       .wrong_codes = specials.count,
                       .element = range.lo * blocks.extent.columns + specials.first,
                       .code = specials.code});
    }
    collector.add(found, true);
    if (options.progress) options.progress(std::ssize(codes));
    const std::lock_guard lock(mutex);
    for (std::size_t b = 0; b < largest.size(); ++b) largest[b] = std::max(largest[b], of_strip[b]);
  });
  std::vector<BrokenBlock> found;
  for (std::size_t b = 0; b < largest.size(); ++b) {
    auto broken = alone.judged(blocks, static_cast<std::int64_t>(b), subject.scales()[b], largest[b], {});
    if (!broken) continue;
    broken->block = static_cast<std::int64_t>(b);
    found.push_back(*broken);
  }
  collector.add(found, true);
}

std::vector<BrokenBlock> judge_strip(const Alone& alone, layout::Range range,
                                     std::span<const std::uint8_t> codes) {
  const Subject& subject = alone.subject;
  const Blocks part = blocks_of_rows(subject.blocks(), range);
  const layout::Range numbers = block_range(subject.blocks(), range);
  std::vector<std::uint8_t> largest(static_cast<std::size_t>(part.count()));
  take_largest_codes(part, static_cast<std::uint8_t>(subject.elements().magnitude_mask()), codes, largest);
  std::vector<BrokenBlock> found;
  for (std::size_t b = 0; b < largest.size(); ++b) {
    const std::int64_t block = numbers.lo + static_cast<std::int64_t>(b);
    auto broken = alone.judged(part, static_cast<std::int64_t>(b),
                               subject.scales()[static_cast<std::size_t>(block)], largest[b], codes);
    if (!broken) continue;
    broken->block = block;
    if (broken->element >= 0) broken->element += range.lo * part.extent.columns;
    found.push_back(*broken);
  }
  return found;
}

}  // namespace

float scale_value(FormatId format, std::uint32_t stored) {
  const bool is_code = format == FormatId::f32 || stored < format_of(format).code_count();
  return is_code ? decode(format_of(format), stored) : std::numeric_limits<float>::quiet_NaN();
}

bool is_scale(FormatId format, std::uint32_t stored) {
  const float value = scale_value(format, stored);
  // A block scale of UE4M3 may be 0, for a block far below the tensor (fp8 3.5).
  return std::isfinite(value) && (value > 0 || (format == FormatId::ue4m3 && value == 0));
}

Sweep sweep_against_source(const Subject& subject, const SweepOptions& options, std::int64_t rows) {
  const Blocks& blocks = subject.blocks();
  Sweep sweep{.elements = rows * blocks.extent.columns, .blocks = block_range(blocks, {0, rows}).numel()};
  RowSource source = subject.source()->source();
  source.extent.rows = rows;
  Collector collector(sweep);
  const auto take = [&](const QuantizedStrip& strip) {
    const std::vector<std::uint8_t> codes = subject.codes(strip.rows);
    auto wrong = differing_codes(blocks_of_rows(blocks, strip.rows), strip.codes, codes);
    std::vector<BrokenBlock> found;
    for (std::size_t b = 0; b < strip.scales.size(); ++b) {
      const auto block = strip.blocks.lo + static_cast<std::int64_t>(b);
      const std::uint32_t scale = subject.scales()[static_cast<std::size_t>(block)];
      const bool is_right = same_scale(subject.recipe().scale_format, scale, strip.scales[b].stored);
      const auto at = wrong.find(static_cast<std::int64_t>(b));
      if (is_right && at == wrong.end()) continue;
      BrokenBlock broken = at == wrong.end() ? BrokenBlock{} : at->second;
      broken.block = block;
      broken.scale = scale;
      broken.right_scale = is_right ? scale : strip.scales[b].stored;
      broken.clause = is_right ? "F3" : clause_of_scale(subject.recipe().scale_format, scale);
      if (broken.element >= 0) broken.element += strip.rows.lo * blocks.extent.columns;
      found.push_back(broken);
    }
    if (!found.empty()) collector.add(found, is_whole_height(blocks));
    if (options.progress) options.progress(std::ssize(codes));
  };
  sweep.right_tensor_inverse = quantize_in_strips(subject.recipe(),
                                                  {.direction = subject.candidate().view.direction,
                                                   .elements = subject.pair().elements,
                                                   .threads = options.threads,
                                                   .stop = options.stop},
                                                  source, take)
                                   .inverse;
  collector.finish();
  return sweep;
}

Sweep sweep_alone(const Subject& subject, const SweepOptions& options, std::int64_t rows) {
  const Blocks& blocks = subject.blocks();
  Sweep sweep{.elements = rows * blocks.extent.columns,
              .blocks = block_range(blocks, {0, rows}).numel(),
              .right_tensor_inverse = subject.tensor_inverse()};
  const auto tensor = subject.tensor_scale();
  const Alone alone{subject,
                    ScaleImage(subject.recipe(), subject.pair().elements, tensor.value_or(TensorScale{}))};
  Collector collector(sweep);
  if (is_whole_height(blocks)) {
    sweep_shared(alone, options, rows, collector);
  } else {
    each_on_threads({div_ceil(rows, strip_rows(blocks)), options.threads}, [&](std::int64_t strip) {
      if (options.stop != nullptr && *options.stop) return;
      const layout::Range range = strip_of(blocks, rows, strip);
      const std::vector<std::uint8_t> codes = subject.codes(range);
      const auto found = judge_strip(alone, range, codes);
      if (!found.empty()) collector.add(found, false);
      if (options.progress) options.progress(std::ssize(codes));
    });
  }
  collector.finish();
  return sweep;
}

}  // namespace shardcheck::verify
