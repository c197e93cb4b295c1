// Products on the ranks of one GPU: which of three ways computes one, and why. Small products and those that
// cuBLASLt refuses are emulated by our own kernel, all ranks in one launch; weight gradients of fp32 take the
// exact sum; all else is cuBLASLt's. Emulation and cuBLASLt give the same bits on Hopper. Next:
// library_gemm.h, own_gemm.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/cuda/cuda_options.h"
#include "backends/cuda/library_gemm.h"
#include "backends/cuda/memory.h"
#include "core/plan/op.h"

namespace shardcheck::gpu {

struct GemmRanges {
  Range dy;           ///< tokens x rows
  Range x;            ///< tokens x columns
  Range destination;  ///< rows x columns, apart from both
};

struct MatmulRanges {
  Range a, b, scales_a, scales_b;
  Range d;  ///< apart from the operands
};

class GemmUnit {
 public:
  explicit GemmUnit(const CudaOptions& options)
      : emulate_below_(options.emulate_below), library_(options.library_offer) {}

  /// Decides what computes the product, so that run() only enqueues. For what is about to be captured.
  void prepare(const Gemm& gemm, std::span<const GemmRanges> ranks, const Gpu& gpu);
  /// Enqueues the product on `stream` of `gpu`, which is current; `ranks` lie there, kRanksPerLaunch at most,
  /// and have equal types.
  void run(const Gemm& gemm, std::span<const GemmRanges> ranks, const Gpu& gpu, cudaStream_t stream);
  /// The same. Error(bad_input) when the profile `hopper` has no rule for the op: then nobody could say what
  /// is right.
  void run(const Matmul& matmul, std::span<const MatmulRanges> ranks, const Gpu& gpu, cudaStream_t stream);

  /// A line for each shape that has been run, in order: what computed it.
  const std::vector<std::string>& algorithms() const { return algorithms_; }

 private:
  enum class Way { emulated, by_library, exactly };
  struct Call {
    GemmShape shape;
    MatmulTable table;
  };
  /// The product of all ranks, with at least one token.
  static Call call_of(const Gemm& gemm, std::span<const GemmRanges> ranks, const Gpu& gpu);
  /// `wgrad` is what the product is called in the list of algorithms, or null for a Matmul.
  Way choose(const GemmShape& shape, const MatmulTable& table, const Gemm* wgrad);
  std::string why_not_library(const GemmShape& shape, const MatmulTable& table) const;
  void launch(Way way, const GemmShape& shape, const MatmulTable& table, cudaStream_t stream);

  std::int64_t emulate_below_;
  LibraryGemm library_;
  std::map<GemmShape, Way> aligned_ways_, unaligned_ways_;
  std::vector<std::string> algorithms_;
};

}  // namespace shardcheck::gpu
