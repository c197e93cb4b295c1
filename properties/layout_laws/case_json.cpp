#include "properties/layout_laws/case_json.h"

#include "properties/case_fields.h"
#include "properties/layout_laws/zoo.h"

namespace shardcheck::case_fields {

template <>
struct EnumNames<layout::AxisUse> {
  static constexpr std::string_view names[] = {"shard", "replicate", "tensor"};
};
template <>
struct EnumNames<layout::Quantized> {
  static constexpr std::string_view names[] = {"none", "fp8", "nvfp4"};
};
template <>
struct EnumNames<layout::FsdpStrategy> {
  static constexpr std::string_view names[] = {"no_shard", "optim", "optim_grads", "optim_grads_params"};
};
template <>
struct EnumNames<layout::Fsdp1Mode> {
  static constexpr std::string_view names[] = {"aligned", "plain"};
};
template <>
struct EnumNames<layout::ZeroOrder> {
  static constexpr std::string_view names[] = {"given", "round_robin"};
};
template <>
struct EnumNames<layout::Placement::Kind> {
  static constexpr std::string_view names[] = {"replicate", "partial", "shard", "strided_shard"};
};

template <>
struct FieldsOf<layout::Parameter> {
  template <class F>
  static void list(F& fields, layout::Parameter& p) {
    fields("name", p.name);
    fields("shape", p.shape);
    fields("dtype", p.dtype);
    fields("requires_grad", p.requires_grad);
    fields("expert", p.expert);
    fields("shared_embedding", p.shared_embedding);
    fields("layerwise", p.layerwise);
    fields("quantized", p.quantized);
    fields("unit", p.unit);
    fields("tied_to", p.tied_to);
    fields("shard_dim", p.shard_dim);
    fields("group", p.group);
    fields("block_rows", p.block_rows);
    fields("remat_factor", p.remat_factor);
  }
};

template <>
struct FieldsOf<layout::Axis> {
  template <class F>
  static void list(F& fields, layout::Axis& axis) {
    fields("name", axis.name);
    fields("size", axis.size);
    fields("use", axis.use);
  }
};

template <>
struct FieldsOf<layout::Placement> {
  template <class F>
  static void list(F& fields, layout::Placement& placement) {
    fields("kind", placement.kind);
    fields("dim", placement.dim);
    fields("split_factor", placement.split_factor);
  }
};

template <>
struct FieldsOf<layout::Configuration> {
  template <class F>
  static void list(F& fields, layout::Configuration& c) {
    fields("expert_world", c.expert_world);
    fields("bucket_size", c.bucket_size);
    fields("grad_reduce_in_f32", c.grad_reduce_in_f32);
    fields("pad_for_high_bus_bandwidth", c.pad_for_high_bus_bandwidth);
    fields("strategy", c.strategy);
    fields("suggested_bucket_size", c.suggested_bucket_size);
    fields("block_rows", c.block_rows);
    fields("owners", c.owners);
    fields("fsdp1_mode", c.fsdp1_mode);
    fields("compute_dtype", c.compute_dtype);
    fields("zero_order", c.zero_order);
    fields("sub_group_size", c.sub_group_size);
    fields("granularity", c.granularity);
    fields("units", c.units);
    fields("placements", c.placements);
    fields("order", c.order);
  }
};

}  // namespace shardcheck::case_fields

namespace shardcheck::laws {
namespace {

using namespace case_fields;

/// What the layouts take for granted.
void validate(const Asked& asked, const std::string& where) {
  const std::int32_t ranks = asked.mesh.ranks();
  constexpr std::int32_t kMostRanks = 4096;  // a claim is written out rank by rank
  if (ranks > kMostRanks)
    throw bad_input(where + ".mesh", fmt::format("{} ranks; a case has at most {}", ranks, kMostRanks));
  for (std::size_t i = 0; i < asked.parameters.size(); ++i) {
    const layout::Parameter& p = asked.parameters[i];
    const std::string path = fmt::format("{}.parameters[{}]", where, i);
    if (p.numel() < 0) throw bad_input(path + ".shape", "its product does not fit 63 bits");
    if (p.tied_to && p.tied_to->value >= static_cast<std::int32_t>(i))
      throw bad_input(path + ".tied_to", "expected the number of an earlier parameter");
    if (p.shard_dim > 0 && p.shard_dim >= std::ssize(p.shape))
      throw bad_input(path + ".shard_dim", fmt::format("the shape has {} dimensions", p.shape.size()));
    if (p.block_rows < 1 || p.remat_factor < 1)
      throw bad_input(path, "block_rows and remat_factor begin at 1");
  }
  const layout::Configuration& c = asked.configuration;
  const auto counted = [&](const char* name, std::size_t count, std::size_t wanted) {
    if (count != 0 && count != wanted)
      throw bad_input(fmt::format("{}.configuration.{}", where, name),
                      fmt::format("{} entries; expected {} or none", count, wanted));
  };
  counted("owners", c.owners.size(), asked.parameters.size());
  counted("units", c.units.size(), static_cast<std::size_t>(asked.mesh.ranks_along(layout::AxisUse::shard)));
  counted("placements", c.placements.size(), asked.mesh.axes.size());
  counted("order", c.order.size(), asked.mesh.axes.size());
  std::vector<std::int32_t> order = c.order;
  std::ranges::sort(order);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<std::int32_t>(i))
      throw bad_input(where + ".configuration.order", "expected every axis once");
  }
  if (c.block_rows < 1 || c.granularity < 1 || c.expert_world.value_or(1) < 1 ||
      c.bucket_size.value_or(1) < 1)
    throw bad_input(where + ".configuration",
                    "block_rows, granularity, expert_world and bucket_size begin at 1");
}

Case case_of_fault(const std::string& id, const std::string& where) {
  const LayoutFault* fault = find_layout_fault(id);
  if (fault == nullptr)
    throw bad_input(where, fmt::format("fault: {} is no fault of layouts; `shardcheck list layout-faults` "
                                       "lists them",
                                       checkpoint::shown(id)));
  return {.asked = fault->model(), .fault = id};
}

}  // namespace

std::string to_json(const Case& c) {
  if (!c.fault.empty()) return ordered_json{{"kind", "layout"}, {"fault", c.fault}}.dump(1) + "\n";
  ordered_json json = {{"kind", "layout"},
                       {"layout", c.asked.layout},
                       {"parameters", written(c.asked.parameters)},
                       {"mesh", written(c.asked.mesh.axes)},
                       {"configuration", written(c.asked.configuration)}};
  if (c.moved_to)
    json["moved_to"] = {{"layout", c.moved_to->layout},
                        {"mesh", written(c.moved_to->mesh.axes)},
                        {"configuration", written(c.moved_to->configuration)}};
  json["choice"] = c.choice;
  return json.dump(1) + "\n";
}

std::string to_text(const layout::Configuration& configuration) {
  std::string text;
  const ordered_json json = written(configuration);
  for (const auto& [name, value] : json.items())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value.dump());
  return text;
}

Case case_from_json(const std::string& text, const std::string& where) {
  constexpr int kDepth = 6;
  const JsonValue root = checkpoint::parse_object(text, where, kDepth);
  const Place place{root, where};
  Case c;
  std::string kind;
  const auto question = [](Reader& fields, Asked& asked) {
    fields("layout", asked.layout);
    fields("mesh", asked.mesh.axes);
    fields("configuration", asked.configuration);
  };
  Reader reader{place, {}};
  reader("kind", kind);
  reader("fault", c.fault);
  if (!c.fault.empty()) {
    Case of_fault = case_of_fault(c.fault, where);
    reader.refuse_unknown();
    return of_fault;
  }
  reader("parameters", c.asked.parameters);
  reader("choice", c.choice);
  question(reader, c.asked);
  reader.known.insert("moved_to");
  reader.refuse_unknown();
  validate(c.asked, where);
  const auto moved = std::ranges::find(root.members, "moved_to", &std::pair<std::string, JsonValue>::first);
  if (moved == root.members.end()) return c;
  c.moved_to = Asked{.parameters = c.asked.parameters};
  const Place there = place.of("moved_to", moved->second);
  Reader second{there, {}};
  question(second, *c.moved_to);
  second.refuse_unknown();
  validate(*c.moved_to, there.where);
  return c;
}

}  // namespace shardcheck::laws
