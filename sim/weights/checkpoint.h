// Checkpoint: what is saved of FP8 training and loaded again (fp8 4.9, E16, E17): masters, the own codes,
// scales, histories and scales of delayed scaling. Gathered bytes and derived copies are not; they are
// rebuilt.
#pragma once

#include "sim/weights/gathers.h"
#include "sim/weights/products.h"

namespace shardcheck {

class Checkpoint {
 public:
  Checkpoint(Job& job, const WeightStore& store, const Products& products);

  /// Allocates what is saved.
  void setup();
  /// Saves, forgets everything, and loads it again.
  void reload(Gathers& gathers);

 private:
  /// What is saved of every rank, which may be nothing.
  struct Kept {
    std::vector<View> live;  ///< by rank
    BufferId saved;
  };
  enum class Way : std::uint8_t { save, load };
  void keep(const std::string& name, BufferRole role, std::vector<View> live);
  void copy(const Kept& kept, Way way);

  Job& job_;
  const WeightStore& store_;
  const Products& products_;
  std::vector<Kept> all_;
};

}  // namespace shardcheck
