// Products: what weights are for: y = x W^T out of row codes, dx = dy W out of column codes (fp8 3.7, 6.1),
// with activations quantised by the recipe that goes with the weights'. Operands of a recipe without products
// on this chip are decoded to bf16, which is exact (fp8 6.7). Scratch is reused: all of it is on one stream.
#pragma once

#include <vector>

#include "sim/producers/producer.h"
#include "sim/weights/weight_store.h"

namespace shardcheck {

class Products {
 public:
  Products(Job& job, const WeightStore& store) : job_(job), store_(store) {}

  /// Allocates outputs, scratch and histories.
  void setup();
  /// The product of a use, on the ranks that have it.
  void run(const UseSite& site, Pass pass);
  /// Ends the step of the activations' delayed scaling, over all ranks.
  void close_step();
  /// History and scale of every activation, where scaling is delayed.
  const std::vector<DelayedViews>& delayed() const { return delayed_; }

 private:
  struct Shape {
    std::int64_t tokens, columns;
  };
  struct Operand {
    View codes, scales, decoded;
  };
  void product(const UseSite& site, Pass pass, std::int64_t tokens, std::span<const Rank> ranks);
  Operand quantise(const UseSite& site, Pass pass, Shape shape, std::span<const Rank> ranks);
  View decode_weight(const UseSite& site, Pass pass, std::span<const Rank> ranks);
  View input_of(const UseSite& site, Pass pass, std::int64_t tokens) const;
  View output_of(const UseSite& site, Pass pass, std::int64_t tokens) const;
  Why why(const UseSite& site, Pass pass) const;
  void allocate_outputs();
  void allocate_scratch();
  void allocate_histories();

  Job& job_;
  const WeightStore& store_;
  std::int64_t most_tokens_ = 0;
  std::vector<View> outputs_;  // a use, pass and microbatch
  View codes_[2], scales_, decoded_activation_, decoded_weight_;
  std::vector<DelayedViews> delayed_;  // a use: of x, then of dy
  View packed_amaxes_;
};

}  // namespace shardcheck
