// Signalling: what flags, returned gradients and hooks say about a parameter between two hooks (wgrad 5.B),
// kept for every rank and parameter.
#pragma once

#include <vector>

#include "core/contract/reporter.h"

namespace shardcheck {

class Signalling {
 public:
  Signalling(const Plan& plan, Reporter& reporter);

  void apply(const Op& op);

  /// True for (rank, parameter) whose last hook broke a clause: what its fold does to the bytes follows from
  /// that.
  const std::vector<bool>& hook_reported() const { return hook_reported_; }

 private:
  struct Interval {
    int fused = 0;                           ///< writes into the destination since the last hook
    int raised = 0;                          ///< uses that raised the flag since the last hook
    std::int64_t written = 0, promised = 0;  ///< elements of those writes, and of those uses
    std::int64_t replayed = 0;               ///< elements of writes by replays of a graph
    int dummies = 0;                         ///< placeholders handed to autograd since the last hook
    int real = 0;                            ///< real gradients handed to autograd since the last hook
    bool is_later = false;                   ///< a flag was raised for a write that is drained later (W32)
    bool flag = false;                       ///< grad_added_to_main_grad now
    bool cleared = false;                    ///< somebody lowered the flag between a fused use and this hook
  };

  /// What a host knew is gone.
  void forget(Rank rank);
  void hook(const Op& op, const Hook& hook, std::size_t slot, Rank rank);
  void breach(std::string_view clause, Rank rank, const Op& op, const std::string& sentence);

  const Plan& plan_;
  Reporter& reporter_;
  std::vector<Interval> intervals_;
  std::vector<bool> hook_reported_;
};

}  // namespace shardcheck
