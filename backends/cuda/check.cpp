#include "backends/cuda/check.h"

#include <fmt/format.h>

#include "core/error.h"

namespace shardcheck::gpu {
namespace {

[[noreturn]] void fail(std::string_view call, std::string_view text) {
  throw Error(ErrorKind::machine_cannot,
              fmt::format("cuda: {} failed: {}", call.substr(0, call.find('(')), text));
}

}  // namespace

void check(cudaError_t result, std::string_view call) {
  if (result == cudaSuccess) return;
  fail(call, fmt::format("{} ({})", cudaGetErrorString(result), cudaGetErrorName(result)));
}

void check(cublasStatus_t result, std::string_view call) {
  if (result == CUBLAS_STATUS_SUCCESS) return;
  fail(call, cublasLtGetStatusString(result));
}

void check(ncclResult_t result, std::string_view call) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  fail(call, fmt::format("{} ({})", ncclGetErrorString(result), ncclGetLastError(nullptr)));
}

}  // namespace shardcheck::gpu
