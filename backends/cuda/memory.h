// Memory: the buffers of all virtual ranks. For each GPU a buffer is one slab with a part for each of the
// GPU's ranks at a constant distance, so that a local op on all of them is one launch; a buffer on the host
// lies in page-locked memory there. Slabs keep their storage when a later plan allocates the same id again.
// The rules of life and death are those of backends/cpu/memory.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cuda/machine.h"
#include "backends/fold_order.h"
#include "core/plan/plan.h"

namespace shardcheck::gpu {

/// A view of one rank's buffer, found in the memory of a GPU or of the host.
struct Range {
  std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t numel = 0;
  int gpu = 0;  ///< of the rank: index in the machine

  std::int64_t bytes() const { return numel * bytes_of(dtype); }
  bool overlaps(const Range& other) const {
    return gpu == other.gpu && data < other.data + other.bytes() && other.data < data + bytes();
  }
};

/// The parts of a buffer that one GPU has: a row a rank.
struct SlabPart {
  const std::byte* data = nullptr;
  std::int64_t width = 0, pitch = 0;  ///< bytes of a row; from a row to the next
  std::int64_t rows = 0;              ///< 0: not all ranks of the GPU have the buffer
};

class Memory {
 public:
  explicit Memory(Machine& machine) : machine_(machine) {}

  /// A plan starts at op 0. What earlier plans left is dead, but for inputs and for what was written since.
  void start(const Plan& plan);
  /// An execution has ended; later writes belong to what comes next.
  void finish() { ++executions_; }

  /// The buffer comes into being on `rank`. The caller fills it with poison.
  void allocate(const Plan& plan, Rank rank, BufferId id);
  /// The same for a buffer that does not exist there, and true; nothing and false for one that does. For
  /// writes before op 0.
  bool allocate_for_write(const Plan& plan, Rank rank, BufferId id);

  /// The place of `view` on `rank`. Asserts that the buffer exists there and that the view lies in it.
  Range at(const Plan& plan, Rank rank, View view);

  /// The same for a rank that may lie on a GPU of another process: then there is no address.
  Range at_or_elsewhere(const Plan& plan, Rank rank, View view);

  /// The slab that `range`, which at() found in buffer `id`, lies in.
  SlabPart slab_of(const Plan& plan, BufferId id, const Range& range) const;

  Fold fold_of(const Plan& plan) const { return {plan.ranks, machine_.gpus()}; }

 private:
  struct Part {
    bool alive = false;
    std::int64_t written_in = -1;  ///< the value of executions_ at the last write
  };
  struct Slab {
    std::vector<Block> blocks;          ///< one a GPU
    bool on_host = false;               ///< where they lie
    std::vector<Part> parts;            ///< one a rank
    std::int64_t bytes = 0, pitch = 0;  ///< of one rank; from a rank to the next
  };

  Slab& shaped(const Plan& plan, BufferId id);
  void make_room(Slab& slab, int gpu, std::int64_t bytes);
  void release(Slab& slab, int gpu);
  Pool& pool_of(const Slab& slab, int gpu);

  Machine& machine_;
  std::vector<Slab> slabs_;
  std::int64_t executions_ = 0;
};

}  // namespace shardcheck::gpu
