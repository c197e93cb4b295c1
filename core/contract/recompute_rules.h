// RecomputeRules: what may happen while activations are computed again (wgrad W37): products of the forward,
// and an unshard that lowers a flag; nothing else of the gradient protocol. Neutrality of values is judged by
// a twin run (properties/loop_relations.h).
#pragma once

#include <vector>

#include "core/contract/reporter.h"

namespace shardcheck {

class RecomputeRules {
 public:
  RecomputeRules(const Plan& plan, Reporter& reporter)
      : plan_(plan), reporter_(reporter), inside_(static_cast<std::size_t>(plan.ranks), 0) {}

  void apply(const Op& op);

 private:
  void set(const Op& op, bool inside);

  const Plan& plan_;
  Reporter& reporter_;
  std::vector<char> inside_;  // a rank
  std::int64_t count_ = 0;    // ranks that are inside
};

}  // namespace shardcheck
