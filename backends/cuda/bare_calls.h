// Bare calls: how long a copy, a product or a collective takes when CUDA, cuBLASLt and NCCL are called with
// nothing around them. The ceilings that a backend is measured against, in the same run. Read next:
// tools/bench/gpu_bench.cpp, which prints both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/plan/op.h"
#include "core/tensor/dtype.h"

namespace shardcheck {

/// Seconds of one call: the median of 20 samples of 10 calls each, after one sample that is dropped. `calls`
/// makes 10 calls and returns when their work has ended.
double seconds_of_a_call(const std::function<void()>& calls);
inline constexpr int kCallsASample = 10;

/// Random codes over eight binades up to 2, of both signs: what a product or a cast is timed on, because
/// zeros cost a chip less power and run faster.
void random_codes(DType type, std::span<std::byte> bytes);

/// A device-to-device copy of `bytes` on GPU 0, which reads and writes as many.
double bare_copy_seconds(std::int64_t bytes);

struct OperandTypes {
  DType a, b, d;
};
/// cublasLtMatmul on GPU 0, on random operands and with scales of 1. The library's heuristic is asked for an
/// algorithm without workspace, as the backend asks, and its first is taken. Throws Error(machine_cannot)
/// where it has none.
double bare_gemm_seconds(const Matmul& op, const OperandTypes& types);

/// The collective among all GPUs of the host, in fp32; `bytes` are those of the larger side on each GPU.
double bare_collective_seconds(Collective collective, std::int64_t bytes);

}  // namespace shardcheck
