// Models of the zoo, written as short as the catalogue writes them. Next: zoo.h.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "properties/layout_laws/claim.h"

namespace shardcheck::laws {

using Shapes = std::initializer_list<std::vector<std::int64_t>>;

/// Parameters P0, P1, ... on `world` ranks.
inline Asked ask(std::string_view layout, Shapes shapes, std::int32_t world,
                 layout::Configuration configuration = {}) {
  Asked asked{std::string(layout), {}, layout::mesh_of(world), std::move(configuration)};
  for (const auto& shape : shapes) {
    asked.parameters.push_back({.name = "P" + std::to_string(asked.parameters.size()), .shape = shape});
  }
  return asked;
}

/// A dtensor-nd question on (dp, tp), tensor parallelism first.
inline Asked ask_dtensor(std::vector<std::int64_t> shape, std::vector<std::int32_t> dp_tp,
                         std::vector<layout::Placement> placements) {
  Asked asked = ask("dtensor-nd", {std::move(shape)}, 1);
  asked.mesh = {{{"dp", dp_tp[0], layout::AxisUse::shard}, {"tp", dp_tp[1], layout::AxisUse::tensor}}};
  asked.configuration.placements = std::move(placements);
  asked.configuration.order = {1, 0};
  return asked;
}

/// What the ranks would hold if another question had been asked.
inline void answer_instead(Claim& claim, const Asked& other) {
  claim.groups = claim_of(other).groups;
}

/// Only the segments of another question; the rule stays.
inline void hold_instead(Claim& claim, const Asked& other) {
  const Claim wrong = claim_of(other);
  for (std::size_t g = 0; g < claim.groups.size(); ++g) claim.groups[g].shards = wrong.groups[g].shards;
}

}  // namespace shardcheck::laws
