// The machine that a law of products is asked of: Matmul ops on a backend, with TakeAmax and Quantize ops
// behind them where the output is FP8, or a product with a fault of the zoo in it. Read next: product_laws.h.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/backend.h"
#include "core/numerics/profile.h"
#include "properties/gemm_law/gemm_inputs.h"

namespace shardcheck {

/// D of a case and its numbers, column-major.
using Product = std::vector<std::byte> (*)(const GemmCase& c, const GemmInputs& inputs);

/// An output in E4M3 and the largest magnitude of what it was made from.
struct NarrowOutput {
  std::vector<std::byte> codes;
  float amax = 0;
};
/// fp32 numbers by an output scale (d_scale of fp8 5.6).
using Narrow = NarrowOutput (*)(std::span<const float> values, float scale);
NarrowOutput narrow_by_law(std::span<const float> values, float scale);

class ProductMachine {
 public:
  explicit ProductMachine(Backend& backend);
  /// Of a product that follows `hopper` but for its fault.
  ProductMachine(Product faulty, Narrow narrow) : faulty_(faulty), narrow_(narrow), profile_(&kHopper) {}

  /// Nothing where another process holds the rank.
  std::vector<std::byte> product(const GemmCase& c, const GemmInputs& inputs) const;
  /// Codes are empty where another process holds the rank.
  NarrowOutput narrowed(std::span<const float> values, float scale) const;
  /// Null where the machine's arithmetic is unknown.
  const ArithmeticProfile* profile() const { return profile_; }

 private:
  Backend* backend_ = nullptr;
  Product faulty_ = nullptr;
  Narrow narrow_ = nullptr;
  const ArithmeticProfile* profile_;
};

}  // namespace shardcheck
