// The absence of the CUDA backend. SHARDCHECK_NO_CUDA_REASON comes from CMakeLists.txt beside this file.
#include "backends/cuda/cuda_backend.h"
#include "core/error.h"

namespace shardcheck {

std::string cuda_missing() {
  return SHARDCHECK_NO_CUDA_REASON;
}

std::unique_ptr<Backend> make_cuda_backend(const BackendOptions&) {
  throw Error(ErrorKind::machine_cannot, "cuda: " + cuda_missing());
}

}  // namespace shardcheck
