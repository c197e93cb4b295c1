// Property: a law as a plain function over (backend, case). The cases of most are training steps; laws of
// layouts and of products have cases of their own (case.h). RapidCheck, GoogleTest, the command and the
// exhaustive mode all run the same functions. Next: properties/runner.h runs them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"
#include "properties/case.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// The kind of scenario that a property wants to see more of; the generator leans that way.
enum class Focus : std::uint8_t {
  any,
  leases,      ///< owners that lend temporary destinations
  persistent,  ///< owners that keep one buffer
  silence,     ///< parameters without a use, for a microbatch or a whole step
  empty_microbatches,
  frozen,
  mixed_uses,     ///< fused and unfused uses of one parameter
  today,          ///< today's flags and hooks, where they are sound
  repeated_uses,  ///< tied or repeated weights
  group_of_one,   ///< reduction groups of size one
  scaling,        ///< loss modes, scale placements, odd group sizes
  overlap,        ///< reductions in backward, few slots
  fp8,            ///< matrices that live in FP8
  pipeline,       ///< stages, weights tied across them, late gradients, clipping
  recompute,      ///< forward runs again in backward
  interrupted,    ///< steps given up, processes resumed
  owners,         ///< every owner, some with weights in FP8
  sync,           ///< reductions in every microbatch or in the last, in backward or after it
};

struct Property {
  std::string_view id;        ///< "legal-beta"
  std::string_view sentence;  ///< what holds
  std::vector<std::string_view> clauses;
  Focus focus = Focus::any;
  /// All breaches that the scenario shows on the backend; empty when the law holds.
  std::vector<Finding> (*check)(Backend& backend, const Scenario& scenario) = nullptr;

  // Of a property whose cases are no training steps; `check` is null then.
  const CaseKind* kind = nullptr;
  JudgedCase (*judge)(Backend& backend, const Case& c) = nullptr;
  /// All that random cases must reach; null: the situations of training steps (generate/situations.h).
  const std::vector<std::string>& (*situations)() = nullptr;
  /// Which of its own situations a training step reaches.
  std::vector<std::size_t> (*reached)(const Scenario& scenario) = nullptr;
  /// Its share of a run's cases, in hundredths of what a property of training steps gets.
  std::int64_t share = 100;
};

std::span<const Property> properties();

/// Null when there is none of that id.
const Property* find_property(std::string_view id);

/// The first property that claims the clause, or null.
const Property* property_of_clause(std::string_view clause);

}  // namespace shardcheck
