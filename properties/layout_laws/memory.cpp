#include "properties/layout_laws/memory.h"

namespace shardcheck::laws {
namespace {

/// Elements that one rank stores of a bucket: an unsharded buffer is whole on every rank.
std::int64_t storage_numel(const GroupClaim& group, std::size_t s) {
  return group.rule.cut == layout::Cut::virtual_floor ? group.rule.size : group.shards[s].buf_numel;
}

}  // namespace

std::uint32_t code_of(ParamId param, std::int64_t element) {
  constexpr std::uint32_t kHigh[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000,
                                     0x7fa00000, 0x00000000, 0x3f800000, 0xc2280000, 0x7f7f0000, 0x00008000};
  const std::uint64_t number =
      static_cast<std::uint64_t>(element) * 31 + static_cast<std::uint64_t>(param.value);
  const auto low = static_cast<std::uint32_t>((number * 0x9E3779B97F4A7C15ULL) >> 49);
  return kHigh[static_cast<std::uint64_t>(element) % std::size(kHigh)] | low;
}

std::int64_t storage_of(const Claim& claim) {
  __int128 storage = 0;
  for (const GroupClaim& group : claim.groups) {
    for (std::size_t s = 0; s < group.shards.size(); ++s) storage += storage_numel(group, s);
  }
  return storage > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(storage);
}

bool can_move(const Claim& claim) {
  for (const GroupClaim& group : claim.groups) {
    for (std::size_t s = 0; s < group.shards.size(); ++s) {
      for (const layout::Segment& segment : group.shards[s].segs) {
        const std::int64_t numel = claim.parameter(segment.param).numel();
        const bool inside = segment.p_lo >= 0 && segment.p_lo <= segment.p_hi && segment.p_hi <= numel;
        const std::int64_t end = segment.off + segment.p_hi - segment.p_lo;
        if (!inside || segment.off < 0 || end > storage_numel(group, s)) return false;
      }
    }
  }
  return true;
}

Memory blank(const Claim& claim, std::uint32_t canary) {
  Memory memory(claim.groups.size());
  for (std::size_t g = 0; g < claim.groups.size(); ++g) {
    const GroupClaim& group = claim.groups[g];
    memory[g].resize(group.shards.size());
    for (std::size_t s = 0; s < group.shards.size(); ++s) {
      memory[g][s].assign(static_cast<std::size_t>(storage_numel(group, s)), canary);
    }
  }
  return memory;
}

Memory filled(const Claim& claim, std::uint32_t canary) {
  Memory memory = blank(claim, canary);
  for (std::size_t g = 0; g < claim.groups.size(); ++g) {
    const GroupClaim& group = claim.groups[g];
    for (std::size_t s = 0; s < group.shards.size(); ++s) {
      if (group.rule.cut == layout::Cut::virtual_floor) {
        for (const layout::Slot& slot : group.rule.slots) {
          for (std::int64_t e = 0; e < slot.numel; ++e) memory[g][s][slot.lo + e] = code_of(slot.param, e);
        }
        continue;
      }
      for (const layout::Segment& segment : group.shards[s].segs) {
        for (std::int64_t e = segment.p_lo; e < segment.p_hi; ++e) {
          memory[g][s][segment.off + e - segment.p_lo] = code_of(segment.param, e);
        }
      }
    }
  }
  return memory;
}

}  // namespace shardcheck::laws
