#include "backends/cuda/library_gemm.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <tuple>

#include "backends/cuda/check.h"
#include "core/assert.h"

namespace shardcheck::gpu {
namespace {

constexpr int kOffers = 8;       ///< algorithms to look at before a shape counts as refused
constexpr int kAllOffers = 100;  ///< more than it has been seen to have

auto key_of(const GemmShape& s) {
  return std::tuple(s.device, s.op.m, s.op.n, s.op.k, s.op.a, s.op.b, s.op.scales_a, s.op.scales_b,
                    s.op.fast_accumulation, s.op.accumulate, s.types.a, s.types.b, s.types.d);
}

cudaDataType_t data_type(DType type) {
  switch (type) {
    case DType::f32: return CUDA_R_32F;
    case DType::bf16: return CUDA_R_16BF;
    case DType::f16: return CUDA_R_16F;
    case DType::e4m3: return CUDA_R_8F_E4M3;
    case DType::e5m2: return CUDA_R_8F_E5M2;
    case DType::u8: break;
  }
  SC_ASSERT(false, "cuBLASLt takes no such operand here");
  return CUDA_R_32F;
}

cublasLtMatmulMatrixScale_t scale_mode(ScaleKind kind) {
  switch (kind) {
    case ScaleKind::none:
    case ScaleKind::tensor: return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
    case ScaleKind::outer_vector: return CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    case ScaleKind::vector128: return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    case ScaleKind::block128x128: return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  }
  return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
}

std::string_view name_of(ScaleKind kind) {
  constexpr std::string_view names[] = {"none", "tensor", "outer_vector", "vector128", "block128x128"};
  return names[static_cast<int>(kind)];
}

template <class Value>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  SC_CHECK(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value));
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
  const Matmul& op = shape.op;
  std::string text =
      fmt::format("GPU {}: GEMM {}{} {} x {} x {}, {} x {} -> {}, beta {}", shape.device,
                  op.a == OperandLayout::transposed ? 'T' : 'N',
                  op.b == OperandLayout::transposed ? 'T' : 'N', op.m, op.n, op.k, name_of(shape.types.a),
                  name_of(shape.types.b), name_of(shape.types.d), op.accumulate ? 1 : 0);
  if (op.scales_a != ScaleKind::none) {
    text += fmt::format(", scales {} x {}", name_of(op.scales_a), name_of(op.scales_b));
  }
  return text + (op.fast_accumulation ? ", fast accumulation" : "");
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

void LibraryGemm::point_at_scales(const Matmul& op, const Prepared& call, const MatmulTable& table, int i) {
  if (op.scales_a == ScaleKind::none) return;
  set(call.operation.get(), CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, table.scales_a[i]);
  set(call.operation.get(), CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, table.scales_b[i]);
}

const LibraryGemm::Prepared& LibraryGemm::prepared(const GemmShape& shape, const MatmulTable& table) {
  const auto found = prepared_.find(shape);
  if (found != prepared_.end()) return found->second;
  const Matmul& op = shape.op;
  Prepared call;
  cublasLtMatmulDesc_t operation = nullptr;
  SC_CHECK(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  call.operation.reset(operation);
  const bool a_by_k = op.a == OperandLayout::transposed, b_by_k = op.b == OperandLayout::plain;
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, a_by_k ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, b_by_k ? CUBLAS_OP_N : CUBLAS_OP_T);
  if (op.scales_a != ScaleKind::none) {
    set(operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(op.fast_accumulation));
    set(operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, static_cast<std::int32_t>(scale_mode(op.scales_a)));
    set(operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, static_cast<std::int32_t>(scale_mode(op.scales_b)));
    point_at_scales(op, call, table, 0);
  }
  call.a = a_by_k ? layout(shape.types.a, op.k, op.m) : layout(shape.types.a, op.m, op.k);
  call.b = b_by_k ? layout(shape.types.b, op.k, op.n) : layout(shape.types.b, op.n, op.k);
  call.d = layout(shape.types.d, op.m, op.n);
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

  std::array<cublasLtMatmulHeuristicResult_t, kAllOffers> offers{};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      library_on(shape.device), call.operation.get(), call.a.get(), call.b.get(), call.d.get(), call.d.get(),
      preference.get(), offer_ == 0 ? kOffers : kAllOffers, offers.data(), &count);
  // Both mean that this chip or library has no such product.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return;
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  int usable = 0;
  for (int i = 0; i < count; ++i) {
    const cublasLtMatmulHeuristicResult_t& offer = offers[static_cast<std::size_t>(i)];
    if (offer.state != CUBLAS_STATUS_SUCCESS || offer.workspaceSize != 0) continue;
    const GemmAlgorithm algorithm = algorithm_of(offer.algo);
    if (!leaves_k_whole(algorithm) || usable++ != offer_) continue;
    call.algorithm = offer.algo;
    call.chosen = algorithm;
    return;
  }
}

std::optional<GemmAlgorithm> LibraryGemm::algorithm_for(const GemmShape& shape, const MatmulTable& table) {
  return prepared(shape, table).chosen;
}

void LibraryGemm::launch(const GemmShape& shape, const MatmulTable& table, cudaStream_t stream) {
  const Prepared& call = prepared(shape, table);
  SC_ASSERT(call.chosen.has_value(), "ask algorithm_for first");
  const float alpha = table.op.alpha, beta = table.op.accumulate ? 1.0f : 0.0f;
  for (int i = 0; i < table.ranks; ++i) {
    point_at_scales(table.op, call, table, i);
    SC_CHECK(cublasLtMatmul(library_on(shape.device), call.operation.get(), &alpha, table.a[i], call.a.get(),
                            table.b[i], call.b.get(), &beta, table.d[i], call.d.get(), table.d[i],
                            call.d.get(), &call.algorithm, nullptr, 0, stream));
  }
}

}  // namespace shardcheck::gpu
