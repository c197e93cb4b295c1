// Which recipe a checkpoint is held against, where neither the user nor the file says: of those that could
// have made the pairs, the one that explains the most of a sample. Next: verify.h.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "properties/checkpoint_quantisation/pairs.h"
#include "properties/checkpoint_quantisation/sweep.h"

namespace shardcheck::verify {

/// The recipe of every kind of pair: pairs of one kind have the same candidates.
class Choice {
 public:
  /// `source` is null without a high-precision checkpoint. Reads some blocks of some pairs.
  Choice(const std::vector<Pair>& pairs, const checkpoint::TensorFiles* source, const SweepOptions& options);

  /// Nothing where no recipe has such types and shapes.
  std::optional<Candidate> of(const Pair& pair) const;
  /// Other recipes that explain the sample as well, by name.
  std::vector<std::string_view> equals_of(const Pair& pair) const;

 private:
  struct Vote {
    const recipe::Recipe* best = nullptr;
    std::vector<std::string_view> equals;
  };
  std::map<std::string, Vote> votes_;
};

}  // namespace shardcheck::verify
