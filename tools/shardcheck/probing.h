// check --probe: the weights of every contribution of a scenario, recovered from one-hot runs
// (properties/linear_probe.h), for people and as JSON.
#pragma once

#include "sim/scenario/scenario.h"
#include "tools/shardcheck/backend_choice.h"
#include "tools/shardcheck/output_file.h"
#include "tools/shardcheck/session.h"

namespace shardcheck {

/// `given` as the user named it: a file or an example.
struct ProbedScenario {
  const std::string& given;
  const Scenario& scenario;
};

/// Throws Error(bad_input) where the scenario has too many contributions.
ExitStatus probe_verb(Session& session, const ProbedScenario& probed, const BackendChoice& choice,
                      const OutputFile& json);

}  // namespace shardcheck
