// Gathers: when the codes of a bucket are whole on every rank, and when a derived copy is valid (fp8 4.9, E3,
// E6 to E8, E11, E12). A gather runs beside compute where the owner overlaps, ordered by events (F46). FSDP2
// gathers its rows bucket by bucket, and copies them out on compute.
#pragma once

#include <optional>
#include <vector>

#include "sim/weights/weight_store.h"

namespace shardcheck {

class Gathers {
 public:
  Gathers(Job& job, const WeightStore& store);

  /// The codes are those of a whole quantisation on every rank: at creation.
  void begin_whole();
  /// New codes in the own pieces: the rest of every bucket, and every derived copy, is behind.
  void invalidate();

  /// Starts to gather a bucket, unless it is whole or on its way.
  void launch(std::size_t bucket, recipe::Direction direction);
  /// Compute goes on when the bucket is whole.
  void await(std::size_t bucket, recipe::Direction direction);
  /// Compute goes on when nothing is on its way any more.
  void settle();
  /// The column copy of a weight, where it is derived and not valid.
  void derive(const Weight& weight);
  /// Drops the derived copy of the weight.
  void discard(const Weight& weight);
  /// Only the own pieces of the bucket are promised from here on.
  void reshard(std::size_t bucket);
  /// All codes and derived copies are gone, whatever the owner keeps.
  void forget();

 private:
  struct State {
    bool is_whole = false;           // or will be when it is awaited
    bool is_packed = false;          // gathered, and not copied out of the bucket
    std::optional<EventId> arrives;  // on the reduce stream, and compute has not waited for it
  };
  State& state(std::size_t bucket, recipe::Direction direction) {
    return states_[2 * bucket + static_cast<std::size_t>(direction)];
  }
  /// Visits the FP8 weights of the bucket.
  template <class Visit>
  void each_weight(std::size_t bucket, Visit visit) const {
    for (const std::int32_t parameter : job_.geometry.buckets[bucket].parameters) {
      if (store_.has(parameter)) visit(store_.weight_of(parameter));
    }
  }
  /// Whole codes out of the pieces that a gather has brought, which are not needed any more.
  void copy_out(std::size_t bucket, recipe::Direction direction);
  /// Undefines what others own.
  void undefine_rest(std::size_t bucket, recipe::Direction direction);
  /// Undefines the whole codes of the weight.
  void undefine_whole(const Weight& weight, recipe::Direction direction);

  Job& job_;
  const WeightStore& store_;
  std::vector<State> states_;          // a bucket and direction
  std::vector<bool> has_column_copy_;  // a parameter: its derived copy is valid
};

}  // namespace shardcheck
