// The nearest code by definition: a table of values and the midpoints between them. It shares nothing with
// the integer rule (core/numerics/encode.h), with the kernels or with the conversion instructions: it is the
// third leg that casts are judged by (fp8 2.10). Read next: cast_law.h, certificate.h.
#pragma once

#include <cstdint>
#include <vector>

#include "core/numerics/cast_policy.h"
#include "core/numerics/format.h"
#include "core/numerics/named_cast.h"

namespace shardcheck {

class NearestCode {
 public:
  /// Any format but E8M0 and fp32.
  NearestCode(const Format& format, const CastPolicy& policy);
  /// E8M0: the magnitude decides, fp8 2.5.
  explicit NearestCode(const PowerOfTwoPolicy& policy);
  explicit NearestCode(const NamedCast& cast);

  /// The code of an fp32 number given by its bits. UE4M3 takes no negative number other than -0.
  std::uint16_t operator()(std::uint32_t f32_bits) const;

  /// Inputs of one sign that share a code: magnitudes (as bits) from `first` up to the next run's. The last
  /// three are overflow, infinity and NaN; only the run of overflow may be empty.
  struct Run {
    std::uint32_t first;
    std::uint16_t code[2];  ///< of positive and of negative sources
  };
  const std::vector<Run>& runs() const { return runs_; }
  /// The run that the magnitude lies in.
  std::size_t run_of(std::uint32_t magnitude) const;
  /// False for UE4M3.
  bool has_negative_sources() const { return has_negative_sources_; }

 private:
  std::vector<Run> runs_;
  bool has_negative_sources_ = true;
};

}  // namespace shardcheck
