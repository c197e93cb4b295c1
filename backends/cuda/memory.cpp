#include "backends/cuda/memory.h"

#include <algorithm>

#include "core/assert.h"
#include "core/integers.h"

namespace shardcheck::gpu {
namespace {

/// What the widest access of a kernel and cuBLASLt's fastest algorithms want.
constexpr std::int64_t kPartAlignment = 256;

/// A block of more than this many times the need goes back to the pool, when it is large.
constexpr std::int64_t kTooRoomy = 4;
constexpr std::int64_t kLarge = std::int64_t{64} << 20;

std::size_t index(Rank rank) {
  return static_cast<std::size_t>(rank.value);
}
std::size_t index(BufferId id) {
  return static_cast<std::size_t>(id.value);
}

}  // namespace

void Memory::start(const Plan& plan) {
  const auto known = std::min(slabs_.size(), plan.buffers.size());
  for (std::size_t id = 0; id < known; ++id) {
    if (plan.buffers[id].role == BufferRole::inputs) continue;
    for (Part& part : slabs_[id].parts) part.alive &= part.written_in == executions_;
  }
}

Pool& Memory::pool_of(const Slab& slab, int gpu) {
  return slab.on_host ? machine_.gpu(gpu).host_pool() : machine_.gpu(gpu).pool();
}

void Memory::release(Slab& slab, int gpu) {
  Block& block = slab.blocks[static_cast<std::size_t>(gpu)];
  if (block.data == nullptr) return;
  machine_.await();  // work in flight may use the block
  pool_of(slab, gpu).release(block);
  block = {};
}

/// Storage of at least `bytes` for the slab on one GPU; what it held is lost.
void Memory::make_room(Slab& slab, int gpu, std::int64_t bytes) {
  Block& block = slab.blocks[static_cast<std::size_t>(gpu)];
  const bool too_roomy = block.bytes > kLarge && block.bytes / kTooRoomy > bytes;
  if (block.bytes >= bytes && !too_roomy) return;
  release(slab, gpu);
  if (bytes > 0) block = pool_of(slab, gpu).acquire(bytes);
}

/// The slab of `id` in the size and the memory that `plan` asks for. Another slab dies on all ranks.
Memory::Slab& Memory::shaped(const Plan& plan, BufferId id) {
  if (slabs_.size() < plan.buffers.size()) slabs_.resize(plan.buffers.size());
  Slab& slab = slabs_[index(id)];
  const Buffer& buffer = plan.buffer(id);
  const std::int64_t bytes = buffer.numel * bytes_of(buffer.dtype);
  const auto ranks = static_cast<std::size_t>(plan.ranks);
  const bool moves = slab.on_host != buffer.on_host;
  if (slab.bytes == bytes && !moves && slab.parts.size() == ranks) return slab;
  slab.bytes = bytes;
  slab.pitch = round_up(bytes, kPartAlignment);
  slab.parts.assign(ranks, Part{});
  slab.blocks.resize(static_cast<std::size_t>(machine_.gpus()));
  const Fold fold = fold_of(plan);
  const auto each_gpu_here = [&](auto visit) {
    for (int gpu = 0; gpu < machine_.gpus(); ++gpu) {
      if (machine_.has(gpu)) visit(gpu);
    }
  };
  if (moves) each_gpu_here([&](int gpu) { release(slab, gpu); });
  slab.on_host = buffer.on_host;
  each_gpu_here([&](int gpu) { make_room(slab, gpu, slab.pitch * fold.ranks_on(gpu)); });
  return slab;
}

void Memory::allocate(const Plan& plan, Rank rank, BufferId id) {
  SC_ASSERT(rank.value >= 0 && rank.value < plan.ranks, "the plan has no such rank");
  shaped(plan, id).parts[index(rank)].alive = true;
}

bool Memory::allocate_for_write(const Plan& plan, Rank rank, BufferId id) {
  SC_ASSERT(rank.value >= 0 && rank.value < plan.ranks, "the plan has no such rank");
  Part& part = shaped(plan, id).parts[index(rank)];
  const bool is_new = !part.alive;
  part = {true, executions_};
  return is_new;
}

Range Memory::at_or_elsewhere(const Plan& plan, Rank rank, View view) {
  const int gpu = fold_of(plan).gpu_of(rank);
  if (machine_.has(gpu)) return at(plan, rank, view);
  return {nullptr, plan.buffer(view.buffer).dtype, view.numel, gpu};
}

Range Memory::at(const Plan& plan, Rank rank, View view) {
  SC_ASSERT(index(view.buffer) < slabs_.size(), "a buffer is used before its Allocate");
  SC_ASSERT(index(view.buffer) < plan.buffers.size(), "the plan has no such buffer");
  const Slab& slab = slabs_[index(view.buffer)];
  const Buffer& buffer = plan.buffer(view.buffer);
  const int size = bytes_of(buffer.dtype);
  SC_ASSERT(
      index(rank) < slab.parts.size() && slab.parts[index(rank)].alive && slab.bytes == buffer.numel * size,
      "a buffer is used before its Allocate");
  SC_ASSERT(view.offset >= 0 && view.numel >= 0 && view.numel <= buffer.numel - view.offset,
            "a view leaves its buffer");
  const Fold fold = fold_of(plan);
  const int gpu = fold.gpu_of(rank);
  std::byte* const slab_begin = slab.blocks[static_cast<std::size_t>(gpu)].data;
  std::byte* const part = slab_begin + (rank.value - fold.first_rank_of(gpu)) * slab.pitch;
  return {part + view.offset * size, buffer.dtype, view.numel, gpu};
}

SlabPart Memory::slab_of(const Plan& plan, BufferId id, const Range& range) const {
  const Slab& slab = slabs_[index(id)];
  const Fold fold = fold_of(plan);
  const auto first = slab.parts.begin() + fold.first_rank_of(range.gpu);
  const std::int64_t rows = fold.ranks_on(range.gpu);
  const bool are_there = std::all_of(first, first + rows, [](const Part& part) { return part.alive; });
  return {slab.blocks[static_cast<std::size_t>(range.gpu)].data, slab.bytes, slab.pitch,
          are_there ? rows : 0};
}

}  // namespace shardcheck::gpu
