// The absence of the CUDA backend. SHARDCHECK_NO_CUDA_REASON comes from CMakeLists.txt beside this file.
#include "backends/cuda/cast_sweep.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/doctor.h"
#include "core/error.h"

namespace shardcheck {

std::string cuda_missing() {
  return SHARDCHECK_NO_CUDA_REASON;
}

CudaOptions cuda_options_from_environment() {
  return {};
}

std::unique_ptr<Backend> make_cuda_backend(const BackendOptions&) {
  throw Error(ErrorKind::machine_cannot, "cuda: " + cuda_missing());
}

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions&) {
  throw Error(ErrorKind::machine_cannot, "cuda: " + cuda_missing());
}

std::vector<std::string> visible_gpus() {
  return {};
}

std::vector<CastSweep> sweep_fp32_casts(std::span<const NamedCast>) {
  throw Error(ErrorKind::machine_cannot, "cuda: " + cuda_missing());
}

std::vector<std::vector<std::uint16_t>> codes_of_16_bit_on_gpu(std::span<const NamedCast>, DType) {
  throw Error(ErrorKind::machine_cannot, "cuda: " + cuda_missing());
}

GraphCounts graph_counts(const Backend&) {
  return {};
}

std::vector<std::string> gemm_algorithms(const Backend&) {
  return {};
}

std::vector<std::string> cuda_doctor() {
  return {"cuda: " + cuda_missing()};
}

ArithmeticConfirmation confirm_arithmetic() {
  return {false, {"cuda: " + cuda_missing()}};
}

}  // namespace shardcheck
