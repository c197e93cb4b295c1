// The scenarios on which faults are tried: two fused 4x32 weights, made ready by the fault.
#pragma once

#include <map>

#include "core/assert.h"
#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"
#include "sim/faults/zoo.h"
#include "sim/scenario/validate.h"
#include "tests/sim/story.h"

namespace shardcheck::tests {

inline Scenario two_weights(Strategy strategy = Strategy::megatron_ddp) {
  Scenario s = base(strategy);
  s.parameters.push_back({.name = "w1", .shape = {4, 32}});
  s.uses.push_back({.parameter = 1});
  if (is_unfused_only(strategy)) {
    for (ScenarioUse& use : s.uses) use.producer = Producer::unfused;
  }
  return s;
}

inline Scenario prepared(const Fault& fault, Scenario s = two_weights()) {
  fault.prepare(s);
  prepare::repair(s);
  validate(s, std::string(fault.id));
  return s;
}

/// The plan of the prepared scenario, rewritten by the fault of that id.
inline Plan rewritten(std::string_view id) {
  const Fault* fault = find_fault(id);
  SC_ASSERT(fault != nullptr, "a fault that is not in the zoo");
  const Scenario s = prepared(*fault);
  Planned planned = plan_of(s);
  EXPECT_TRUE(fault->rewrite(planned, s)) << id;
  return planned.plan;
}

/// The words that the rewrite takes from the plan and brings into it: "-2 write1 +2 write0".
inline std::string difference(const Fault& fault) {
  const Scenario s = prepared(fault);
  Planned planned = plan_of(s);
  std::map<std::string, int> count;
  for (const Op& op : planned.plan.ops) --count[word_of(planned.plan, op)];
  EXPECT_TRUE(fault.rewrite(planned, s)) << fault.id;
  for (const Op& op : planned.plan.ops) ++count[word_of(planned.plan, op)];
  std::string lost, gained;
  for (const auto& [word, n] : count) {
    if (n < 0) lost += "-" + std::to_string(-n) + " " + word + " ";
    if (n > 0) gained += "+" + std::to_string(n) + " " + word + " ";
  }
  return lost + gained;
}

/// An entry of a kind, and what it does to the plan; nothing where ops only move or take other operands.
struct Rewrite {
  std::string_view id, difference;
};

inline void expect_rewrites(void (*add)(std::vector<Fault>&), std::initializer_list<Rewrite> rewrites) {
  std::vector<Fault> faults;
  add(faults);
  EXPECT_EQ(faults.size(), rewrites.size()) << "a row a fault";
  for (const Rewrite& row : rewrites) {
    const Fault* fault = find_fault(row.id);
    ASSERT_NE(fault, nullptr) << row.id;
    EXPECT_EQ(difference(*fault), row.difference) << row.id << ": " << fault->sentence;
  }
}

}  // namespace shardcheck::tests
