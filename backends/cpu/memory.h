// Memory: the buffers of all virtual ranks. A buffer is one slab with a part for each rank; slabs keep their
// storage when a later plan allocates the same id again. Invariant: nothing is read that was neither
// allocated nor written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/plan/plan.h"

namespace shardcheck::cpu {

/// A view of one rank's buffer, found in memory.
struct Range {
  std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t numel = 0;

  std::int64_t bytes() const { return numel * bytes_of(dtype); }
  bool overlaps(const Range& other) const {
    return data < other.data + other.bytes() && other.data < data + bytes();
  }
};

/// Storage in whole cache lines: every rank's part of a slab begins on one, so that vectors load aligned.
struct alignas(64) CacheLine {
  std::byte bytes[64];
};

class Memory {
 public:
  /// A plan starts at op 0. What earlier plans left is dead, but for inputs and for what was written since.
  void start(const Plan& plan);
  /// An execution has ended; later writes belong to what comes next.
  void finish() { ++executions_; }

  /// The buffer comes into being on `rank`. The caller fills all of it, which is returned, with poison.
  Range allocate(const Plan& plan, Rank rank, BufferId id);
  /// A buffer that does not exist there comes into being, filled with poison; nothing for one that does. For
  /// writes before op 0.
  void allocate_for_write(const Plan& plan, Rank rank, BufferId id);

  /// The bytes of `view` on `rank`. Asserts that they exist and lie in the buffer.
  Range at(const Plan& plan, Rank rank, View view);

 private:
  struct Part {
    bool alive = false;
    std::int64_t written_in = -1;  ///< the value of executions_ at the last write
  };
  struct Slab {
    std::unique_ptr<CacheLine[]> lines;  ///< not touched before a rank is allocated
    std::int64_t room = 0;               ///< lines there are
    std::vector<Part> parts;             ///< one a rank
    std::int64_t bytes = 0, pitch = 0;   ///< of one rank; from a rank to the next, in lines
  };

  Slab& shaped(const Plan& plan, BufferId id);

  std::vector<Slab> slabs_;
  std::int64_t executions_ = 0;
};

/// Overwrites the range with the bit pattern of `poison`.
void fill_with_poison(const Range& range, Poison poison);

}  // namespace shardcheck::cpu
