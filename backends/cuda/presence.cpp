#include "backends/cuda/presence.h"

#include <cuda_runtime.h>

#include <iterator>

#include "backends/cuda/check.h"

namespace shardcheck {

std::string cuda_missing() {
  int present = 0;
  const cudaError_t result = cudaGetDeviceCount(&present);
  if (result != cudaSuccess) {
    cudaGetLastError();  // take the error off the thread: it is reported here
    return std::string("no usable NVIDIA GPU: cudaGetDeviceCount says \"") + cudaGetErrorString(result) +
           "\"";
  }
  return present > 0 ? "" : "no NVIDIA GPU is present";
}

std::vector<std::string> visible_gpus() {
  int present = 0;
  if (!cuda_missing().empty() || cudaGetDeviceCount(&present) != cudaSuccess) return {};
  std::vector<std::string> all;
  for (int device = 0; device < present; ++device) {
    cudaDeviceProp properties{};
    SC_CHECK(cudaGetDeviceProperties(&properties, device));
    all.emplace_back(std::begin(properties.uuid.bytes), std::end(properties.uuid.bytes));
  }
  return all;
}

}  // namespace shardcheck
