// WeightStore: the buffers of FP8 weights: codes in the layout of the owner's buckets, so that one collective
// gathers a bucket in place; scales, amaxes and factors a parameter; and who owns which elements. Where that
// layout cuts a parameter into pieces that do not follow each other (FSDP2), whole codes have storage of
// their own. Next: requantise.h fills them, gathers.h makes them whole.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/planner/job.h"
#include "sim/weights/weight_recipe.h"

namespace shardcheck {

/// Elements [first, first + numel) of a parameter that a rank owns, and their master weights.
struct WeightPiece {
  std::int64_t first = 0, numel = 0;
  std::int64_t place = 0;  ///< of its codes in those of the bucket
  View master;
};

/// One quantised copy of a parameter; views are the same on every rank.
struct CopyViews {
  View codes, scales;    ///< whole
  View amaxes, factors;  ///< one a block; empty where the copy is derived
};

/// State of delayed scaling of one tensor.
struct DelayedViews {
  View amax;     ///< of the open step, one
  View history;  ///< H
  View scale;    ///< and its inverse: two
};

struct Weight {
  std::int32_t parameter = 0;
  recipe::Extent extent;
  View initial;                     ///< in the model's type, until masters are built
  View rounded;                     ///< the own piece of the master in the model's type, at its begin
  CopyViews row, column;            ///< column: gathered or derived
  DelayedViews delayed;             ///< views of nothing where scales are not delayed
  std::vector<WeightPiece> pieces;  ///< by rank

  CopyViews& copy(recipe::Direction direction) { return direction == recipe::Direction::row ? row : column; }
  const CopyViews& copy(recipe::Direction direction) const {
    return direction == recipe::Direction::row ? row : column;
  }
};

/// Amaxes of all weights that are reduced over the same ranks, in one buffer (fp8 4.2 step 3).
struct PackedAmaxes {
  bool expert = false;
  View all;
};

class WeightStore {
 public:
  explicit WeightStore(Job& job);

  /// Allocates, and says in the plan where the copies and the initial values lie.
  void setup();

  const WeightRecipe& recipe() const { return recipe_; }
  const std::vector<Weight>& weights() const { return weights_; }
  const Weight& weight_of(std::int32_t parameter) const {
    return weights_[static_cast<std::size_t>(index_of_[static_cast<std::size_t>(parameter)])];
  }
  bool has(std::int32_t parameter) const { return index_of_[static_cast<std::size_t>(parameter)] >= 0; }
  const std::vector<PackedAmaxes>& packed() const { return packed_; }

  /// The codes of a bucket in that direction; numel 0 where the bucket has no FP8 weight.
  View bucket_codes(std::size_t bucket, recipe::Direction direction) const;
  /// True where ranks own slices of codes, and have to gather them.
  bool is_sharded(std::size_t bucket) const;
  /// True where gathered codes are copied out of the bucket to be whole.
  bool is_copied_out(std::size_t bucket) const;
  bool is_copied_out(const Weight& weight) const { return is_copied_out(bucket_of(weight.parameter)); }
  /// True for an owner that gives whole codes up when they have been used; the others keep them.
  bool gives_up() const;
  /// The codes that the rank casts.
  View own_codes(const Weight& weight, recipe::Direction direction, Rank rank) const;

  BlockCopy block_copy(const Weight& weight, recipe::Direction direction) const {
    return {recipe_.weights, direction, weight.extent.rows, weight.extent.columns};
  }

 private:
  void allocate_codes();
  void allocate_weight(Weight& weight);
  void allocate_amaxes();
  void allocate_histories();
  void note_own_codes(const Weight& weight, recipe::Direction direction);
  std::vector<WeightPiece> pieces_of(std::int32_t parameter) const;
  std::size_t bucket_of(std::int32_t parameter) const {
    return static_cast<std::size_t>(job_.geometry.bucket_of[static_cast<std::size_t>(parameter)]);
  }

  Job& job_;
  WeightRecipe recipe_;
  std::vector<Weight> weights_;
  std::vector<std::int32_t> index_of_;       // a parameter: its place in weights_, or -1
  std::vector<View> row_codes_, col_codes_;  // a bucket
  std::vector<PackedAmaxes> packed_;
};

}  // namespace shardcheck
