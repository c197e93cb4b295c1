#include "backends/cuda/doctor.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "backends/cuda/check.h"
#include "backends/cuda/cuda_backend.h"

extern char** environ;  // NOLINT: the name is POSIX's

namespace shardcheck {
namespace {

using Lines = std::vector<std::string>;

void append_gpus(Lines& lines, int count) {
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    SC_CHECK(cudaGetDeviceProperties(&properties, device));
    lines.push_back(fmt::format("GPU {}: {}, compute capability {}.{}, {:.1f} GiB, {} multiprocessors",
                                device, properties.name, properties.major, properties.minor,
                                static_cast<double>(properties.totalGlobalMem) / (1 << 30),
                                properties.multiProcessorCount));
  }
}

void append_versions(Lines& lines) {
  int driver = 0, runtime = 0, nccl = 0;
  SC_CHECK(cudaDriverGetVersion(&driver));
  SC_CHECK(cudaRuntimeGetVersion(&runtime));
  SC_CHECK(ncclGetVersion(&nccl));
  const std::size_t blas = cublasLtGetVersion();
  lines.push_back(fmt::format("driver for CUDA {}.{}, runtime {}.{}", driver / 1000, driver % 1000 / 10,
                              runtime / 1000, runtime % 1000 / 10));
  lines.push_back(fmt::format("cuBLASLt {}.{}.{}", blas / 10000, blas / 100 % 100, blas % 100));
  lines.push_back(fmt::format("NCCL {}.{}.{}", nccl / 10000, nccl / 100 % 100, nccl % 100));
}

void append_links(Lines& lines, int count) {
  for (int from = 0; from < count; ++from) {
    for (int to = from + 1; to < count; ++to) {
      int access = 0, rank = 0;
      SC_CHECK(cudaDeviceCanAccessPeer(&access, from, to));
      if (access != 0) SC_CHECK(cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrPerformanceRank, from, to));
      lines.push_back(access != 0
                          ? fmt::format("link {} - {}: peer access, performance rank {}", from, to, rank)
                          : fmt::format("link {} - {}: no peer access", from, to));
    }
  }
}

void append_settings(Lines& lines) {
  bool any = false;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view setting(*variable);
    if (!setting.starts_with("NCCL_") && !setting.starts_with("CUDA_VISIBLE_DEVICES=")) continue;
    lines.emplace_back(setting);
    any = true;
  }
  if (!any) lines.emplace_back("no NCCL_ variable is set");
}

}  // namespace

std::vector<std::string> cuda_doctor() {
  Lines lines;
  if (const std::string missing = cuda_missing(); !missing.empty()) {
    lines.push_back("cuda: " + missing);
    append_versions(lines);
    return lines;
  }
  int count = 0;
  SC_CHECK(cudaGetDeviceCount(&count));
  append_gpus(lines, count);
  append_versions(lines);
  append_links(lines, count);
  append_settings(lines);
  return lines;
}

}  // namespace shardcheck
