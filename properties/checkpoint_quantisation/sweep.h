// Sweeps over all blocks of a quantised copy, in strips on several threads: held against the source bit for
// bit, or, where there is none, codes and scales held against each other (F20, F21, F23). What is wrong comes
// back as blocks. Next: explanation.h, which says of what kind it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "properties/checkpoint_quantisation/scale_image.h"
#include "properties/checkpoint_quantisation/subject.h"

namespace shardcheck::verify {

/// A block with something wrong.
struct BrokenBlock {
  std::int64_t block = 0;                 ///< row-major over the grid
  std::string_view clause;                ///< that it breaks first
  std::uint32_t scale = 0;                ///< as it is stored
  std::uint32_t right_scale = 0;          ///< with a source: what it must be
  std::int64_t wrong_codes = 0;           ///< with a source; without one, codes of NaN
  std::int64_t element = -1;              ///< the first such code, by row-major position; -1: none
  std::uint8_t code = 0, right_code = 0;  ///< its value, and with a source what it must be
  std::uint8_t largest = 0;               ///< without a source: the largest code of the block, NaNs aside
  LargestCodes allowed;                   ///< and what it may be
};

struct Sweep {
  std::int64_t elements = 0, blocks = 0;
  std::int64_t broken_blocks = 0, wrong_scales = 0, wrong_codes = 0;
  std::vector<BrokenBlock> broken;  ///< the first kKept, ascending
  /// With a source, of two levels: what the tensor's inverse must be; else 1.
  float right_tensor_inverse = 1;
};
inline constexpr std::size_t kKept = 4096;

struct SweepOptions {
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;              ///< when it becomes true, the result is incomplete
  std::function<void(std::int64_t elements)> progress;  ///< so many more are done; from any thread
};

/// Of the first `rows` rows: all of them, or whole blocks of a recipe that does not look at the whole tensor.
/// The subject has a source.
Sweep sweep_against_source(const Subject& subject, const SweepOptions& options, std::int64_t rows);

/// Codes and scales against each other, of the first `rows` rows: all of them, or whole blocks.
Sweep sweep_alone(const Subject& subject, const SweepOptions& options, std::int64_t rows);

/// What a stored scale means; NaN for a byte that is no code of the format (UE4M3 has no sign).
float scale_value(FormatId format, std::uint32_t stored);

/// Whether a stored scale is a finite number above zero (F21).
bool is_scale(FormatId format, std::uint32_t stored);

}  // namespace shardcheck::verify
