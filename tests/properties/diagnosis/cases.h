// Scenarios and findings that the tests of this folder start from.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "backends/registry.h"
#include "properties/diagnosis/diagnosis.h"
#include "properties/evidence.h"
#include "sim/scenario/validate.h"

namespace shardcheck::test {

inline std::unique_ptr<Backend> backend(const std::string& spec = "cpu") {
  return make_backend(spec, {.profile = "ideal"});
}

/// The job of wgrad 9: one 2x2 weight, two ranks, two microbatches, one step; contribution i is 4^i in
/// element 0.
inline Scenario worked_example() {
  Scenario s;
  s.name = "worked example";
  s.steps = 1;
  s.parameters = {{.name = "w", .shape = {2, 2}}};
  s.uses = {{0, Producer::fused, -1}};
  return s;
}

/// Valid jobs of every strategy, write mode and scale placement, with a tied, an expert's and a 1-D
/// parameter, a silence and an empty microbatch; today's write modes break the contract in some of them.
inline std::vector<Scenario> jobs() {
  Scenario base = worked_example();
  base.ranks = 4;
  base.steps = 2;
  base.parameters = {{.name = "dense", .shape = {3, 8}},
                     {.name = "expert", .shape = {2, 8}, .expert = true, .unit = 1},
                     {.name = "bias", .shape = {40}}};
  base.uses = {{0, Producer::fused, -1},
               {1, Producer::fused, -1},
               {2, Producer::unfused, -1},
               {0, Producer::unfused, -1}};
  base.expert_parallel = 2;
  base.silent = {{1, 1, 2, -1}};
  base.token_counts = {{1, 0, 0}};
  std::vector<Scenario> all;
  for (int strategy = 0; strategy < kStrategies; ++strategy) {
    for (int mode = 0; mode < kWriteModes; ++mode) {
      for (const Scaling scaling : {Scaling::before, Scaling::in_collective, Scaling::finalize}) {
        Scenario s = base;
        s.strategy = static_cast<Strategy>(strategy);
        s.write_mode = static_cast<WriteMode>(mode);
        s.scaling = scaling;
        s.zeroing = mode % 2 == 0;
        s.comm = mode % 3 == 0 ? DType::bf16 : DType::f32;
        s.data = s.comm == DType::bf16 ? DataMode::integers : DataMode::provenance;
        try {
          validate(s, "job");
        } catch (const std::exception&) {
          continue;
        }
        all.push_back(std::move(s));
      }
    }
  }
  return all;
}

/// The first finding of the clause; the test fails when there is none.
inline Finding finding_of(const Scenario& scenario, const std::string& clause, Backend& on) {
  for (const Finding& finding : examine(on, scenario, Poison::quiet_nan).findings) {
    if (finding.clause == clause) return finding;
  }
  ADD_FAILURE() << "no finding of " << clause;
  return {};
}

inline Diagnosis diagnose(const Scenario& scenario, const std::string& clause, Backend& on) {
  return shardcheck::diagnose(scenario, finding_of(scenario, clause, on), on);
}

/// "rank: value: contents" of each event, one a line.
inline std::string table_of(const Diagnosis& diagnosis) {
  std::string table;
  for (const ByteEvent& event : diagnosis.history) {
    table +=
        std::to_string(event.op.value) + " r" + std::to_string(event.rank) + " " + to_text(event.value) + ":";
    for (const std::string& content : event.contents) table += " " + content + ";";
    table += "\n";
  }
  return table;
}

inline bool has_mending(const Diagnosis& diagnosis, const std::string& change, bool mends) {
  for (const Counterfactual& c : diagnosis.counterfactuals) {
    if (c.change == change) return c.mends == mends;
  }
  ADD_FAILURE() << "nobody tried: " << change;
  return false;
}

}  // namespace shardcheck::test
