#include "core/layout/megatron_fsdp_v1.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/layout/gap_packing.h"
#include "core/layout/rejection.h"

namespace shardcheck::layout {
namespace {

/// A parameter with its numbers computed once.
struct Tensor {
  ParamId id;
  std::int64_t numel, row;
  bool shared_embedding;
};

struct Group {
  BufferKey key;
  std::vector<Tensor> tensors;
};

/// Step 1: groups in order of first appearance.
std::vector<Group> group(std::span<const Parameter> parameters) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    if (parameter.tied_to) continue;
    const std::int64_t row = parameter.row();
    if (row == 0) {
      throw Rejected(
          Reason::zero_row_size, parameter.name,
          "a trailing extent is 0, so its rows are empty and chunks cannot be counted; remove the tensor");
    }
    BufferKey key;
    key.storage = parameter.quantized == Quantized::none ? parameter.dtype : DType::u8;
    key.gradient = parameter.dtype;
    if (key.storage == DType::u8) key.gradient = DType::u8;  // the type behind "float8" does not split groups
    key.expert = parameter.expert;
    key.requires_grad = parameter.requires_grad;
    key.unit = parameter.unit;
    auto found = std::ranges::find(groups, key, &Group::key);
    if (found == groups.end()) found = groups.insert(groups.end(), Group{key, {}});
    found->tensors.push_back(
        {ParamId{static_cast<std::int32_t>(i)}, parameter.numel(), row, parameter.shared_embedding});
  }
  return groups;
}

/// Step 2: appends the buffers-to-be of one group.
void split(const Group& whole, const MegatronFsdpV1Options& options, std::vector<Group>& parts) {
  Group running{whole.key, {}};
  std::int64_t numel = 0;
  const auto flush = [&] {
    if (!running.tensors.empty()) parts.push_back(running);
    running.tensors.clear();
    numel = 0;
  };
  for (const Tensor& tensor : whole.tensors) {
    if (tensor.shared_embedding && options.strategy != FsdpStrategy::no_shard) {
      flush();
      parts.push_back({whole.key, {tensor}});
      continue;
    }
    running.tensors.push_back(tensor);
    numel = add_sizes(numel, tensor.numel);
    if (!whole.key.unit && numel >= options.suggested_bucket_size) flush();
  }
  flush();
}

/// Step 3. The test order is the original's: it makes C depend on the order of tensors, and not monotone.
std::int64_t chunk_of(std::span<const Tensor> sorted) {
  std::int64_t chunk = sorted.front().row;
  for (const Tensor& tensor : sorted) {
    const bool keeps =
        tensor.row == chunk || (chunk % tensor.row == 0 && tensor.numel % chunk == 0) || tensor.numel < chunk;
    if (!keeps) chunk = lcm_sizes(chunk, tensor.row);
  }
  return chunk;
}

/// Step 4.
Buffer place(Group group, const MegatronFsdpV1Options& options) {
  std::ranges::stable_sort(group.tensors, [](const Tensor& a, const Tensor& b) { return a.row > b.row; });
  Buffer buffer{.key = group.key};
  buffer.world = group.key.expert ? options.expert_world.value_or(options.world) : options.world;
  const bool whole = options.strategy == FsdpStrategy::no_shard;
  buffer.cut = whole ? Cut::virtual_floor : Cut::equal;
  buffer.chunk = chunk_of(group.tensors);

  std::vector<PackedTensor> tensors;
  std::int64_t payload = 0;
  for (const Tensor& tensor : group.tensors) {
    tensors.push_back({.numel = tensor.numel, .start_unit = 1});
    payload = add_sizes(payload, tensor.numel);
  }
  const GapPacking packing = pack_into_gaps(tensors, buffer.chunk, FragmentOrder::as_given);
  buffer.size = whole ? packing.end : round_up_size(packing.end, multiply_sizes(buffer.world, buffer.chunk));
  buffer.buckets.push_back({0, buffer.size, payload});
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t lo = packing.offsets[i];
    buffer.slots.push_back({group.tensors[i].id, lo, lo + tensors[i].numel, 0, tensors[i].numel});
  }
  finish_buffer(buffer);
  return buffer;
}

}  // namespace

Layout megatron_fsdp_v1(std::span<const Parameter> parameters, const MegatronFsdpV1Options& options) {
  std::vector<Group> parts;
  for (const Group& whole : group(parameters)) split(whole, options, parts);
  Layout layout;
  for (Group& part : parts) layout.buffers.push_back(place(std::move(part), options));
  return layout;
}

}  // namespace shardcheck::layout
