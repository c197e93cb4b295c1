#include "properties/layout_laws/claim.h"

#include <fmt/format.h>

#include <utility>

#include "core/layout/dtensor_nd.h"
#include "core/layout/mfsdp_v2_block_atomic.h"
#include "properties/layout_laws/case_json.h"

namespace shardcheck::laws {
namespace {

using layout::Buffer;
using layout::RankLayout;

/// The two scale planes of an MXFP8 buffer, where every tensor allows them.
void add_scale_planes(GroupClaim& group, const Asked& asked) {
  constexpr std::int64_t kBlock = layout::kMxfp8Block;
  if (asked.configuration.block_rows != kBlock || group.rule.size % kBlock != 0) return;
  const auto scales = layout::mxfp8_scales(group.rule, asked.parameters);
  if (scales.empty()) return;
  Buffer derived = group.rule;
  derived.size /= kBlock;
  for (layout::Bucket& bucket : derived.buckets) bucket.lo /= kBlock, bucket.hi /= kBlock;
  derived.slots.clear();
  derived.buckets.front().slot_count = 0;
  for (const layout::Mxfp8Scales& scale : scales) {
    derived.slots.push_back({scale.param, scale.lo, scale.hi, 0, scale.hi - scale.lo});
  }
  layout::finish_buffer(derived);
  for (const char* name : {"rowwise scale", "columnwise scale"}) {
    Plane& plane = group.planes.emplace_back(Plane{name, kBlock, {}});
    for (std::int32_t rank = 0; rank < derived.world; ++rank) {
      plane.shards.push_back(derived.rank_layout(Rank{rank}, 0));
    }
  }
}

}  // namespace

Claim claim_of(const Asked& asked) {
  Claim claim{.asked = asked, .layout = layout::find_layout(asked.layout)};
  layout::Layout built =
      layout::layout_named(asked.layout, claim.asked.parameters, asked.mesh, asked.configuration);
  for (Buffer& buffer : built.buffers) {
    GroupClaim& group = claim.groups.emplace_back();
    group.rule = std::move(buffer);
    group.shards.reserve(group.rule.world * group.buckets());
    for (std::int32_t rank = 0; rank < group.rule.world; ++rank) {
      for (std::int32_t bucket = 0; bucket < std::ssize(group.rule.buckets); ++bucket) {
        group.shards.push_back(group.rule.rank_layout(Rank{rank}, bucket));
      }
    }
    if (claim.layout->promises.blocks_whole && asked.layout == "mfsdp-v2-block-atomic") {
      add_scale_planes(group, asked);
    }
  }
  for (std::int32_t rank = 0; rank < asked.mesh.ranks(); ++rank) {
    claim.shard_of.push_back(layout::shard_of(asked.mesh, Rank{rank}));
  }
  return claim;
}

layout::Ownership ownership_of(const Claim& claim) {
  layout::Layout built;
  for (const GroupClaim& group : claim.groups) {
    Buffer& buffer = built.buffers.emplace_back(group.rule);
    for (layout::Slot& slot : buffer.slots) slot.numel = claim.parameter(slot.param).numel();
  }
  return {std::move(built), claim.asked.parameters};
}

void report(Findings& findings, const Claim& claim, LawFinding finding, ParamId param) {
  finding.layout = claim.asked.layout;
  if (param.value >= 0) finding.parameter = claim.parameter(param).name;
  findings.push_back(std::move(finding));
}

bool is_first_replica(const Buffer& buffer, Rank rank) {
  if (buffer.cut == layout::Cut::replicated) return rank.value == 0;
  if (buffer.cut != layout::Cut::mesh) return true;
  const layout::DtensorOptions& options = buffer.mesh->options;
  std::int32_t rest = rank.value;
  for (std::size_t axis = options.mesh.size(); axis-- > 0;) {
    if (!options.placements[axis].cuts() && rest % options.mesh[axis] != 0) return false;
    rest /= options.mesh[axis];
  }
  return true;
}

std::string to_text(const Asked& asked) {
  std::string text = asked.layout;
  for (const layout::Axis& axis : asked.mesh.axes) {
    constexpr const char* kUses[] = {"", " (replicate)", " (tensor)"};
    text += fmt::format(" {}={}{}", axis.name, axis.size, kUses[static_cast<int>(axis.use)]);
  }
  text += ":";
  for (const layout::Parameter& p : asked.parameters) {
    text +=
        fmt::format(" {}({}){}", name_of(p.dtype), fmt::join(p.shape, ","), p.requires_grad ? "" : " frozen");
    if (p.expert) text += " expert";
    if (p.shared_embedding) text += " shared";
    if (p.layerwise) text += " layerwise";
    if (p.quantized != layout::Quantized::none) text += " quantised";
    if (p.unit) text += fmt::format(" unit {}", *p.unit);
    if (p.tied_to) text += fmt::format(" tied to {}", p.tied_to->value);
    if (p.shard_dim != 0) text += fmt::format(" dim {}", p.shard_dim);
    if (p.group != 0) text += fmt::format(" group {}", p.group);
    if (p.block_rows != 1) text += fmt::format(" block {}", p.block_rows);
    text += ";";
  }
  const std::string configuration = to_text(asked.configuration);
  if (configuration.empty() && text.ends_with(';')) text.pop_back();
  if (!configuration.empty()) text += " " + configuration;
  return text;
}

}  // namespace shardcheck::laws
