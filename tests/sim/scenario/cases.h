// What the tests of sim/scenario share: a small valid scenario, one with every field away from its default,
// and the sentence of an Error.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "sim/scenario/scenario.h"

namespace shardcheck::tests {

/// Two ranks, two microbatches, one step, one fused 2x2 weight.
inline Scenario small_scenario() {
  Scenario s;
  s.steps = 1;
  s.parameters = {{.name = "w0", .shape = {2, 2}}};
  s.uses = {{.parameter = 0}};
  return s;
}

/// Valid, and no field has its default.
inline Scenario unusual_scenario() {
  Scenario s;
  s.name = "tied \"head\" \xC3\xA9";
  s.seed = 18446744073709551615u;
  s.ranks = 4;
  s.expert_parallel = 2;
  s.strategy = Strategy::fsdp_optim_grads;
  s.bucket_size = 40;
  s.overlap = false;
  s.slots = 3;
  s.zeroing = false;
  s.write_mode = WriteMode::te_module;
  s.first_microbatch = FirstMicrobatch::armed;
  s.execution = Execution::graph;
  s.parameters = {{.name = "embed", .shape = {64, 8}, .dtype = DType::f16, .unit = 1},
                  {.name = "norm", .shape = {0}, .dtype = DType::f32, .trainable = false},
                  {.name = "expert", .shape = {8, 32}, .expert = true, .unit = 2}};
  s.uses = {{.parameter = 0, .producer = Producer::unfused},
            {.parameter = 1, .producer = Producer::unfused},
            {.parameter = 2, .producer = Producer::other},
            {.parameter = 0, .producer = Producer::fused, .unit = 2}};
  s.steps = 3;
  s.microbatches = 4;
  s.tokens = 5;
  s.token_counts = {{.rank = 3, .microbatch = 0, .tokens = 0}};
  s.silent = {{.parameter = 2, .step = 1, .rank = 3, .microbatch = 2}, {.parameter = 0}};
  s.loss = Loss::per_token;
  s.scaling = Scaling::finalize;
  s.main_grad = DType::f16;
  s.comm = DType::bf16;
  s.data = DataMode::integers;
  s.fp8 = Fp8Training{.recipe = "te-delayed",
                      .history = 3,
                      .masters = Masters::from_bytes,
                      .transposes = Transposes::keep,
                      .recompute = true,
                      .skipped_steps = {1},
                      .evaluations = {0, 2},
                      .reload_after = 1};
  s.fault = "stale-slot";
  return s;
}

/// The sentence of the Error that `act` throws, which must be bad_input; empty when it throws none.
template <class Act>
std::string sentence_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
    return error.what();
  }
  return "";
}

}  // namespace shardcheck::tests
