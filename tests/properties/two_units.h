// A training step whose two units take turns in one slot: what the tests of schedules and delays race on.
#pragma once

#include <string>

#include "sim/scenario/scenario.h"

namespace shardcheck::tests {

inline Scenario two_units_and_one_slot(const std::string& fault) {
  return {
      .strategy = Strategy::fsdp_optim_grads,
      .slots = 1,
      .parameters = {{.name = "a", .shape = {2, 12}, .unit = 0}, {.name = "b", .shape = {2, 12}, .unit = 1}},
      .uses = {{0}, {1}},
      .fault = fault};
}

}  // namespace shardcheck::tests
