// --cost: memory and bytes of every strategy over the padded elements of a layout.
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "sim/cost/groups.h"
#include "sim/cost/strategy.h"
#include "tools/shardcheck/layout/sections.h"
#include "tools/shardcheck/nearest.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

using layout::AxisUse;

/// The ranks of a job on their machines. Two axes, the mesh's own or a node and the others, take what the
/// mesh puts into one node.
cost::Cluster cluster_of(const Question& question, bool expert, const cost::Job& job,
                         const cost::Network& network) {
  const std::int32_t stride = expert ? question.mesh.expert : 1;
  const cost::Groups all = cost::groups_of(question.mesh.mesh, {cost::OuterAxis::none, stride, network.node});
  const double inner = std::min(job.inner, all.inner.in_node);
  return {{job.inner, inner}, {job.outer, std::max(1.0, all.inner.in_node / job.inner)}, network};
}

struct Ranks {
  double inner = 1, outer = 1;
};

/// O and I of a group of `world` ranks: the mesh's own outer axis, or one node inside the others.
Ranks split(const Question& question, double world, const cost::Network& network) {
  const double copies = question.mesh.mesh.ranks_along(AxisUse::replicate);
  if (copies > 1) return {world, copies};
  double sharding = 0, first = 1;
  for (const layout::Axis& axis : question.mesh.mesh.axes) {
    if (axis.use == AxisUse::shard && sharding++ == 0) first = axis.size;
  }
  if (sharding > 1 && static_cast<std::int64_t>(world) % static_cast<std::int64_t>(first) == 0)
    return {world / first, first};
  const auto node = static_cast<std::int64_t>(network.node);
  const bool fits = world > network.node && static_cast<std::int64_t>(world) % node == 0;
  return fits ? Ranks{network.node, world / network.node} : Ranks{world, 1};
}

bool is_hybrid(cost::Strategy strategy) {
  return strategy == cost::Strategy::hsdp || strategy == cost::Strategy::hfsdp;
}

const cost::StoredAs& storage_named(const std::string& name) {
  if (const auto* storage = cost::find_storage(name)) return *storage;
  std::vector<std::string> known;
  for (const auto& storage : cost::storages()) known.emplace_back(storage.name);
  throw bad_input("--storage", unknown_name({name, "storage", std::move(known), ""}));
}

}  // namespace

std::vector<Price> prices_of(const Answered& answered, const PriceFlags& flags) {
  std::vector<std::string> names = flags.storages;
  if (names.empty()) names = {"bf16", "mxfp8"};
  std::vector<Price> prices;
  for (const std::string& name : names) {
    const cost::StoredAs& storage = storage_named(name);
    for (const cost::Strategy strategy : cost::kStrategies) {
      Price price{std::string(cost::name_of(strategy)), name};
      for (const Kind& kind : answered.kinds) {
        const layout::Buffer& buffer = answered.layout.buffers[kind.places.front().buffer];
        if (buffer.slots.empty()) continue;
        const bool is_mesh = buffer.cut == layout::Cut::mesh;
        const double world = is_mesh ? answered.question.mesh.mesh.ranks_along(AxisUse::shard) : buffer.world;
        const double copies = answered.question.mesh.mesh.ranks_along(AxisUse::replicate);
        Ranks ranks = split(answered.question, world, flags.network);
        if (!is_hybrid(strategy)) ranks = {world * copies, 1};
        const Sizes sizes = sizes_of(answered, kind);
        const double elements =
            static_cast<double>(is_mesh ? sizes.payload : sizes.padded) / static_cast<double>(kind.count());
        const cost::Job job{.elements = elements,
                            .inner = ranks.inner,
                            .outer = ranks.outer,
                            .microbatches = static_cast<double>(flags.microbatches),
                            .widths = {.weight = storage.weight, .weight_wire = storage.weight_wire}};
        const auto count = static_cast<double>(kind.count());
        price.kept += count * cost::bytes_kept(strategy, job);
        price.sent += count * cost::bytes_sent(strategy, job);
        const bool is_expert = answered.question.parameters[buffer.slots.front().param.value].expert;
        price.seconds +=
            count * cost::collective_seconds(strategy, job,
                                             cluster_of(answered.question, is_expert, job, flags.network));
      }
      prices.push_back(price);
    }
  }
  return prices;
}

std::string cost_text(const Answered& answered, const std::vector<Price>& prices, const PriceFlags& flags,
                      const Terminal& terminal) {
  std::string text =
      fmt::format("\n{} a rank, over the padded elements of this layout, {}\n",
                  paint(terminal, Tone::strong, "cost:"), counted(flags.microbatches, "microbatch"));
  Table table({"", "strategy", "weights", ">kept", ">sent a step", ">collectives"});
  for (const Price& price : prices)
    table.row({"", price.strategy, price.storage, bytes_text(price.kept), bytes_text(price.sent),
               fmt::format("{:.3g} s", price.seconds)});
  const layout::Buffer& buffer = answered.layout.buffers.front();
  const Ranks ranks = split(answered.question, buffer.world, flags.network);
  const cost::Network& net = flags.network;
  text += table.text(terminal);
  text +=
      "  " +
      wrap(
          fmt::format(
              "Adam: f32 gradients and 12 bytes of optimizer state an element, bf16 gradients on the wire. "
              "HSDP and HFSDP with O = {:.0f}, I = {:.0f}. Rings in nodes of {:.0f} ({:.3g} us a hop, {:.4g} "
              "GB/s) and between them ({:.3g} us, {:.4g} GB/s), nothing overlapped.",
              ranks.outer, ranks.inner, net.node, net.inner.alpha * 1e6, net.inner.bytes_per_second / 1e9,
              net.outer.alpha * 1e6, net.outer.bytes_per_second / 1e9),
          {.width = terminal.width, .indent = 2}) +
      "\n";
  return text;
}

}  // namespace shardcheck
