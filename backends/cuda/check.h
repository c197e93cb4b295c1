// Checked calls: every result of CUDA, cuBLASLt and NCCL goes through SC_CHECK, and what fails becomes an
// Error with the call's name.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <string_view>

namespace shardcheck::gpu {

/// Throws Error(machine_cannot) unless the result is success. `call` is the source text of the call; its name
/// is what stands before the first parenthesis.
void check(cudaError_t result, std::string_view call);
void check(cublasStatus_t result, std::string_view call);
/// ncclInProgress counts as success: communicators are non-blocking, and communicators.h waits for them.
void check(ncclResult_t result, std::string_view call);

}  // namespace shardcheck::gpu

/// Evaluates a call and throws Error(machine_cannot) with its name when it fails.
#define SC_CHECK(call) ::shardcheck::gpu::check((call), #call)
