// The machine that `fingerprint` and `record` look at: a backend that computes every product as the chip
// does, and what tells one machine from another. Next: backends/registry.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"
#include "tools/shardcheck/options.h"

namespace shardcheck {

struct MachineChoice {
  std::string backend = "cpu";
  std::string profile;  ///< of the CPU's GEMMs; empty: "ideal"
};

void add_flags(Options& options, MachineChoice& choice);

/// The backend. A GPU gets no product emulated that its library computes, however small. Throws Error for a
/// name that nothing has and a machine that is not here.
std::unique_ptr<Backend> make_machine(const MachineChoice& choice);

/// GPUs, driver and library versions, a line each; empty for a CPU.
std::vector<std::string> versions_of(const MachineChoice& choice);

/// True for a line of gemm_algorithms() that says that the chip's library computed the product.
bool is_by_library(const std::string& algorithm);

}  // namespace shardcheck
