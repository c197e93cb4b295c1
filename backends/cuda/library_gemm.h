// Products by cuBLASLt, one call a rank. No workspace and no reduction scheme, so that K is never split: then
// the profile `hopper` says what the bits are (tensor-core 1). Algorithms are chosen once a shape and
// recorded.
#pragma once

#include <cublasLt.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "backends/cuda/own_gemm.h"

namespace shardcheck::gpu {

/// All that cuBLASLt's choice depends on here; addresses are multiples of 16. Alpha takes no part in it.
struct GemmShape {
  int device;
  Matmul op;
  MatmulTypes types;
};
bool operator<(const GemmShape& a, const GemmShape& b);

/// "GPU 0: GEMM TN 256 x 128 x 512, e4m3 x e4m3 -> bf16, beta 0, scales vector128 x block128x128".
std::string describe(const GemmShape& shape);

/// What cuBLASLt chose.
struct GemmAlgorithm {
  int id = 0, tile = 0, stages = 0, split_k = 0, reduction_scheme = 0;
};
std::string describe(const GemmAlgorithm& algorithm);

class LibraryGemm {
 public:
  /// Takes the algorithm that cuBLASLt offers as number `offer`, 0 the best, of those that leave K whole.
  explicit LibraryGemm(int offer) : offer_(offer) {}

  /// The algorithm for the shape, or nothing when cuBLASLt offers none that leaves K whole. The current
  /// device must be shape.device. `table` lends the addresses of scales.
  std::optional<GemmAlgorithm> algorithm_for(const GemmShape& shape, const MatmulTable& table);

  /// Enqueues the product of every rank of the table. Requires an algorithm for the shape.
  void launch(const GemmShape& shape, const MatmulTable& table, cudaStream_t stream);

 private:
  template <class Handle, cublasStatus_t (*destroy)(Handle)>
  struct Destroy {
    void operator()(Handle handle) const { destroy(handle); }
  };
  template <class Handle, cublasStatus_t (*destroy)(Handle)>
  using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<Handle, destroy>>;
  using Library = Owned<cublasLtHandle_t, cublasLtDestroy>;
  using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
  using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
  using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

  /// A call but for its addresses.
  struct Prepared {
    Operation operation;
    Layout a, b, d;
    cublasLtMatmulAlgo_t algorithm{};
    std::optional<GemmAlgorithm> chosen;
  };

  cublasLtHandle_t library_on(int device);
  const Prepared& prepared(const GemmShape& shape, const MatmulTable& table);
  void choose(const GemmShape& shape, Prepared& call);
  static Layout layout(DType type, long long rows, long long columns);
  /// The scales of the i-th rank, where the op has any.
  static void point_at_scales(const Matmul& op, const Prepared& call, const MatmulTable& table, int i);

  int offer_;
  std::map<int, Library> libraries_;
  std::map<GemmShape, Prepared> prepared_;
};

}  // namespace shardcheck::gpu
