#include "backends/cpu/memory.h"

#include <algorithm>

#include "core/assert.h"

namespace shardcheck::cpu {
namespace {

std::size_t index(Rank rank) {
  return static_cast<std::size_t>(rank.value);
}
std::size_t index(BufferId id) {
  return static_cast<std::size_t>(id.value);
}

template <class Bits>
void fill_bits(const Range& range, std::uint32_t bits) {
  std::fill_n(reinterpret_cast<Bits*>(range.data), range.numel, static_cast<Bits>(bits));
}

}  // namespace

void fill_with_poison(const Range& range, Poison poison) {
  const std::uint32_t bits = poison_bits(poison, range.dtype);
  switch (bytes_of(range.dtype)) {
    case 4: return fill_bits<std::uint32_t>(range, bits);
    case 2: return fill_bits<std::uint16_t>(range, bits);
    default: return fill_bits<std::uint8_t>(range, bits);
  }
}

void Memory::start(const Plan& plan) {
  const auto known = std::min(slabs_.size(), plan.buffers.size());
  for (std::size_t id = 0; id < known; ++id) {
    if (plan.buffers[id].role == BufferRole::inputs) continue;
    for (Part& part : slabs_[id].parts) part.alive &= part.written_in == executions_;
  }
}

/// The slab of `id` in the size that `plan` asks for. A slab of another size dies on all ranks.
Memory::Slab& Memory::shaped(const Plan& plan, BufferId id) {
  if (slabs_.size() < plan.buffers.size()) slabs_.resize(plan.buffers.size());
  Slab& slab = slabs_[index(id)];
  const Buffer& buffer = plan.buffer(id);
  const std::int64_t bytes = buffer.numel * bytes_of(buffer.dtype);
  const auto ranks = static_cast<std::size_t>(plan.ranks);
  if (slab.bytes == bytes && slab.parts.size() == ranks) return slab;
  slab.bytes = bytes;
  slab.pitch = (bytes + 63) / 64;
  slab.parts.assign(ranks, Part{});
  const std::int64_t lines = slab.pitch * plan.ranks;
  if (slab.room < lines) {  // never shrinks, so that a larger plan finds it again
    slab.lines.reset();
    slab.lines = std::make_unique_for_overwrite<CacheLine[]>(static_cast<std::size_t>(lines));
    slab.room = lines;
  }
  return slab;
}

Range Memory::allocate(const Plan& plan, Rank rank, BufferId id) {
  SC_ASSERT(rank.value >= 0 && rank.value < plan.ranks, "the plan has no such rank");
  shaped(plan, id).parts[index(rank)].alive = true;
  return at(plan, rank, {id, 0, plan.buffer(id).numel});
}

void Memory::allocate_for_write(const Plan& plan, Rank rank, BufferId id) {
  SC_ASSERT(rank.value >= 0 && rank.value < plan.ranks, "the plan has no such rank");
  if (!shaped(plan, id).parts[index(rank)].alive) fill_with_poison(allocate(plan, rank, id), plan.poison);
  slabs_[index(id)].parts[index(rank)].written_in = executions_;
}

Range Memory::at(const Plan& plan, Rank rank, View view) {
  SC_ASSERT(index(view.buffer) < slabs_.size(), "a buffer is used before its Allocate");
  SC_ASSERT(index(view.buffer) < plan.buffers.size(), "the plan has no such buffer");
  Slab& slab = slabs_[index(view.buffer)];
  const Buffer& buffer = plan.buffer(view.buffer);
  const int size = bytes_of(buffer.dtype);
  SC_ASSERT(
      index(rank) < slab.parts.size() && slab.parts[index(rank)].alive && slab.bytes == buffer.numel * size,
      "a buffer is used before its Allocate");
  SC_ASSERT(view.offset >= 0 && view.numel >= 0 && view.numel <= buffer.numel - view.offset,
            "a view leaves its buffer");
  auto* part = reinterpret_cast<std::byte*>(slab.lines.get() + rank.value * slab.pitch);
  return {part + view.offset * size, buffer.dtype, view.numel};
}

}  // namespace shardcheck::cpu
