// Fp8Weights: the life of FP8 weights beside the gradients of a training loop (fp8 4.9, E1 to E17). The loop
// tells it what happens; owner and recipe are data of its parts: weight_store.h (where codes lie),
// requantise.h (from masters to codes), gathers.h (whole codes and derived copies), products.h (their use),
// checkpoint.h (save and load).
#pragma once

#include <span>
#include <vector>

#include "sim/weights/checkpoint.h"
#include "sim/weights/gathers.h"
#include "sim/weights/products.h"

namespace shardcheck {

class Fp8Weights {
 public:
  explicit Fp8Weights(Job& job);

  /// Allocates; after the owner has.
  void setup();
  /// Weights come into being out of their initial values, which are in place by then.
  void create();
  /// The products of these uses, in this order, are next.
  void begin_pass(Pass pass, const std::vector<UseSite>& sites);
  /// A use of the pass, the next one of those with FP8 weights: its product, behind the gather of its bucket.
  void use(const UseSite& site);
  /// The optimizer has stepped, or has left the step out.
  void end_step();
  /// After the step: a forward without backward, and saving and loading.
  void between_steps(const std::vector<UseSite>& sites);

 private:
  /// Copies that the pass reads of a bucket, before anything is derived.
  std::vector<recipe::Direction> gathered_for(Pass pass) const;
  /// Starts the gathers of the bucket at that position of the pass.
  void launch(std::size_t position);
  void launch_all();
  void release(std::size_t bucket);
  /// Whether the owner gives up a bucket when such a pass has used it for the last time.
  bool gives_up_after(Pass pass) const;
  void reshard_all();

  Job& job_;
  WeightStore store_;
  Gathers gathers_;
  Products products_;
  Checkpoint checkpoint_;
  Pass pass_ = Pass::forward;
  std::vector<std::size_t> buckets_;  // of the uses of this pass, in their order
  std::size_t next_ = 0;              // position of the next use in it
};

}  // namespace shardcheck
