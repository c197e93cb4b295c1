#include "tools/shardcheck/machine.h"

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/doctor.h"
#include "backends/registry.h"

namespace shardcheck {

void add_flags(Options& options, MachineChoice& choice) {
  options.flag(choice.backend, {"backend", "NAME", "machine to look at: cpu, cuda, faulty:NAME"});
  options.flag(choice.profile,
               {"profile", "NAME", "arithmetic of the CPU's GEMMs: ideal or hopper; else ideal"});
}

std::unique_ptr<Backend> make_machine(const MachineChoice& choice) {
  if (choice.backend != "cuda" || !cuda_missing().empty())
    return make_backend(choice.backend, {.profile = choice.profile.empty() ? "ideal" : choice.profile});
  CudaOptions options = cuda_options_from_environment();
  options.emulate_below = 0;
  return make_cuda_backend(options);
}

std::vector<std::string> versions_of(const MachineChoice& choice) {
  return choice.backend == "cuda" ? cuda_doctor() : std::vector<std::string>{};
}

bool is_by_library(const std::string& algorithm) {
  return algorithm.find("cuBLASLt algorithm") != std::string::npos;
}

}  // namespace shardcheck
