// CapturedUses: uses that run as CUDA graphs (wgrad 4.1 Q15), one graph a call. Every replay reads the same
// static inputs, which the compute stream fills before it, writes with the beta of the first execution, and
// runs on the stream of graphs; whoever touches what it writes waits for the event that follows it (E16).
// Next: core/plan/graph_region.h.
#pragma once

#include <optional>
#include <vector>

#include "sim/planner/job.h"
#include "sim/producers/beta.h"
#include "sim/producers/use_site.h"

namespace shardcheck {

class CapturedUses {
 public:
  explicit CapturedUses(Job& job) : job_(job) {}

  /// Allocates the static inputs, and for uses that return a gradient the static gradient. After the inputs.
  void setup();
  /// A fresh process captures again.
  void restart();

  /// True for a use that is captured: a fused or an unfused one, under Execution::graph.
  bool has(const UseSite& site) const;
  /// The beta that the graph of the use writes with on the rank: what was asked for at its first execution.
  Beta baked(const UseSite& site, Rank rank, Beta asked);

  /// Copies the operands of this microbatch into the static inputs, and begins the graph.
  void begin(CallSites call);
  /// Ends the graph and records its event.
  void end(CallSites call);

  /// The static inputs of a group of the use.
  InputViews inputs(const UseSite& site, std::int32_t group) const;
  /// Where every replay of the use leaves the gradient that it returns.
  View gradient(const UseSite& site) const;

 private:
  void load(const UseSite& site);

  struct Captured {
    std::vector<InputViews> inputs;  ///< a group
    std::optional<View> gradient;
    GraphId id{-1};              ///< of the call that it begins; -1: not captured yet
    std::vector<char> baked;     ///< a rank: 0 not captured yet, else 1 + accumulate
    std::vector<EventId> ended;  ///< a rank: the last replay of the call that it begins
  };
  Captured& of(const UseSite& site) { return uses_[static_cast<std::size_t>(site.position)]; }
  const Captured& of(const UseSite& site) const { return uses_[static_cast<std::size_t>(site.position)]; }

  Job& job_;
  std::vector<Captured> uses_;  // a position in scenario.uses; empty where nothing is captured
  std::int32_t next_id_ = 0;
};

}  // namespace shardcheck
