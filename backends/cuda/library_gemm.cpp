#include "backends/cuda/library_gemm.h"

#include <fmt/format.h>

#include <array>
#include <tuple>

#include "backends/cuda/check.h"
#include "core/assert.h"

namespace shardcheck::gpu {
namespace {

constexpr int kOffers = 8;  ///< algorithms to look at before a shape counts as refused

auto key_of(const GemmShape& s) {
  return std::tuple(s.device, s.tokens, s.rows, s.columns, s.types.operand, s.types.destination,
                    s.accumulate);
}

cudaDataType_t data_type(DType type) {
  switch (type) {
    case DType::f32: return CUDA_R_32F;
    case DType::bf16: return CUDA_R_16BF;
    case DType::f16: return CUDA_R_16F;
    default: SC_ASSERT(false, "cuBLASLt takes no such operand here");
  }
  return CUDA_R_32F;
}

int configured(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  std::int32_t value = 0;
  std::size_t written = 0;
  // The stages are 16 bits wide in some versions and 32 in others; `value` starts at 0 and bytes are
  // little-endian.
  std::size_t size = 0;
  SC_CHECK(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, nullptr, 0, &size));
  SC_ASSERT(size <= sizeof value, "an attribute of an algorithm is wider than 32 bits");
  SC_CHECK(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, size, &written));
  return value;
}

GemmAlgorithm algorithm_of(const cublasLtMatmulAlgo_t& algorithm) {
  return {.id = configured(algorithm, CUBLASLT_ALGO_CONFIG_ID),
          .tile = configured(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID),
          .stages = configured(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID),
          .split_k = configured(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM),
          .reduction_scheme = configured(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME)};
}

/// A split of 0 is the library's word for none, as 1 is.
bool leaves_k_whole(const GemmAlgorithm& algorithm) {
  return algorithm.split_k <= 1 && algorithm.reduction_scheme == CUBLASLT_REDUCTION_SCHEME_NONE;
}

}  // namespace

bool operator<(const GemmShape& a, const GemmShape& b) {
  return key_of(a) < key_of(b);
}

std::string describe(const GemmShape& shape) {
  return fmt::format("GPU {}: wgrad {} x {}, {} tokens, {} -> {}, beta {}", shape.device, shape.rows,
                     shape.columns, shape.tokens, name_of(shape.types.operand),
                     name_of(shape.types.destination), shape.accumulate ? 1 : 0);
}

std::string describe(const GemmAlgorithm& algorithm) {
  return fmt::format("cuBLASLt algorithm {}, tile {}, stages {}, split-K {}, reduction scheme {}",
                     algorithm.id, algorithm.tile, algorithm.stages, algorithm.split_k,
                     algorithm.reduction_scheme);
}

cublasLtHandle_t LibraryGemm::library_on(int device) {
  Library& library = libraries_[device];
  if (library == nullptr) {
    cublasLtHandle_t handle = nullptr;
    SC_CHECK(cublasLtCreate(&handle));
    library.reset(handle);
  }
  return library.get();
}

LibraryGemm::Layout LibraryGemm::layout(DType type, long long rows, long long columns) {
  cublasLtMatrixLayout_t made = nullptr;
  SC_CHECK(cublasLtMatrixLayoutCreate(&made, data_type(type), static_cast<std::uint64_t>(rows),
                                      static_cast<std::uint64_t>(columns), rows));
  return Layout(made);
}

const LibraryGemm::Prepared& LibraryGemm::prepared(const GemmShape& shape) {
  const auto found = prepared_.find(shape);
  if (found != prepared_.end()) return found->second;
  Prepared call;
  cublasLtMatmulDesc_t operation = nullptr;
  SC_CHECK(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  call.operation.reset(operation);
  const cublasOperation_t plain = CUBLAS_OP_N, transposed = CUBLAS_OP_T;
  SC_CHECK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &plain, sizeof plain));
  SC_CHECK(
      cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &transposed, sizeof transposed));
  call.x = layout(shape.types.operand, shape.columns, shape.tokens);
  call.dy = layout(shape.types.operand, shape.rows, shape.tokens);
  call.destination = layout(shape.types.destination, shape.columns, shape.rows);
  choose(shape, call);
  return prepared_.emplace(shape, std::move(call)).first->second;
}

void LibraryGemm::choose(const GemmShape& shape, Prepared& call) {
  cublasLtMatmulPreference_t made = nullptr;
  SC_CHECK(cublasLtMatmulPreferenceCreate(&made));
  const Preference preference(made);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    SC_CHECK(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value));
  };
  const std::size_t no_workspace = 0;
  const std::uint32_t no_reduction = CUBLASLT_REDUCTION_SCHEME_NONE, alignment = 16;
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, no_workspace);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, no_reduction);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);

  std::array<cublasLtMatmulHeuristicResult_t, kOffers> offers{};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      library_on(shape.device), call.operation.get(), call.x.get(), call.dy.get(), call.destination.get(),
      call.destination.get(), preference.get(), kOffers, offers.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return;
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  for (int i = 0; i < count; ++i) {
    const cublasLtMatmulHeuristicResult_t& offer = offers[static_cast<std::size_t>(i)];
    if (offer.state != CUBLAS_STATUS_SUCCESS || offer.workspaceSize != 0) continue;
    const GemmAlgorithm algorithm = algorithm_of(offer.algo);
    if (!leaves_k_whole(algorithm)) continue;
    call.algorithm = offer.algo;
    call.chosen = algorithm;
    return;
  }
}

std::optional<GemmAlgorithm> LibraryGemm::algorithm_for(const GemmShape& shape) {
  return prepared(shape).chosen;
}

void LibraryGemm::launch(const GemmShape& shape, const GemmTable& table, cudaStream_t stream) {
  const Prepared& call = prepared(shape);
  SC_ASSERT(call.chosen.has_value(), "ask algorithm_for first");
  const float alpha = 1.0f, beta = shape.accumulate ? 1.0f : 0.0f;
  for (int i = 0; i < table.ranks; ++i) {
    SC_CHECK(cublasLtMatmul(library_on(shape.device), call.operation.get(), &alpha, table.x[i], call.x.get(),
                            table.dy[i], call.dy.get(), &beta, table.destination[i], call.destination.get(),
                            table.destination[i], call.destination.get(), &call.algorithm, nullptr, 0,
                            stream));
  }
}

}  // namespace shardcheck::gpu
