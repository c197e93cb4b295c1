#include "tools/shardcheck/layout/mesh_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/error.h"
#include "tools/shardcheck/nearest.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

using layout::AxisUse;

struct AxisName {
  std::string_view name;
  AxisUse use;
};

constexpr AxisName kAxes[] = {
    {"dp", AxisUse::shard},
    {"cp", AxisUse::shard},
    {"fsdp", AxisUse::shard},
    {"dp_shard", AxisUse::shard},
    {"inner", AxisUse::shard},
    {"outer", AxisUse::shard},
    {"replicate", AxisUse::replicate},
    {"dp_replicate", AxisUse::replicate},
    {"tp", AxisUse::tensor},
};

std::string names_of(AxisUse use) {
  std::string names;
  for (const AxisName& axis : kAxes) {
    if (axis.use == use) names += fmt::format("{}{}", names.empty() ? "" : ", ", axis.name);
  }
  return names;
}

const AxisName& axis_named(const std::string& name, const std::string& where) {
  const auto* found = std::ranges::find(kAxes, name, &AxisName::name);
  if (found != std::end(kAxes)) return *found;
  if (name == "pp") {
    throw bad_input(where,
                    "a layout is of one pipeline stage; leave pp out and give the layers of the stage as a "
                    "JSON list");
  }
  std::vector<std::string> known{"ep"};
  for (const AxisName& axis : kAxes) known.emplace_back(axis.name);
  throw bad_input(where, unknown_name({name, "mesh axis", std::move(known), "shardcheck layout --help"}));
}

std::int32_t size_in(const std::string& text, const std::string& where) {
  std::int32_t size = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, size);
  if (error != std::errc{} || rest != end || size < 1)
    throw bad_input(where, fmt::format("\"{}\" is not a number of ranks from 1 to 2147483647", text));
  return size;
}

/// The mesh with its largest sharding axis changed so that the product is the world, or empty.
std::string corrected(MeshText text, std::int64_t world) {
  auto& axes = text.mesh.axes;
  const auto largest = std::ranges::max_element(
      axes, {}, [](const layout::Axis& axis) { return axis.use == AxisUse::shard ? axis.size : 0; });
  if (largest == axes.end() || largest->use != AxisUse::shard) return {};
  const std::int64_t others = text.mesh.ranks() / largest->size;
  if (world % others != 0) return {};
  largest->size = static_cast<std::int32_t>(world / others);
  return to_text(text);
}

void check(const MeshText& text, std::int64_t world, const std::string& where) {
  const std::int64_t ranks = text.mesh.ranks();
  if (world > 0 && ranks != world) {
    const std::string right = corrected(text, world);
    throw bad_input(where, fmt::format("{} is {}, and --world says {}{}", to_text(text),
                                       counted(ranks, "rank"), grouped(world),
                                       right.empty() ? "; no size of its sharding axis would make that"
                                                     : fmt::format("; {} would be right", right)));
  }
  const std::int64_t shards = text.mesh.ranks_along(AxisUse::shard);
  if (shards % text.expert != 0) {
    throw bad_input(where,
                    fmt::format("ep={} lies inside the {} ranks that shard and does not divide them; use a "
                                "divisor",
                                text.expert, grouped(shards)));
  }
}

}  // namespace

std::string mesh_grammar() {
  return fmt::format(
      "A mesh is AXIS=RANKS,... outermost first. Sharding: {}; two of them (outer, inner) are HFSDP. Copies: "
      "{} "
      "(the outer axis of HSDP). Cutting tensors first: {}. ep=N lies inside the sharding axes: N ranks "
      "share the "
      "experts out, which are then sharded over the rest.",
      names_of(AxisUse::shard), names_of(AxisUse::replicate), names_of(AxisUse::tensor));
}

MeshText mesh_in(const std::string& text, std::int64_t world, const std::string& where) {
  MeshText result;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const std::size_t sign = word.find('=');
    if (sign == std::string::npos)
      throw bad_input(where, fmt::format("\"{}\" is not AXIS=RANKS; write for example dp=64,tp=2", word));
    const std::string name = word.substr(0, sign);
    const std::int32_t size = size_in(word.substr(sign + 1), fmt::format("{} {}", where, name));
    const auto is_same = [&](const layout::Axis& axis) { return axis.name == name; };
    if (std::ranges::any_of(result.mesh.axes, is_same) || (name == "ep" && result.expert > 1))
      throw bad_input(where, fmt::format("the axis {} is given twice", name));
    if (name == "ep") {
      result.expert = size;
    } else {
      result.mesh.axes.push_back({name, size, axis_named(name, where).use});
    }
    begin = end + 1;
  }
  check(result, world, where);
  return result;
}

std::string to_text(const MeshText& mesh) {
  std::string text;
  for (const layout::Axis& axis : mesh.mesh.axes)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name, axis.size);
  if (mesh.expert > 1) text += fmt::format("{}ep={}", text.empty() ? "" : ",", mesh.expert);
  return text;
}

}  // namespace shardcheck
