// CudaOptions: how the CUDA backend uses the machine. No choice here changes a bit of a result, except the
// number of GPUs through the fold order of reductions (backends/fold_order.h). Next: cuda_backend.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "backends/cuda/world.h"

namespace shardcheck {

/// Whether the plan's streams are streams of their own.
enum class StreamUse : std::uint8_t {
  as_planned,  ///< only the plan's events order its streams
  serialised,  ///< one stream a GPU, and the host waits after every op: to find the op that fails
};

struct CudaOptions {
  /// GPUs to fold the ranks onto; 0: all that are present.
  int gpus = 0;
  /// Their device numbers; empty: the first `gpus`.
  std::vector<int> devices;
  /// The other processes whose GPUs take part (world.h).
  World world;
  StreamUse streams = StreamUse::as_planned;
  /// A GEMM with fewer multiply-adds a rank runs on our own kernel, all ranks in one launch, bit for bit what
  /// the tensor cores give; from this many on cuBLASLt runs it, one call a rank. 0: always cuBLASLt where it
  /// can.
  std::int64_t emulate_below = std::int64_t{1} << 20;
  /// Which of the algorithms that cuBLASLt offers for a product computes it, best first. A product with fewer
  /// offers is emulated. All give the same bits (law F66); other than 0 is for asking just that.
  int library_offer = 0;
  /// How long a collective may take before its peers count as lost.
  std::chrono::milliseconds comm_timeout{120'000};
};

/// The options with what SHARDCHECK_GPUS, SHARDCHECK_SERIALISE (0 or 1), SHARDCHECK_EMULATE_BELOW and
/// SHARDCHECK_COMM_TIMEOUT (seconds) say. A value that is no number is Error(bad_input).
CudaOptions cuda_options_from_environment();

}  // namespace shardcheck
