#include "core/layout/whole_models.h"

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/layout/dtensor_nd.h"
#include "core/layout/mesh_cut.h"
#include "core/layout/mfsdp_v2_flat.h"
#include "core/layout/mfsdp_v2_tensor_atomic.h"
#include "core/layout/sizes.h"
#include "core/layout/unit_groups.h"
#include "core/layout/vescale_ragged.h"

namespace shardcheck::layout {
namespace {

std::vector<Parameter> select(std::span<const Parameter> parameters, const UnitGroup& group) {
  std::vector<Parameter> selected;
  for (const ParamId id : group.params) selected.push_back(parameters[id.value]);
  return selected;
}

/// Gives the slots of a buffer that was made of `group` alone the numbers of the model.
void renumber(Buffer& buffer, const UnitGroup& group) {
  buffer.key = group.key;
  for (Slot& slot : buffer.slots) slot.param = group.params[slot.param.value];
}

std::vector<Rank> default_owners(std::span<const Parameter> parameters, const Buffer& flat) {
  std::vector<Rank> owners(parameters.size(), Rank{0});
  const std::int64_t shard = flat.size / flat.world;
  for (const Slot& slot : flat.slots) {
    if (slot.numel > 0) owners[slot.param.value] = Rank{static_cast<std::int32_t>(slot.lo / shard)};
  }
  for (const auto& [param, owner] : plan_owners(parameters, flat)) owners[param.value] = owner;
  return owners;
}

void check(std::span<const Placement> placements, std::span<const std::int32_t> order, const Mesh& mesh) {
  if (!placements.empty() && placements.size() != mesh.axes.size()) {
    throw bad_input("placements", std::to_string(placements.size()) + " for " +
                                      std::to_string(mesh.axes.size()) + " mesh axes; give one an axis");
  }
  if (!order.empty() && order.size() != mesh.axes.size()) {
    throw bad_input("order", "it must name each of the " + std::to_string(mesh.axes.size()) + " axes once");
  }
}

DtensorOptions options_of(const Mesh& mesh, std::span<const Placement> placements,
                          std::span<const std::int32_t> order) {
  check(placements, order, mesh);
  DtensorOptions options;
  options.placements.assign(placements.begin(), placements.end());
  options.order.assign(order.begin(), order.end());
  for (const Axis& axis : mesh.axes) {
    options.mesh.push_back(axis.size);
    if (!placements.empty()) continue;
    const bool cuts = axis.use != AxisUse::replicate;
    options.placements.push_back({cuts ? Placement::Kind::shard : Placement::Kind::replicate});
  }
  if (!order.empty()) return options;
  for (const bool tensor_first : {true, false}) {
    for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
      if ((mesh.axes[axis].use == AxisUse::tensor) == tensor_first) {
        options.order.push_back(static_cast<std::int32_t>(axis));
      }
    }
  }
  return options;
}

}  // namespace

Layout tensor_atomic_model(std::span<const Parameter> parameters, std::span<const Rank> owners,
                           std::int32_t world) {
  if (!owners.empty() && owners.size() != parameters.size()) {
    throw bad_input("owners", std::to_string(owners.size()) + " owners for " +
                                  std::to_string(parameters.size()) + " parameters; give one for each");
  }
  Layout layout;
  for (const UnitGroup& group : group_by_unit(parameters, SplitBy::unit_dtype_and_requires_grad)) {
    const std::vector<Parameter> selected = select(parameters, group);
    std::vector<Rank> chosen;
    if (owners.empty()) {
      const Layout flat = mfsdp_v2_flat(selected, {.world = world});
      chosen = default_owners(selected, flat.buffers.front());
    } else {
      for (const ParamId id : group.params) chosen.push_back(owners[id.value]);
    }
    layout.buffers.push_back(mfsdp_v2_tensor_atomic(selected, chosen, world));
    renumber(layout.buffers.back(), group);
  }
  return layout;
}

Layout ragged_model(std::span<const Parameter> parameters, std::span<const std::int64_t> units,
                    const RaggedPlanOptions& options) {
  Layout layout;
  if (units.empty()) {
    for (const UnitGroup& group : group_by_unit(parameters, SplitBy::unit)) {
      layout.buffers.push_back(plan_ragged(select(parameters, group), options));
      renumber(layout.buffers.back(), group);
    }
    return layout;
  }
  if (std::ssize(units) != options.world) {
    throw bad_input("units", std::to_string(units.size()) + " units for " + std::to_string(options.world) +
                                 " ranks; give one a rank");
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].tied_to) continue;
    UnitGroup group{{}, {ParamId{static_cast<std::int32_t>(i)}}};
    group.key.unit = parameters[i].unit;
    layout.buffers.push_back(
        vescale_ragged(parameters[i], {.dims = 1, .units = {units.begin(), units.end()}}));
    renumber(layout.buffers.back(), group);
  }
  return layout;
}

Layout dtensor_model(std::span<const Parameter> parameters, const Mesh& mesh,
                     std::span<const Placement> placements, std::span<const std::int32_t> order) {
  const DtensorOptions options = options_of(mesh, placements, order);
  const std::int32_t ranks = mesh.ranks();
  Layout layout;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    if (parameter.tied_to) continue;
    dtensor_local(parameter.shape, options, Rank{0});  // rejects what cannot be
    Buffer buffer{.world = ranks, .cut = Cut::mesh};
    buffer.key.storage = parameter.dtype;
    buffer.key.requires_grad = parameter.requires_grad;
    buffer.mesh = MeshCut{parameter.shape, options};
    const std::int64_t numel = parameter.numel();
    const std::int64_t longest = mesh_longest(*buffer.mesh);
    buffer.size = multiply_sizes(ranks, longest);
    buffer.buckets.push_back({0, buffer.size, numel});
    buffer.slots.push_back({ParamId{static_cast<std::int32_t>(i)}, 0, longest, 0, numel});
    finish_buffer(buffer);
    layout.buffers.push_back(std::move(buffer));
  }
  return layout;
}

}  // namespace shardcheck::layout
