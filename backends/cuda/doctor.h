// What `shardcheck doctor` prints about the CUDA backend: GPUs, versions, links, settings; and whether this
// machine's tensor cores compute what the profile `hopper` says.
#pragma once

#include <string>
#include <vector>

namespace shardcheck {

/// A line each; one line with the reason where there is no CUDA backend.
std::vector<std::string> cuda_doctor();

struct ArithmeticConfirmation {
  bool confirmed = false;
  std::vector<std::string> lines;  ///< one a GEMM: shape, outputs that differ, what computed it
};

/// Runs a few weight gradients through cuBLASLt on GPU 0 and compares every output with the profile `hopper`,
/// bit for bit. Not confirmed, with the reason, where there is no CUDA backend, or where cuBLASLt computed
/// none of them.
ArithmeticConfirmation confirm_arithmetic();

}  // namespace shardcheck
