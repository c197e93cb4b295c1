// The weight gradient on one rank. Every product follows core/numerics wgrad() under the profile that
// operand_profile.h names for its operands; two faster ways are taken where they provably give the same
// bits.
#pragma once

#include <vector>

#include "backends/cpu/memory.h"
#include "core/numerics/profile.h"
#include "core/plan/op.h"

namespace shardcheck::cpu {

struct GemmRanges {
  Range dy;           ///< tokens x rows
  Range x;            ///< tokens x columns
  Range destination;  ///< rows x columns, apart from both
};

class GemmUnit {
 public:
  explicit GemmUnit(const ArithmeticProfile& profile) : profile_(profile) {}

  const ArithmeticProfile& profile() const { return profile_; }
  void run(const Gemm& gemm, const GemmRanges& ranges);

 private:
  bool run_outer_product(const Gemm& gemm, const GemmRanges& ranges, const ArithmeticProfile& profile);
  bool run_in_double(const Gemm& gemm, const GemmRanges& ranges, const ArithmeticProfile& profile);

  const ArithmeticProfile& profile_;
  std::vector<float> dy_f32_, x_f32_;           ///< operands of an outer product in fp32
  std::vector<double> dy_f64_, x_f64_, d_f64_;  ///< operands and result of a product in double
};

}  // namespace shardcheck::cpu
