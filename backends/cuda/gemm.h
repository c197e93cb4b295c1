// The weight gradient on the ranks of one GPU: which of three ways computes it, and why. Small products and
// those that cuBLASLt refuses are emulated by our own kernel, all ranks in one launch; fp32 operands take the
// exact sum; all else is cuBLASLt's. The first two ways to multiply 16-bit operands give the same bits on
// Hopper. Next: library_gemm.h, own_gemm.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/cuda/library_gemm.h"
#include "backends/cuda/memory.h"
#include "core/plan/op.h"

namespace shardcheck::gpu {

struct GemmRanges {
  Range dy;           ///< tokens x rows
  Range x;            ///< tokens x columns
  Range destination;  ///< rows x columns, apart from both
};

class GemmUnit {
 public:
  explicit GemmUnit(std::int64_t emulate_below) : emulate_below_(emulate_below) {}

  /// Enqueues the product on `stream` of `gpu`, which is current; `ranks` lie there, kRanksPerLaunch at most,
  /// and have equal types.
  void run(const Gemm& gemm, std::span<const GemmRanges> ranks, const Gpu& gpu, cudaStream_t stream);

  /// A line for each shape that has been run, in order: what computed it.
  const std::vector<std::string>& algorithms() const { return algorithms_; }

 private:
  struct Way {
    bool by_library = false;
    bool exact = false;
  };
  Way choose(const GemmShape& shape, const GemmTable& table);
  std::string why_not_library(const GemmShape& shape, const GemmTable& table) const;

  std::int64_t emulate_below_;
  LibraryGemm library_;
  std::map<GemmShape, Way> aligned_ways_, unaligned_ways_;
  std::vector<std::string> algorithms_;
};

}  // namespace shardcheck::gpu
