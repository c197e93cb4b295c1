// WeightChecker: compares the FP8 weights of a running plan with WeightModel, bit for bit: masters after
// every optimizer step, codes and scales of every rank right before each product that reads them, and what
// forward recomputed. The first difference of a weight becomes a finding that says what the bytes equal
// instead.
#pragma once

#include <cstdint>
#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"
#include "sim/oracle/activation_checker.h"
#include "sim/oracle/weight_model.h"
#include "sim/planner/planned.h"
#include "sim/scenario/data.h"

namespace shardcheck {

class WeightChecker {
 public:
  WeightChecker(const Scenario& scenario, const ScenarioData& data, const Planned& planned);

  /// Ops before which at_stop has to be called. None without FP8 weights, or where another process holds
  /// ranks: a version is known from the pieces of all.
  std::vector<OpIndex> stops(const Backend& backend) const;
  void at_stop(OpIndex op, Backend& backend);
  /// After the last op.
  void at_end(Backend& backend);

  std::vector<Finding> take();

 private:
  /// A weight on the ranks that hold the same one: experts differ between expert-parallel coordinates.
  struct Replica {
    std::int32_t parameter = 0;
    std::vector<Rank> ranks;
    WeightModel model;
    bool is_reported = false;
  };
  /// What an op reads of a weight on one rank.
  struct Reading {
    OpIndex op;
    Rank rank;
    View view;
    recipe::Direction direction;
    bool is_scales = false;
    std::int64_t first = 0;  ///< position of the view in the stored codes
  };

  std::vector<float> masters_of(const Replica& replica, Backend& backend);
  void check_masters(Replica& replica, const std::vector<float>& actual, OpIndex op);
  void begin(OpIndex op, Backend& backend);
  void end_step(OpIndex op, Backend& backend);
  void check_use(OpIndex op, Backend& backend);
  void check_scaling(Replica& replica, OpIndex op, Backend& backend);
  void check_recomputed(std::int32_t step, Backend& backend);
  void compare(Replica& replica, const Reading& reading, Backend& backend);
  Replica* replica_of(std::int32_t parameter, Rank rank);
  Finding finding_of(const Replica& replica, OpIndex op, Rank rank) const;
  bool was_reloaded(std::int32_t step) const;
  void keep(Finding finding);

  const Scenario& scenario_;
  const ScenarioData& data_;
  const Planned& planned_;
  ActivationChecker activations_;
  std::vector<Replica> replicas_;
  bool has_begun_ = false;
  std::vector<std::vector<float>> last_masters_;  // a replica: after the last step
  std::int32_t step_ = -1;
  std::vector<Finding> findings_;
};

}  // namespace shardcheck
