// ActivationChecker: delayed scaling of what FP8 weights are multiplied by: after every step, history and
// scale of x and dy of every use against core/recipe and the amaxes of the scenario's data, on all ranks
// (F54, F55).
#pragma once

#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"
#include "core/recipe/delayed.h"
#include "sim/planner/planned.h"
#include "sim/scenario/data.h"

namespace shardcheck {

class ActivationChecker {
 public:
  ActivationChecker(const Scenario& scenario, const ScenarioData& data, const Planned& planned);

  /// The step has closed: `op` is its EndStep.
  void end_step(OpIndex op, Backend& backend);
  /// Before the op, and after a load: nothing may have changed.
  void reloaded(OpIndex op, Backend& backend);

  std::vector<Finding> take() { return std::move(findings_); }

 private:
  struct Tensor {
    DelayedActivation slot;
    recipe::DelayedOptions options;
    recipe::DelayedScaling scaling;
    bool is_reported = false;
  };
  float amax_of(const Tensor& tensor, std::int32_t step) const;
  void compare(Tensor& tensor, std::string_view clause, OpIndex op, Backend& backend);

  const Scenario& scenario_;
  const ScenarioData& data_;
  const Planned& planned_;
  std::vector<Tensor> tensors_;
  std::vector<Finding> findings_;
};

}  // namespace shardcheck
