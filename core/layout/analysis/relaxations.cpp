#include "core/layout/analysis/relaxations.h"

#include <algorithm>
#include <map>

#include "core/integers.h"
#include "core/layout/analysis/padding.h"
#include "core/layout/analysis/shard_sizes.h"
#include "core/layout/megatron_ddp_groups.h"
#include "core/layout/sizes.h"

namespace shardcheck::layout {
namespace {

/// What stays together in a tensor.
enum class Whole : std::uint8_t { element, row, block, tensor };

/// The rules of one buffer.
struct Rules {
  Whole whole = Whole::element;
  std::int64_t start = 1;        ///< elements that a tensor's start is a multiple of
  std::int64_t granularity = 1;  ///< elements that a shard is a multiple of
};

std::int64_t ddp_granularity(const Buffer& buffer, const Configuration& c) {
  return ddp_bucket_granularity(buffer.world, {.pad_for_high_bus_bandwidth = c.pad_for_high_bus_bandwidth}) /
         buffer.world;
}

Rules rules_of(const MadeLayout& made, const Buffer& buffer) {
  const std::string_view name = made.named->name;
  const Configuration& c = *made.configuration;
  if (name == "megatron-ddp") return {Whole::element, 64, ddp_granularity(buffer, c)};
  if (name == "megatron-layerwise") {
    if (!buffer.key.layerwise) return {Whole::element, 64, ddp_granularity(buffer, c)};
    return {Whole::tensor, 64, lcm_sizes(64, ddp_granularity(buffer, c))};
  }
  if (name == "megatron-fsdp-v1" || name == "mfsdp-v2-flat") return {Whole::row};
  if (name == "mfsdp-v2-block-atomic") return {Whole::block};
  if (name == "vescale-ragged") {
    const auto is_blocked = [&](const Slot& s) { return made.parameters[s.param.value].block_rows > 1; };
    return {std::ranges::any_of(buffer.slots, is_blocked) ? Whole::block : Whole::row, 1, c.granularity};
  }
  if (name == "zero12-flat") return {Whole::element, 1, 2};
  if (name == "fsdp1-flat" && c.fsdp1_mode == Fsdp1Mode::aligned) {
    const DType first = made.parameters[buffer.slots.front().param.value].dtype;
    return {Whole::element, 16 / bytes_of(c.compute_dtype.value_or(first))};
  }
  return {};
}

std::int64_t block_of(const MadeLayout& made, const Buffer& buffer, const Slot& slot, Whole whole) {
  const Parameter& parameter = made.parameters[slot.param.value];
  if (whole == Whole::element) return 1;
  std::int64_t block = parameter.row();
  if (block == 0) return 1;
  // C ignores the rows of tensors that were smaller than the C of the moment, and cuts them anywhere (B15).
  if (made.named->name == "megatron-fsdp-v1" && buffer.chunk % block != 0) return 1;
  const bool planned = made.named->name == "vescale-ragged";
  if (whole == Whole::block) block *= planned ? parameter.block_rows : made.configuration->block_rows;
  return std::max<std::int64_t>(block, 1);
}

std::span<const Slot> slots_of(const Buffer& buffer, const Bucket& bucket) {
  return {buffer.slots.data() + bucket.first_slot, static_cast<std::size_t>(bucket.slot_count)};
}

/// Least size of a bucket of `slots` in W equal shards, in any order of the tensors.
std::int64_t least_size(const MadeLayout& made, const Buffer& buffer, std::span<const Slot> slots,
                        const Rules& rules) {
  std::int64_t aligned = 0, slack = 0, longest = 0;
  std::vector<Atoms> atoms;
  for (const Slot& slot : slots) {
    const std::int64_t up = round_up_size(slot.numel, rules.start);
    aligned = add_sizes(aligned, up);
    slack = std::max(slack, up - slot.numel);  // nothing is aligned behind the last tensor
    longest = std::max(longest, slot.numel);
    if (slot.numel > 0) atoms.push_back({slot.numel, block_of(made, buffer, slot, rules.whole)});
  }
  if (aligned == 0) return 0;
  // A shard of whole tensors needs no alignment behind its last one, so only the sum of elements binds.
  const std::int64_t sum = rules.whole == Whole::tensor
                               ? payload_of(Buffer{.slots = {slots.begin(), slots.end()}})
                               : aligned - slack;
  std::int64_t shard = div_ceil(sum, buffer.world);
  if (rules.whole == Whole::tensor) {
    return multiply_sizes(buffer.world, round_up_size(std::max(shard, longest), rules.granularity));
  }
  return multiply_sizes(buffer.world, ShardSizes(atoms, rules.granularity).next(shard));
}

std::int64_t least_padding_of(const MadeLayout& made, const Buffer& buffer, const Rules& rules) {
  std::int64_t size = 0;
  for (const Bucket& bucket : buffer.buckets) {
    size = add_sizes(size, least_size(made, buffer, slots_of(buffer, bucket), rules));
  }
  return size - payload_of(buffer);
}

/// Sums `padding(buffer)` over the buffers.
template <class Padding>
std::int64_t sum_over(const MadeLayout& made, Padding padding) {
  std::int64_t sum = 0;
  for (const Buffer& buffer : made.layout->buffers) sum = add_sizes(sum, padding(buffer));
  return sum;
}

/// Every tensor cut by itself into W equal parts of whole blocks, as fsdp2-per-param does with rows.
std::int64_t per_tensor_padding(const MadeLayout& made, const Buffer& buffer, Whole whole) {
  std::int64_t size = 0;
  for (const Slot& slot : buffer.slots) {
    const std::int64_t block = block_of(made, buffer, slot, whole);
    const std::int64_t part = multiply_sizes(div_ceil(div_ceil(slot.numel, block), buffer.world), block);
    size = add_sizes(size, multiply_sizes(buffer.world, part));
  }
  return size - payload_of(buffer);
}

/// One buffer for each row size, packed as mfsdp-v2-flat does.
std::int64_t split_padding(const MadeLayout& made, const Buffer& buffer, Whole whole) {
  std::map<std::int64_t, std::int64_t> blocks_of;  // elements by block
  for (const Slot& slot : buffer.slots) {
    const std::int64_t block = block_of(made, buffer, slot, whole);
    std::int64_t& elements = blocks_of[block];
    elements = add_sizes(elements, round_up_size(slot.numel, block));
  }
  std::int64_t size = 0;
  for (const auto& [block, elements] : blocks_of) {
    size = add_sizes(size, round_up_size(elements, multiply_sizes(buffer.world, block)));
  }
  return size - payload_of(buffer);
}

/// Elements between tensors that stay when shards may be unequal.
std::int64_t inner_padding(const MadeLayout& made, const Buffer& buffer) {
  const PaddingSums sums =
      padding_of(buffer, {made.named->name, made.parameters, made.configuration->block_rows});
  return sums[PaddingRule::alignment];
}

Relaxation unequal(const MadeLayout& made) {
  return {"equal shards", "collectives with a count for each rank (v-collectives)",
          sum_over(made, [&](const Buffer& buffer) { return inner_padding(made, buffer); })};
}

std::int64_t with_rules(const MadeLayout& made, void (*change)(Rules&)) {
  return sum_over(made, [&](const Buffer& buffer) {
    Rules rules = rules_of(made, buffer);
    change(rules);
    return least_padding_of(made, buffer, rules);
  });
}

/// The same layout with blocks of one row.
std::int64_t padding_with_whole_rows(const MadeLayout& made) {
  std::vector<Parameter> parameters(made.parameters.begin(), made.parameters.end());
  for (Parameter& parameter : parameters) parameter.block_rows = 1;
  Configuration configuration = *made.configuration;
  configuration.block_rows = 1;
  const Layout layout =
      made.named->make(parameters, mesh_of(made.layout->buffers.front().world), configuration);
  std::int64_t padding = 0;
  for (const Buffer& buffer : layout.buffers) padding = add_sizes(padding, padding_in(buffer));
  return padding;
}

void append_flat(const MadeLayout& made, std::vector<Relaxation>& list) {
  const Rules rules = rules_of(made, made.layout->buffers.front());
  // Whole tensors in aligned shards are a packing problem, of which no smaller answer is at hand.
  const bool packs = rules.whole == Whole::tensor;
  if (rules.start > 1 && !packs)
    list.push_back({"aligned starts", "kernels that accept tensors at any element",
                    with_rules(made, [](Rules& r) { r.start = 1; })});
  if (rules.granularity > 1 && !packs)
    list.push_back({"aligned shards", "shards that begin at any element",
                    with_rules(made, [](Rules& r) { r.granularity = 1; })});
  if (rules.whole == Whole::row || rules.whole == Whole::block) {
    list.push_back({"rows of all sizes in one buffer", "one collective for each row size of a unit",
                    sum_over(made, [&](const Buffer& b) { return split_padding(made, b, rules.whole); })});
  }
  if (rules.whole == Whole::block)
    list.push_back({"whole blocks", "two-level amax: an all-reduce before blocks are quantised",
                    padding_with_whole_rows(made)});
  if (rules.whole == Whole::row)
    list.push_back({"whole rows", "shards that are not slices along dimension 0",
                    with_rules(made, [](Rules& r) { r.whole = Whole::element; })});
  if (rules.whole == Whole::tensor)
    list.push_back({"whole tensors", "an optimizer that sees fragments of a matrix",
                    with_rules(made, [](Rules& r) { r.whole = Whole::element; })});
  list.push_back({"one zero-copy buffer", "a copy-out per parameter after every gather",
                  sum_over(made, [&](const Buffer& b) {
                    return per_tensor_padding(made, b,
                                              rules.whole == Whole::tensor ? Whole::row : rules.whole);
                  })});
  list.push_back(unequal(made));
}

void append_per_parameter(const MadeLayout& made, std::vector<Relaxation>& list) {
  if (made.named->name == "fsdp2-per-param") {
    list.push_back(
        {"whole rows", "shards that are not slices along dimension 0",
         sum_over(made, [&](const Buffer& b) { return per_tensor_padding(made, b, Whole::element); })});
  }
  list.push_back({"every tensor cut by itself",
                  "tensors that begin and end inside a shard, as in a flat buffer",
                  sum_over(made, [](const Buffer& b) {
                    const std::int64_t payload = payload_of(b);
                    return round_up_size(payload, b.world) - payload;
                  })});
  list.push_back(unequal(made));
}

}  // namespace

std::int64_t least_padding(const MadeLayout& made) {
  return sum_over(made, [&](const Buffer& buffer) {
    return buffer.cut == Cut::equal ? least_padding_of(made, buffer, rules_of(made, buffer))
                                    : padding_in(buffer);
  });
}

std::vector<Relaxation> relaxations_of(const MadeLayout& made) {
  std::vector<Relaxation> list;
  if (made.layout->buffers.empty()) return list;
  switch (made.layout->buffers.front().cut) {
    case Cut::equal: append_flat(made, list); break;
    case Cut::per_parameter: append_per_parameter(made, list); break;
    case Cut::mesh: list.push_back(unequal(made)); break;
    case Cut::replicated:
    case Cut::virtual_floor:
    case Cut::listed: break;
  }
  std::ranges::stable_sort(list, {}, &Relaxation::padding);
  return list;
}

}  // namespace shardcheck::layout
