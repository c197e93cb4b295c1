// Machine: the GPUs that ranks are folded onto. A Gpu has a CUDA stream for each stream of a plan, memory,
// and the order between ops and what the host asks for: host work (a write, an allocation) comes after all
// earlier ops and before all later ones; ops of two streams are ordered by the plan's events only. Next:
// memory.h.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/communicators.h"
#include "backends/cuda/cuda_options.h"
#include "backends/cuda/handles.h"
#include "backends/cuda/pool.h"
#include "core/plan/op.h"

namespace shardcheck::gpu {

class Gpu {
 public:
  Gpu(int device, StreamUse use, Communicators& communicators);
  ~Gpu();

  int device() const { return device_; }
  /// Its own memory, and memory of the host that it reaches.
  Pool& pool() { return pool_; }
  Pool& host_pool() { return host_pool_; }

  /// The stream of an op that is about to be enqueued; its GPU becomes the current one.
  cudaStream_t begin_op(Stream stream);
  /// The stream of host work that is about to be enqueued; its GPU becomes the current one.
  cudaStream_t begin_host_work();
  /// Waits until everything enqueued so far has ended.
  void await();

  /// At least `bytes` for the op that begins on `stream`; what earlier ops of that stream left in it is lost.
  std::byte* scratch(Stream stream, std::int64_t bytes);

 private:
  cudaStream_t stream_of(Stream stream) const;
  bool separate() const { return streams_.back() != nullptr; }

  int device_;
  Communicators& communicators_;
  Pool pool_, host_pool_;
  /// A stream of the plan beside compute, on which host work is.
  struct Beside {
    OwnedEvent ops_done;
    bool has_ops = false;    ///< that host work has not been ordered after yet
    bool must_wait = false;  ///< for host_work_done_
  };

  std::array<OwnedStream, kStreams> streams_;  ///< only the first when streams are serialised
  std::array<Beside, kStreams> beside_;        ///< the first is not used
  OwnedEvent host_work_done_;
  std::array<Block, kStreams> scratch_;
  bool host_work_is_last_ = false;  ///< no op has begun since
};

class Machine {
 public:
  /// Error(machine_cannot) when there is no GPU, or fewer than options.gpus or options.devices ask for.
  explicit Machine(const CudaOptions& options);

  const CudaOptions& options() const { return options_; }
  /// That ranks are folded onto: of all processes, numbered as world.h says.
  int gpus() const { return options_.world.is_alone() ? here() : options_.world.gpus; }
  /// True for a GPU of this process.
  bool has(int index) const { return index >= first() && index < first() + here(); }
  Gpu& gpu(int index) { return *gpus_[static_cast<std::size_t>(index - first())]; }
  Communicators& communicators() { return communicators_; }
  void await();
  /// "2 x NVIDIA H200 (compute capability 9.0), driver CUDA 13.0".
  std::string describe() const;
  /// True when every GPU is one whose tensor cores the profile `hopper` describes.
  bool is_hopper() const;

 private:
  int first() const { return options_.world.first; }
  int here() const { return static_cast<int>(gpus_.size()); }

  CudaOptions options_;
  Communicators communicators_;  // outlives the streams that its work is in
  std::vector<std::unique_ptr<Gpu>> gpus_;
};

}  // namespace shardcheck::gpu
