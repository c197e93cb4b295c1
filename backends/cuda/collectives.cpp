#include "backends/cuda/collectives.h"

#include <algorithm>
#include <numeric>

#include "backends/cuda/reduce_steps.h"
#include "core/assert.h"

namespace shardcheck::gpu {
namespace {

void check(const Communicate& communicate, const CollectiveRanges& group) {
  const auto parts = static_cast<std::int64_t>(group.ranks.size());
  const std::int64_t input = group.inputs[0].numel, output = group.outputs[0].numel;
  switch (communicate.collective) {
    case Collective::all_reduce: SC_ASSERT(input == output, "an all-reduce changes the size"); break;
    case Collective::reduce_scatter:
      SC_ASSERT(input == output * parts, "a part is not 1/group of the input");
      break;
    case Collective::all_gather:
      SC_ASSERT(input * parts == output, "an output is not group times the input");
      break;
  }
  for (std::size_t i = 0; i < group.ranks.size(); ++i) {
    SC_ASSERT(group.inputs[i].numel == input && group.outputs[i].numel == output,
              "sizes differ between ranks");
    SC_ASSERT(group.inputs[i].dtype == group.dtype() && group.outputs[i].dtype == group.dtype(),
              "types differ within a collective");
  }
}

bool overlap(const View& a, const View& b) {
  return a.buffer == b.buffer && a.offset < b.offset + b.numel && b.offset < a.offset + a.numel;
}

/// True when every output lies apart from its input or just where the collective works in place: then no
/// element is written before it is read. Asked of views, so that all processes say the same of all ranks.
bool works_in_place(const Communicate& communicate, const CollectiveRanges& group) {
  for (std::size_t i = 0; i < group.ranks.size(); ++i) {
    const View &input = group.from[i], &output = group.to[i];
    if (!overlap(input, output)) continue;
    const auto position = static_cast<std::int64_t>(i);
    bool in_place = false;
    switch (communicate.collective) {
      case Collective::all_reduce: in_place = input.offset == output.offset; break;
      case Collective::reduce_scatter:
        in_place = input.offset + position * output.numel == output.offset;
        break;
      case Collective::all_gather: in_place = output.offset + position * input.numel == input.offset; break;
    }
    if (!in_place) return false;
  }
  return true;
}

bool is_on_one_gpu(const CollectiveRanges& group) {
  return std::all_of(group.inputs.begin(), group.inputs.end(),
                     [&](const Range& input) { return input.gpu == group.gpu(); });
}

ncclDataType_t nccl_type(DType type) {
  switch (type) {
    case DType::f32: return ncclFloat32;
    case DType::bf16: return ncclBfloat16;
    case DType::f16: return ncclFloat16;
    default: SC_ASSERT(false, "no arithmetic is defined on one-byte elements");
  }
  return ncclFloat32;
}

std::size_t count_of(std::int64_t numel) {
  return static_cast<std::size_t>(numel);
}

}  // namespace

void CollectiveUnit::run(const Communicate& communicate, Stream stream, const CollectiveRanges& all,
                         const Fold& fold) {
  const auto size = static_cast<std::size_t>(communicate.group);
  SC_ASSERT(communicate.group > 0 && all.ranks.size() % size == 0, "the ranks are not whole groups");
  const Call call{communicate, stream, fold};
  const auto launch_waiting = [&] {
    if (!waiting_.empty()) launch_whole_groups(call, waiting_);
    waiting_.clear();
  };
  for (std::size_t first = 0; first < all.ranks.size(); first += size) {
    const CollectiveRanges group = all.part(first, size);
    check(communicate, group);
    if (group.inputs[0].numel == 0) continue;
    if (!is_on_one_gpu(group)) {
      run_across(call, group);
    } else if (!machine_.has(group.gpu())) {
      continue;
    } else if (size > kRanksPerLaunch || !works_in_place(communicate, group)) {
      run_through_scratch(call, group);
    } else {
      const bool fits =
          waiting_.empty() ||
          ((waiting_.size() + 1) * size <= kRanksPerLaunch && waiting_[0].gpu() == group.gpu() &&
           waiting_[0].inputs[0].numel == group.inputs[0].numel && waiting_[0].dtype() == group.dtype());
      if (!fits) launch_waiting();
      waiting_.push_back(group);
    }
  }
  launch_waiting();
}

/// An average's factor counts all ranks of the group.
Addends CollectiveUnit::Call::addends(std::span<const Range> inputs,
                                      std::span<const std::size_t> order) const {
  Addends addends{.inputs = inputs, .order = order, .multiplies = averages()};
  if (averages()) addends.factor = rounded_reciprocal(inputs[0].dtype, inputs.size());
  addends.takes_largest = takes_largest();
  return addends;
}

/// Groups of one GPU and one size, none of which needs scratch memory.
void CollectiveUnit::launch_whole_groups(const Call& call, std::span<const CollectiveRanges> groups) {
  const std::size_t size = groups[0].ranks.size();
  const cudaStream_t stream = machine_.gpu(groups[0].gpu()).begin_op(call.stream);
  ReduceTable reduce{};
  GatherTable gather{};
  reduce.inputs = reduce.outputs = gather.inputs = gather.outputs = static_cast<int>(size);
  reduce.groups = gather.groups = static_cast<int>(groups.size());
  reduce.numel = groups[0].inputs[0].numel;
  reduce.part = call.scatters() ? groups[0].outputs[0].numel : reduce.numel;
  reduce.multiplies = call.averages();
  reduce.takes_largest = call.takes_largest();
  gather.bytes = groups[0].inputs[0].bytes();
  bool aligned = true;
  std::size_t at = 0;
  for (const CollectiveRanges& group : groups) {
    const std::vector<PartialSum> sums = partial_sums(call.fold, group.ranks);
    for (std::size_t i = 0; i < size; ++i, ++at) {
      reduce.input[at] = group.inputs[sums[0].positions[i]].data;
      gather.input[at] = group.inputs[i].data;
      reduce.output[at] = gather.output[at] = group.outputs[i].data;
      aligned &= is_aligned(group.inputs[i].data) && is_aligned(group.outputs[i].data);
    }
  }
  if (call.reduces()) {
    if (reduce.multiplies) reduce.factor = rounded_reciprocal(groups[0].dtype(), size);
    reduce.aligned = aligned && (!call.scatters() || reduce.part % 8 == 0);
    launch_reduce(reduce, groups[0].dtype(), stream);
  } else {
    launch_gather(gather, stream);
  }
}

/// One group of one GPU, of any size and with any overlap between inputs and outputs.
void CollectiveUnit::run_through_scratch(const Call& call, const CollectiveRanges& group) {
  Gpu& gpu = machine_.gpu(group.gpu());
  const Range& larger = call.reduces() ? group.inputs[0] : group.outputs[0];
  std::byte* const scratch = gpu.scratch(call.stream, larger.bytes());
  const cudaStream_t stream = gpu.begin_op(call.stream);
  const Range result{scratch, larger.dtype, larger.numel, larger.gpu};
  std::vector<std::size_t> all(group.ranks.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (call.reduces()) {
    const std::vector<PartialSum> sums = partial_sums(call.fold, group.ranks);
    sum_into(scratch, call.addends(group.inputs, sums[0].positions), stream);
    deal_out(result, {group.outputs, all}, stream);
  } else {
    place(scratch, {group.inputs, all}, stream);
    copy_whole(scratch, {group.outputs, all}, stream);
  }
}

void CollectiveUnit::run_across(const Call& call, const CollectiveRanges& group) {
  const std::vector<PartialSum> sums = partial_sums(call.fold, group.ranks);
  const bool alone = sums.size() == group.ranks.size() &&
                     std::is_sorted(group.ranks.begin(), group.ranks.end()) &&
                     works_in_place(call.communicate, group);
  const Range& larger = call.reduces() ? group.inputs[0] : group.outputs[0];
  std::vector<Share> shares;
  for (const PartialSum& sum : sums) {
    shares.push_back({.sum = sum, .is_here = machine_.has(sum.gpu)});
    if (!shares.back().is_here) continue;
    Gpu& gpu = machine_.gpu(sum.gpu);
    if (!alone) shares.back().scratch = gpu.scratch(call.stream, larger.bytes());
    shares.back().stream = gpu.begin_op(call.stream);
  }
  if (alone) {
    run_by_nccl_alone(call, group, shares);
  } else if (call.reduces()) {
    reduce_across(call, group, shares);
  } else {
    gather_across(group, shares);
  }
}

const std::vector<ncclComm_t>& CollectiveUnit::members_of(std::span<const Share> shares) {
  std::vector<Communicators::Member> members;
  for (const Share& share : shares) {
    const int gpu = share.sum.gpu;
    members.push_back({gpu, share.is_here ? machine_.gpu(gpu).device() : Communicators::kElsewhere});
  }
  return machine_.communicators().among(members);
}

/// One rank a GPU: rank i of the communicator is position i of the group.
void CollectiveUnit::run_by_nccl_alone(const Call& call, const CollectiveRanges& group,
                                       std::span<const Share> shares) {
  const auto& members = members_of(shares);
  const ncclRedOp_t reduction = call.averages() ? ncclAvg : call.takes_largest() ? ncclMax : ncclSum;
  machine_.communicators().group(members, [&] {
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (!shares[i].is_here) continue;
      const Range &input = group.inputs[i], &output = group.outputs[i];
      const cudaStream_t stream = shares[i].stream;
      switch (call.communicate.collective) {
        case Collective::all_reduce:
          SC_CHECK(ncclAllReduce(input.data, output.data, count_of(input.numel), nccl_type(input.dtype),
                                 reduction, members[i], stream));
          break;
        case Collective::reduce_scatter:
          SC_CHECK(ncclReduceScatter(input.data, output.data, count_of(output.numel), nccl_type(input.dtype),
                                     reduction, members[i], stream));
          break;
        case Collective::all_gather:
          SC_CHECK(
              ncclAllGather(input.data, output.data, count_of(input.bytes()), ncclUint8, members[i], stream));
          break;
      }
    }
  });
}

/// Partial sums on each GPU, their sum by NCCL, and to every output its part. The factor of an average counts
/// all ranks, so that it is applied here and NCCL sums.
void CollectiveUnit::reduce_across(const Call& call, const CollectiveRanges& group,
                                   std::span<const Share> shares) {
  const Range& any = group.inputs[0];
  for (const Share& share : shares) {
    if (!share.is_here) continue;
    SC_CHECK(cudaSetDevice(machine_.gpu(share.sum.gpu).device()));
    sum_into(share.scratch, call.addends(group.inputs, share.sum.positions), share.stream);
  }
  const auto& members = members_of(shares);
  machine_.communicators().group(members, [&] {
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (!shares[i].is_here) continue;
      SC_CHECK(ncclAllReduce(shares[i].scratch, shares[i].scratch, count_of(any.numel), nccl_type(any.dtype),
                             call.takes_largest() ? ncclMax : ncclSum, members[i], shares[i].stream));
    }
  });
  for (const Share& share : shares) {
    if (!share.is_here) continue;
    SC_CHECK(cudaSetDevice(machine_.gpu(share.sum.gpu).device()));
    const Range result{share.scratch, any.dtype, any.numel, share.sum.gpu};
    deal_out(result, {group.outputs, share.sum.positions}, share.stream);
  }
}

/// Every GPU places its own parts; the others come by broadcast.
void CollectiveUnit::gather_across(const CollectiveRanges& group, std::span<const Share> shares) {
  const std::int64_t bytes = group.inputs[0].bytes();
  for (const Share& share : shares) {
    if (!share.is_here) continue;
    SC_CHECK(cudaSetDevice(machine_.gpu(share.sum.gpu).device()));
    place(share.scratch, {group.inputs, share.sum.positions}, share.stream);
  }
  const auto& members = members_of(shares);
  machine_.communicators().group(members, [&] {
    for (std::size_t owner = 0; owner < shares.size(); ++owner) {
      for_each_stretch(shares[owner].sum.positions, [&](std::size_t first, std::size_t count) {
        for (std::size_t i = 0; i < shares.size(); ++i) {
          if (!shares[i].is_here) continue;
          std::byte* const parts = shares[i].scratch + static_cast<std::int64_t>(first) * bytes;
          SC_CHECK(ncclBroadcast(parts, parts, count * count_of(bytes), ncclUint8, static_cast<int>(owner),
                                 members[i], shares[i].stream));
        }
      });
    }
  });
  for (const Share& share : shares) {
    if (!share.is_here) continue;
    SC_CHECK(cudaSetDevice(machine_.gpu(share.sum.gpu).device()));
    copy_whole(share.scratch, {group.outputs, share.sum.positions}, share.stream);
  }
}

}  // namespace shardcheck::gpu
