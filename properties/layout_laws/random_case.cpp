#include "properties/layout_laws/random_case.h"

#include <algorithm>
#include <string>
#include <utility>

#include "properties/generate/draw.h"

namespace shardcheck::laws {
namespace {

using layout::AxisUse;
using layout::Configuration;
using layout::Mesh;
using layout::Parameter;
using layout::Placement;

constexpr Weighted<std::int64_t> kExtents[] = {{0, 1}, {1, 4}, {2, 4},  {3, 4},  {4, 4},  {5, 4},  {6, 3},
                                               {7, 3}, {8, 4}, {11, 1}, {12, 2}, {13, 2}, {16, 2}, {31, 1}};
constexpr Weighted<std::int64_t> kRows[] = {{1, 4}, {2, 5}, {3, 4}, {4, 4}, {5, 2},
                                            {6, 2}, {7, 1}, {8, 2}, {10, 1}};
constexpr Weighted<std::int32_t> kWorlds[] = {{1, 2}, {2, 5}, {3, 3}, {4, 4}, {5, 2},
                                              {6, 1}, {7, 2}, {8, 3}, {16, 1}};
/// Where 32-bit sizes break (L26).
constexpr Weighted<std::int64_t> kHuge[] = {
    {(std::int64_t{1} << 31) - 1, 1}, {std::int64_t{1} << 31, 1}, {(std::int64_t{1} << 31) + 1, 1},
    {(std::int64_t{1} << 32) + 1, 1}, {2'101'346'304, 1},         {std::int64_t{1} << 40, 1}};

std::vector<std::int64_t> draw_shape(Draw& draw, bool awkward) {
  if (awkward && draw.chance(3)) return {};  // a scalar
  if (draw.chance(25)) return {draw.pick(kExtents)};
  if (draw.chance(12)) return {draw.pick(kExtents), std::int64_t{draw.pick({1, 2, 3})}, draw.pick(kRows)};
  if (awkward && draw.chance(2)) return {draw.pick(kExtents), 0};
  return {draw.pick(kExtents), draw.pick(kRows)};
}

void draw_flags(Draw& draw, std::size_t index, Parameter& p) {
  p.requires_grad = !draw.chance(8);
  p.expert = draw.chance(10);
  p.layerwise = draw.chance(40);
  p.shared_embedding = draw.chance(6);
  if (draw.chance(8)) p.dtype = DType::f32;
  if (draw.chance(8)) p.quantized = layout::Quantized::fp8;
  if (draw.chance(40)) p.unit = draw.below(2);
  if (draw.chance(15)) p.group = draw.below(3);
  if (draw.chance(8)) p.remat_factor = 2;
  if (draw.chance(15)) p.block_rows = draw.pick({2, 3, 4});
  if (index > 0 && draw.chance(4)) p.tied_to = ParamId{draw.below(static_cast<std::int32_t>(index))};
}

/// A tied name reaches the storage of an earlier one that is itself no alias, and has its shape.
void settle_ties(std::vector<Parameter>& parameters) {
  for (Parameter& p : parameters) {
    while (p.tied_to && parameters[p.tied_to->value].tied_to)
      p.tied_to = parameters[p.tied_to->value].tied_to;
    if (!p.tied_to) continue;
    p.shape = parameters[p.tied_to->value].shape;
    p.dtype = parameters[p.tied_to->value].dtype;
    p.shared_embedding = false;
  }
}

/// Lets the model suit what the layout would refuse nearly always.
void suit(Draw& draw, std::string_view layout, const Configuration& configuration, std::int32_t world,
          std::vector<Parameter>& parameters) {
  if (draw.chance(5)) return;  // refusals are cases too
  for (Parameter& p : parameters) {
    const bool rows_needed =
        layout.starts_with("mfsdp-v2") || layout == "fsdp2-per-param" || layout == "dtensor-nd";
    if (p.shape.empty() && rows_needed) p.shape = {1};
    if (layout == "mfsdp-v2-block-atomic") p.shape[0] *= configuration.block_rows;
    if (layout == "mfsdp-v2-tensor-atomic" && p.shape.size() > 1 && p.shape[0] == 0) p.shape[0] = 1;
    if (layout == "fsdp1-flat") p.dtype = DType::bf16;
    if (layout == "fsdp1-flat" && configuration.fsdp1_mode == layout::Fsdp1Mode::plain)
      p.requires_grad = true;
    if (layout == "fsdp1-flat" && parameters.size() == 1 && p.numel() == 0) p.shape = {1};
    if (layout == "fsdp2-per-param" && p.shape.size() > 1 && p.shape[0] < 64 && draw.chance(15)) {
      p.shard_dim = 1;
      p.shape[1] *= world;
    }
    if (layout == "vescale-ragged" && !configuration.units.empty()) {
      std::int64_t sum = 0;
      for (const std::int64_t unit : configuration.units) sum += unit;
      if (p.shape.empty()) p.shape = {1};
      p.shape[0] *= sum;
    }
  }
}

/// A cut inside rows has a segment a row, so such tensors stay small.
bool cuts_rows(const Configuration& configuration) {
  return std::ranges::any_of(configuration.placements, [](const Placement& p) { return p.dim > 0; });
}

/// Some models become whole multiples of the world, and some huge.
void stretch(Draw& draw, std::int32_t world, bool may_be_huge, std::vector<Parameter>& parameters) {
  const std::int32_t kind = draw.below(100);
  for (Parameter& p : parameters) {
    if (p.shape.empty()) continue;
    if (kind < 10) p.shape[0] *= world;
    if (kind >= 97 && may_be_huge && draw.chance(40)) p.shape[0] = draw.pick(kHuge);
  }
}

Mesh draw_mesh(Draw& draw, const layout::NamedLayout& layout) {
  Mesh mesh = layout::mesh_of(draw.pick(kWorlds));
  if (layout.name == "dtensor-nd" && draw.chance(70)) {
    mesh = {
        {{"dp", draw.pick({1, 2, 3, 4}), AxisUse::shard}, {"tp", draw.pick({2, 2, 3, 4}), AxisUse::tensor}}};
    if (draw.chance(25)) mesh.axes.insert(mesh.axes.begin(), {"replicate", 2, AxisUse::replicate});
    if (mesh.ranks() > 16) mesh.axes.back().size = 2;
  } else if (layout.promises.several_shard_axes && draw.chance(15)) {
    mesh = {{{"outer", draw.pick({2, 3}), AxisUse::shard}, {"inner", draw.pick({2, 3, 4}), AxisUse::shard}}};
  } else if (layout.name == "fsdp2-per-param" && draw.chance(15)) {
    mesh.axes.front().size = std::min(mesh.axes.front().size, 8);
    mesh.axes.insert(mesh.axes.begin(), {"replicate", 2, AxisUse::replicate});
  }
  return mesh;
}

void draw_placements(Draw& draw, const Mesh& mesh, Configuration& configuration) {
  using enum Placement::Kind;
  if (draw.chance(40)) return;                     // the default: tensor parallelism first
  if (mesh.axes.size() == 2 && draw.chance(15)) {  // what a strided shard was invented for
    configuration.placements = {{strided_shard, 0, mesh.axes[1].size}, {shard, 0}};
    configuration.order = {0, 1};
    return;
  }
  for (const layout::Axis& axis : mesh.axes) {
    Placement placement{axis.use == AxisUse::replicate ? replicate : shard};
    if (placement.cuts() && draw.chance(15)) placement.kind = replicate;
    if (placement.cuts() && draw.chance(35)) {
      placement.kind = strided_shard;
      placement.split_factor = draw.chance(60) ? mesh.axes.back().size : draw.pick({2, 3, 4});
    }
    if (placement.cuts() && draw.chance(20)) placement.dim = 1;
    configuration.placements.push_back(placement);
  }
  for (std::int32_t axis = 0; axis < std::ssize(mesh.axes); ++axis) configuration.order.push_back(axis);
  if (draw.chance(50)) std::ranges::reverse(configuration.order);
}

Configuration draw_configuration(Draw& draw, const Mesh& mesh, const layout::NamedLayout& layout) {
  const std::int32_t world = mesh.ranks_along(AxisUse::shard);
  Configuration c;
  if (draw.chance(30)) c.expert_world = draw.pick({1, 2, 3, 4});
  // Small limits, so that a tensor often fills a bucket exactly.
  if (draw.chance(50)) c.bucket_size = std::int64_t{draw.pick({1, 8, 12, 16, 24, 30, 64, 100, 1000})};
  if (draw.chance(50)) c.sub_group_size = std::int64_t{draw.pick({1, 2, 3, 4, 6, 8, 16})};
  c.grad_reduce_in_f32 = draw.chance(50);
  c.pad_for_high_bus_bandwidth = draw.chance(3);
  if (draw.chance(20)) c.strategy = layout::FsdpStrategy::no_shard;
  if (draw.chance(50)) c.suggested_bucket_size = std::int64_t{draw.pick({8, 24, 60, 200})};
  c.block_rows = std::int64_t{draw.pick({1, 2, 2, 3, 4, 32})};
  c.fsdp1_mode = draw.chance(50) ? layout::Fsdp1Mode::plain : layout::Fsdp1Mode::aligned;
  if (draw.chance(20)) c.compute_dtype = draw.pick({DType::f32, DType::bf16, DType::e4m3});
  c.zero_order = draw.chance(50) ? layout::ZeroOrder::round_robin : layout::ZeroOrder::given;
  c.granularity = std::int64_t{draw.pick({1, 1, 2, 3, 8})};
  if (layout.name == "vescale-ragged" && draw.chance(30)) {
    for (std::int32_t rank = 0; rank < world; ++rank) c.units.push_back(draw.below(3));
    c.units[draw.below(world)] = 1;
  }
  if (layout.name == "dtensor-nd") draw_placements(draw, mesh, c);
  return c;
}

}  // namespace

Asked random_question(std::uint64_t seed, std::uint64_t number, const layout::NamedLayout& layout) {
  Draw draw(seed, number);
  Asked asked{.layout = std::string(layout.name)};
  asked.mesh = draw_mesh(draw, layout);
  asked.configuration = draw_configuration(draw, asked.mesh, layout);
  const std::int32_t world = asked.mesh.ranks_along(AxisUse::shard);
  const std::int32_t count = draw.chance(70) ? 1 + draw.below(4) : 1 + draw.below(12);
  for (std::int32_t i = 0; i < count; ++i) {
    Parameter& p = asked.parameters.emplace_back();
    p.name = "P" + std::to_string(i);
    p.shape = i > 0 && draw.chance(20) ? asked.parameters[i - 1].shape : draw_shape(draw, true);
    draw_flags(draw, i, p);
  }
  settle_ties(asked.parameters);
  stretch(draw, world, !cuts_rows(asked.configuration), asked.parameters);
  suit(draw, layout.name, asked.configuration, world, asked.parameters);
  settle_ties(asked.parameters);
  return asked;
}

Case random_case(std::uint64_t seed, std::uint64_t number) {
  const auto all = layout::named_layouts();
  Case drawn{.asked = random_question(seed, number, all[number % all.size()])};
  Draw draw(seed + 1, number);  // another stream: the target must not depend on how much the model drew
  const layout::NamedLayout& target = all[draw.below(static_cast<std::int64_t>(all.size()))];
  Asked moved{.layout = std::string(target.name), .parameters = drawn.asked.parameters};
  moved.mesh = draw.chance(60) ? layout::mesh_of(draw.pick(kWorlds)) : draw_mesh(draw, target);
  moved.configuration = draw_configuration(draw, moved.mesh, target);
  moved.configuration.block_rows = drawn.asked.configuration.block_rows;
  if (draw.chance(60)) moved.configuration.units.clear();
  drawn.moved_to = std::move(moved);
  drawn.choice = draw.below(std::int64_t{1000});
  return drawn;
}

}  // namespace shardcheck::laws
