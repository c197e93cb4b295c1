// Whether a scenario's results are exact, and if not, by how much they may be off: counted from the declared
// pipeline of the scenario, never chosen (wgrad 8.3, 8.7, 8.9).
#pragma once

#include "sim/oracle/oracle.h"

namespace shardcheck {

Exactness exactness_of(const Scenario& scenario, const ScenarioData& data, std::int32_t parameter);

/// Significant bits of a 16- or 32-bit type.
constexpr int significand_of(DType type) {
  return type == DType::f32 ? 24 : type == DType::f16 ? 11 : 8;
}

}  // namespace shardcheck
