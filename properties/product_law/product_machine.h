// The machine that a law of products is asked of: Matmul ops on a backend, or a product with a fault of the
// zoo in it. Read next: product_laws.h.
#pragma once

#include <cstddef>
#include <vector>

#include "core/backend.h"
#include "core/numerics/profile.h"
#include "properties/gemm_law/gemm_inputs.h"

namespace shardcheck {

/// D of a case and its numbers, column-major.
using Product = std::vector<std::byte> (*)(const GemmCase& c, const GemmInputs& inputs);

class ProductMachine {
 public:
  explicit ProductMachine(Backend& backend);
  /// Of a product that follows `hopper` but for its fault.
  explicit ProductMachine(Product faulty) : faulty_(faulty), profile_(&kHopper) {}

  /// Nothing where another process holds the rank.
  std::vector<std::byte> product(const GemmCase& c, const GemmInputs& inputs) const;
  /// Null where the machine's arithmetic is unknown.
  const ArithmeticProfile* profile() const { return profile_; }

 private:
  Backend* backend_ = nullptr;
  Product faulty_ = nullptr;
  const ArithmeticProfile* profile_;
};

}  // namespace shardcheck
