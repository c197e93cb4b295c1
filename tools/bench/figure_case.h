// The case that the project's figure speaks of: 8 ranks, 4 parameters of 1,000 elements, 4 microbatches, 2
// steps. Read next: contract_bench.cpp and gpu_bench.cpp, which count how many of it a second pass.
#pragma once

#include <string>

#include "sim/scenario/scenario.h"

namespace shardcheck {

inline Scenario figure_case(Strategy strategy) {
  Scenario s;
  s.strategy = strategy;
  if (is_unfused_only(strategy)) s.write_mode = WriteMode::r7;
  s.ranks = 8;
  s.microbatches = 4;
  s.steps = 2;
  for (int p = 0; p < 4; ++p) {
    s.parameters.push_back({.name = "w" + std::to_string(p), .shape = {25, 40}, .unit = p});
    s.uses.push_back({p, Producer::fused, -1});
  }
  return s;
}

}  // namespace shardcheck
