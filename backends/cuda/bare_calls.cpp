#include "backends/cuda/bare_calls.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "backends/cuda/handles.h"
#include "core/assert.h"
#include "core/error.h"
#include "core/numerics/philox.h"

namespace shardcheck {
namespace {

using gpu::make_stream;
using gpu::OwnedStream;

struct FreeDevice {
  void operator()(std::byte* memory) const { cudaFree(memory); }
};
using DeviceMemory = std::unique_ptr<std::byte, FreeDevice>;

/// On the current GPU, filled with random codes.
DeviceMemory random_memory(DType type, std::int64_t bytes) {
  void* made = nullptr;
  SC_CHECK(cudaMalloc(&made, static_cast<std::size_t>(bytes)));
  DeviceMemory memory(static_cast<std::byte*>(made));
  constexpr std::int64_t kPattern = std::int64_t{16} << 20;
  std::vector<std::byte> pattern(static_cast<std::size_t>(std::min(kPattern, bytes)));
  random_codes(type, pattern);
  for (std::int64_t at = 0; at < bytes; at += kPattern) {
    SC_CHECK(cudaMemcpy(memory.get() + at, pattern.data(),
                        static_cast<std::size_t>(std::min(kPattern, bytes - at)), cudaMemcpyHostToDevice));
  }
  return memory;
}

std::uint32_t random_code(DType type, std::uint32_t word) {
  switch (type) {
    case DType::f32: return (word & 0x83FFFFFFu) | 0x3C000000u;
    case DType::bf16: return (word & 0x83FFu) | 0x3C00u;
    case DType::f16: return (word & 0x9FFFu) | 0x2000u;
    case DType::e4m3: return word & 0xBFu;
    case DType::e5m2: return (word & 0x9Fu) | 0x20u;
    case DType::u8: break;
  }
  return word & 0xFFu;
}

cudaDataType_t data_type(DType type) {
  switch (type) {
    case DType::bf16: return CUDA_R_16BF;
    case DType::f16: return CUDA_R_16F;
    case DType::e4m3: return CUDA_R_8F_E4M3;
    case DType::e5m2: return CUDA_R_8F_E5M2;
    default: return CUDA_R_32F;
  }
}

/// What cublasLtMatmul wants, owned; destroyed in the reverse order.
class BareMatmul {
 public:
  BareMatmul(const Matmul& op, const OperandTypes& types);
  ~BareMatmul();
  BareMatmul(const BareMatmul&) = delete;
  BareMatmul& operator=(const BareMatmul&) = delete;
  void enqueue(cudaStream_t stream) const;

 private:
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    SC_CHECK(cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof value));
  }
  void set_scales();
  void choose();
  static cublasLtMatrixLayout_t layout(DType type, std::int64_t rows, std::int64_t columns);

  float alpha_, beta_;
  DeviceMemory a_, b_, d_, scale_;
  cublasLtHandle_t library_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t layout_a_ = nullptr, layout_b_ = nullptr, layout_d_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

cublasLtMatrixLayout_t BareMatmul::layout(DType type, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t made = nullptr;
  SC_CHECK(cublasLtMatrixLayoutCreate(&made, data_type(type), static_cast<std::uint64_t>(rows),
                                      static_cast<std::uint64_t>(columns), rows));
  return made;
}

BareMatmul::BareMatmul(const Matmul& op, const OperandTypes& types)
    : alpha_(op.alpha),
      beta_(op.accumulate ? 1.0f : 0.0f),
      a_(random_memory(types.a, op.m * op.k * bytes_of(types.a))),
      b_(random_memory(types.b, op.n * op.k * bytes_of(types.b))),
      d_(random_memory(types.d, op.m * op.n * bytes_of(types.d))) {
  SC_ASSERT(
      op.scales_a == op.scales_b && (op.scales_a == ScaleKind::none || op.scales_a == ScaleKind::tensor),
      "bare calls have one scale an operand, or none");
  SC_CHECK(cublasLtCreate(&library_));
  SC_CHECK(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const bool a_by_k = op.a == OperandLayout::transposed, b_by_k = op.b == OperandLayout::plain;
  set(CUBLASLT_MATMUL_DESC_TRANSA, a_by_k ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, b_by_k ? CUBLAS_OP_N : CUBLAS_OP_T);
  if (op.scales_a == ScaleKind::tensor) {
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(op.fast_accumulation));
    set_scales();
  }
  layout_a_ = a_by_k ? layout(types.a, op.k, op.m) : layout(types.a, op.m, op.k);
  layout_b_ = b_by_k ? layout(types.b, op.k, op.n) : layout(types.b, op.n, op.k);
  layout_d_ = layout(types.d, op.m, op.n);
  choose();
}

BareMatmul::~BareMatmul() {
  // Nobody is left to hear of a failure.
  for (const cublasLtMatrixLayout_t made : {layout_d_, layout_b_, layout_a_})
    cublasLtMatrixLayoutDestroy(made);
  cublasLtMatmulDescDestroy(operation_);
  cublasLtDestroy(library_);
}

void BareMatmul::set_scales() {
  void* made = nullptr;
  const float one = 1;
  SC_CHECK(cudaMalloc(&made, sizeof one));
  scale_.reset(static_cast<std::byte*>(made));
  SC_CHECK(cudaMemcpy(made, &one, sizeof one, cudaMemcpyHostToDevice));
  const auto mode = static_cast<std::int32_t>(CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F);
  set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode);
  set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode);
  set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, made);
  set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, made);
}

void BareMatmul::choose() {
  cublasLtMatmulPreference_t preference = nullptr;
  SC_CHECK(cublasLtMatmulPreferenceCreate(&preference));
  const std::size_t no_workspace = 0;
  SC_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                &no_workspace, sizeof no_workspace));
  cublasLtMatmulHeuristicResult_t first{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      library_, operation_, layout_a_, layout_b_, layout_d_, layout_d_, preference, 1, &first, &found);
  cublasLtMatmulPreferenceDestroy(preference);
  gpu::check(status, "cublasLtMatmulAlgoGetHeuristic");
  if (found == 0)
    throw Error(ErrorKind::machine_cannot, "cuda: cuBLASLt has no algorithm for a bare product");
  algorithm_ = first.algo;
}

void BareMatmul::enqueue(cudaStream_t stream) const {
  SC_CHECK(cublasLtMatmul(library_, operation_, &alpha_, a_.get(), layout_a_, b_.get(), layout_b_, &beta_,
                          d_.get(), layout_d_, d_.get(), layout_d_, &algorithm_, nullptr, 0, stream));
}

/// One rank a GPU of this host.
class BareRanks {
 public:
  explicit BareRanks(std::int64_t bytes);
  ~BareRanks();
  BareRanks(const BareRanks&) = delete;
  BareRanks& operator=(const BareRanks&) = delete;
  void enqueue(Collective collective) const;
  void await() const;

 private:
  std::size_t numel_;
  std::vector<ncclComm_t> members_;
  std::vector<OwnedStream> streams_;
  std::vector<DeviceMemory> large_, small_;
};

BareRanks::BareRanks(std::int64_t bytes) : numel_(static_cast<std::size_t>(bytes) / sizeof(float)) {
  int gpus = 0;
  SC_CHECK(cudaGetDeviceCount(&gpus));
  members_.resize(static_cast<std::size_t>(gpus));
  SC_CHECK(ncclCommInitAll(members_.data(), gpus, nullptr));
  for (int i = 0; i < gpus; ++i) {
    SC_CHECK(cudaSetDevice(i));
    streams_.push_back(make_stream());
    large_.push_back(random_memory(DType::f32, bytes));
    small_.push_back(random_memory(DType::f32, bytes));
  }
}

BareRanks::~BareRanks() {
  for (const ncclComm_t member : members_) ncclCommDestroy(member);
}

void BareRanks::enqueue(Collective collective) const {
  SC_CHECK(ncclGroupStart());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const std::size_t part = numel_ / members_.size();
    std::byte *const large = large_[i].get(), *const small = small_[i].get();
    const cudaStream_t stream = streams_[i].get();
    switch (collective) {
      case Collective::all_reduce:
        SC_CHECK(ncclAllReduce(large, small, numel_, ncclFloat32, ncclSum, members_[i], stream));
        break;
      case Collective::reduce_scatter:
        SC_CHECK(ncclReduceScatter(large, small, part, ncclFloat32, ncclSum, members_[i], stream));
        break;
      case Collective::all_gather:
        SC_CHECK(ncclAllGather(small, large, part * sizeof(float), ncclUint8, members_[i], stream));
        break;
    }
  }
  SC_CHECK(ncclGroupEnd());
}

void BareRanks::await() const {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    SC_CHECK(cudaSetDevice(static_cast<int>(i)));
    SC_CHECK(cudaStreamSynchronize(streams_[i].get()));
  }
}

}  // namespace

double seconds_of_a_call(const std::function<void()>& calls) {
  constexpr std::size_t kSamples = 20;
  std::array<double, kSamples> samples;
  calls();
  for (double& sample : samples) {
    const auto begin = std::chrono::steady_clock::now();
    calls();
    sample = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  std::ranges::nth_element(samples, samples.begin() + kSamples / 2);
  return samples[kSamples / 2] / kCallsASample;
}

void random_codes(DType type, std::span<std::byte> bytes) {
  const auto size = static_cast<std::size_t>(bytes_of(type));
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    const std::uint32_t code = random_code(type, philox(1, 0, at)[0]);
    for (std::size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<std::byte>(code >> 8 * i);
  }
}

double bare_copy_seconds(std::int64_t bytes) {
  SC_CHECK(cudaSetDevice(0));
  const OwnedStream stream = make_stream();
  const DeviceMemory from = random_memory(DType::f32, bytes), to = random_memory(DType::f32, bytes);
  return seconds_of_a_call([&] {
    for (int i = 0; i < kCallsASample; ++i) {
      SC_CHECK(cudaMemcpyAsync(to.get(), from.get(), static_cast<std::size_t>(bytes),
                               cudaMemcpyDeviceToDevice, stream.get()));
    }
    SC_CHECK(cudaStreamSynchronize(stream.get()));
  });
}

double bare_gemm_seconds(const Matmul& op, const OperandTypes& types) {
  SC_CHECK(cudaSetDevice(0));
  const OwnedStream stream = make_stream();
  const BareMatmul product(op, types);
  return seconds_of_a_call([&] {
    for (int i = 0; i < kCallsASample; ++i) product.enqueue(stream.get());
    SC_CHECK(cudaStreamSynchronize(stream.get()));
  });
}

double bare_collective_seconds(Collective collective, std::int64_t bytes) {
  const BareRanks ranks(bytes);
  return seconds_of_a_call([&] {
    for (int i = 0; i < kCallsASample; ++i) ranks.enqueue(collective);
    ranks.await();
  });
}

}  // namespace shardcheck
