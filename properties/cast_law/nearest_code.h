// The nearest code by definition: a table of values and the midpoints between them. It shares nothing with
// the integer rule (core/numerics/encode.h), with the kernels or with the conversion instructions: it is the
// third leg that casts are judged by (fp8 2.10). Read next: cast_law.h.
#pragma once

#include <cstdint>
#include <vector>

#include "core/numerics/cast_policy.h"
#include "core/numerics/format.h"

namespace shardcheck {

class NearestCode {
 public:
  /// An 8-bit format with signs: E4M3 or E5M2.
  NearestCode(const Format& format, const CastPolicy& policy);

  /// The code of an fp32 number given by its bits.
  std::uint8_t operator()(std::uint32_t f32_bits) const;

  /// Inputs of one sign that share a code: magnitudes (as bits) from `first` up to the next run's. The last
  /// three are overflow, infinity and NaN.
  struct Run {
    std::uint32_t first;
    std::uint8_t code[2];  ///< of positive and of negative sources
  };
  const std::vector<Run>& runs() const { return runs_; }

 private:
  std::vector<Run> runs_;
};

}  // namespace shardcheck
