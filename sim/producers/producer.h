// Producers: what a use of a parameter appends to the plan in backward (wgrad 4.1). fused.cpp writes
// main_grad itself and hands a placeholder to autograd, or under R8 adds to what autograd holds; unfused.cpp
// returns a real gradient for the owner's hook; distributed.cpp reduces a scratch itself and adds its part.
#pragma once

#include <functional>
#include <map>
#include <span>

#include "sim/owners/owner.h"
#include "sim/producers/beta.h"
#include "sim/producers/captured_uses.h"

namespace shardcheck {

/// Buffers and decisions that producers keep between uses.
class Producers {
 public:
  explicit Producers(Job& job) : job_(job), captured_uses_(job) {}

  /// Allocates inputs, gradients of autograd and placeholders.
  void setup();

  /// Records is_first_microbatch of this call in forward.
  void forward(const UseSite& site);
  /// Backward of one call: all products, then what autograd and the flags are told. In delayed execution a
  /// write by the protocol is only queued; deferred and assigned gradients always are.
  void backward(CallSites call, Owner& owner);
  /// The attempt at the step is given up: queued writes go.
  void abort_step() {
    queued_.clear();
    deferred_.clear();
  }
  /// A fresh process goes on: graphs are captured again.
  void resume();
  /// True while this backward has a write of the parameter to come.
  bool has_queued(std::int32_t parameter) const;
  /// Issues the queued writes of this backward, call by call, in their order.
  void drain(Owner& owner);
  /// Issues the deferred writes of all microbatches, after the last backward and before its reductions.
  void drain_deferred(Owner& owner);

 private:
  /// The whole gradient of a distributed weight, on every rank, between the product and the addition.
  struct Scratch {
    BufferId buffer;
    std::int32_t lease = -1;  ///< its entry in Plan::buckets
  };
  void add_scratch(std::int32_t parameter);
  void write_distributed(const UseSite& site, Owner& owner);
  void reduce_scratch(const UseSite& site, std::span<const Rank> ranks, View whole);
  void write_fused(CallSites call, Owner& owner);
  View acquire(const UseSite& site, Owner& owner);
  Beta beta_of(const UseSite& site, const UseSite& first, Rank rank);
  void return_placeholder(const UseSite& site);
  void return_nothing(const UseSite& site);
  void return_gradients(CallSites call);
  void add_to_gradients(CallSites call);
  /// The weight gradients, into the destinations or for autograd.
  void compute(CallSites call, Owner& owner);
  /// The products of all members, with the betas of the protocol; one graph where the call is captured.
  void multiply_call(CallSites call, std::span<const View> into);
  /// The products of one use, one for each of its groups, in order, into its rows of `whole`; inside its
  /// graph where the use is captured.
  void multiply(const UseSite& site, View whole, const std::function<Beta(Rank)>& beta_on);

  Job& job_;
  std::vector<std::vector<UseSite>> queued_;   // calls
  std::vector<UseSite> deferred_;              // of this step
  std::map<std::int32_t, Scratch> scratches_;  // a distributed parameter
  std::vector<char> captured_;                 // a use and rank: is_first_microbatch of its last forward
  CapturedUses captured_uses_;
};

/// What autograd holds for the hook of the parameter, in the parameter's type, or that of local sums (R8).
View gradient_of_autograd(const Job& job, std::int32_t parameter);

/// Autograd adds the placeholder to the real gradient, where a rank has both; alone, it is the gradient.
void add_placeholder(Job& job, std::int32_t parameter, std::span<const Rank> ranks);

}  // namespace shardcheck
