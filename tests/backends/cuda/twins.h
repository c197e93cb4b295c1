// Twins: one plan on the CUDA backend and on the reference with the profile `hopper`, and every byte of every
// buffer compared. A test derives from OnGpu, which skips where there is no GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/cuda_backend.h"
#include "core/numerics/profile.h"
#include "core/plan/builder.h"
#include "tests/backends/cuda/random_numbers.h"

namespace shardcheck {

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = cuda_missing(); !missing.empty()) GTEST_SKIP() << missing;
  }
};

/// One GPU, so that the order of every sum is the reference's.
CudaOptions one_gpu();

/// How NaN codes are compared. A GEMM's NaN is specified as a class only.
enum class NanCodes : std::uint8_t { compared, any };

class Twins {
 public:
  Twins(const CudaOptions& options, const ArithmeticProfile& profile);

  Backend& cuda() { return *cuda_; }

  /// Random numbers (finite or with corners) into every buffer on every rank of both backends.
  void write_all(const Plan& plan, RandomNumbers& random, int binades, Corners corners);
  void write(const Plan& plan, Rank rank, View view, const std::vector<std::byte>& bytes);
  void execute(const Plan& plan, OpIndex first, OpIndex last);
  /// Executes the plan on both and compares all buffers; the first difference is the failure.
  void expect_equal_after(const Plan& plan, NanCodes nan_codes);
  void expect_equal(const Plan& plan, NanCodes nan_codes);

 private:
  std::unique_ptr<Backend> cuda_, reference_;
};

/// All ranks of a plan.
std::vector<Rank> all_ranks(const Plan& plan);

}  // namespace shardcheck
