#include "properties/layout_laws/rebuild.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"

namespace shardcheck::laws {
namespace {

using layout::Buffer;
using layout::Layout;
using layout::Parameter;
using layout::Segment;
using layout::Slot;

bool same(const Buffer& a, const Buffer& b) {
  return a.key == b.key && a.world == b.world && a.cut == b.cut && a.size == b.size && a.chunk == b.chunk &&
         a.buckets == b.buckets && a.slots == b.slots && a.order == b.order && a.bounds == b.bounds &&
         a.mesh == b.mesh;
}

bool same_rule(const GroupClaim& claimed, const Buffer& built) {
  return same(claimed.rule, built);
}

std::optional<Layout> build(const Asked& asked) {
  try {
    return layout::layout_named(asked.layout, asked.parameters, asked.mesh, asked.configuration);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The buffer of a layout that holds a parameter, or null.
const Buffer* buffer_with(const Layout& built, ParamId param) {
  for (const Buffer& buffer : built.buffers) {
    if (buffer.find(param) != nullptr) return &buffer;
  }
  return nullptr;
}

/// Per rank of the group, the ranges of one parameter.
std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> boundaries(const Facts& facts, ParamId param,
                                                                           std::int32_t world) {
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> result(world);
  for (const Piece& piece : facts.pieces_of(param)) {
    result[piece.rank.value].push_back({piece.segment.p_lo, piece.segment.p_hi});
  }
  return result;
}

/// Layouts that give a shared embedding a bucket of its own, so that two stages cut it alike.
bool isolates_shared_embeddings(const Claim& claim) {
  const std::string& name = claim.asked.layout;
  return name == "megatron-ddp" || name == "megatron-layerwise" ||
         (name == "megatron-fsdp-v1" && claim.asked.configuration.strategy != layout::FsdpStrategy::no_shard);
}

/// The embedding as the only parameter of another pipeline stage.
void judge_other_stage(const Facts& facts, ParamId param, Findings& findings) {
  const Claim& claim = facts.claim;
  const std::int32_t group = facts.group_of(param);
  if (group < 0) return;
  Asked stage = claim.asked;
  stage.parameters = {claim.parameter(param)};
  const Claim other = claim_of(stage);
  const Facts other_facts(other);
  const std::int32_t world = claim.groups[group].rule.world;
  if (boundaries(facts, param, world) == boundaries(other_facts, ParamId{0}, world)) return;
  report(findings, claim,
         {.law = "L21", .sentence = "a stage that holds only this embedding cuts it at other elements"},
         param);
}

/// (a): when C * W divides every tensor, nothing is wasted.
void judge_no_waste(const Facts& facts, Findings& findings) {
  for (const GroupClaim& group : facts.claim.groups) {
    const Buffer& rule = group.rule;
    if (rule.chunk == 0) continue;
    std::int64_t payload = 0;
    for (const Slot& slot : rule.slots) {
      if (slot.numel % (rule.chunk * rule.world) != 0) return;
      payload += slot.numel;
    }
    if (rule.size == payload) continue;
    report(findings, facts.claim,
           {.law = "L24",
            .sentence = "(a) whole chunks on every rank, and still padding",
            .expected = payload,
            .actual = rule.size});
  }
}

/// (b): dim 0 times W leaves no row padding in fsdp2.
void judge_multiplied_rows(const Claim& claim, Findings& findings) {
  if (claim.asked.layout != "fsdp2-per-param") return;
  Asked asked = claim.asked;
  for (Parameter& p : asked.parameters) p.shape[0] *= asked.mesh.ranks_along(layout::AxisUse::shard);
  const auto built = build(asked);
  if (!built) return;
  for (const Buffer& buffer : built->buffers) {
    std::int64_t payload = 0;
    for (const Slot& slot : buffer.slots) payload += slot.numel;
    if (buffer.size == payload) continue;
    report(findings, claim,
           {.law = "L24",
            .sentence = "(b) every dim 0 is a multiple of W, and still rows are padded",
            .expected = payload,
            .actual = buffer.size});
  }
}

/// (c): a tensor in another unit changes no buffer of this one.
void judge_added_group(const Claim& claim, Findings& findings) {
  if (!claim.layout->promises.has_units || !claim.asked.configuration.owners.empty()) return;
  Asked asked = claim.asked;
  asked.parameters.push_back(
      {.name = "added", .shape = {claim.asked.configuration.block_rows, 3}, .unit = 1000});
  const auto built = build(asked);
  if (!built) return;
  for (std::size_t g = 0; g < claim.groups.size(); ++g) {
    if (g < built->buffers.size() && same(claim.groups[g].rule, built->buffers[g])) continue;
    report(findings, claim, {.law = "L24", .sentence = "(c) a tensor in another unit changed this buffer"});
  }
}

/// (d): in layouts that keep the order, two tensors that differ in name alone exchange their places.
void judge_exchange(const Claim& claim, std::int64_t choice, Findings& findings) {
  const auto& parameters = claim.asked.parameters;
  if (!claim.layout->promises.in_order || parameters.empty()) return;
  const std::size_t a = static_cast<std::size_t>(choice) % parameters.size();
  for (std::size_t b = a + 1; b < parameters.size(); ++b) {
    Parameter twin = parameters[b];
    twin.name = parameters[a].name;
    if (twin != parameters[a]) continue;
    Asked asked = claim.asked;
    std::swap(asked.parameters[a], asked.parameters[b]);
    const auto built = build(asked);
    const bool equal = built && std::ranges::equal(claim.groups, built->buffers, same_rule);
    if (equal) return;
    report(findings, claim, {.law = "L24", .sentence = "(d) two equal tensors did not exchange places"});
    return;
  }
}

/// (e): splitting a group never increases the largest C.
void judge_split_group(const Claim& claim, Findings& findings) {
  if (claim.groups.empty() || claim.groups.front().rule.chunk == 0 || claim.asked.parameters.size() < 2)
    return;
  const Buffer& whole = claim.groups.front().rule;
  if (whole.slots.size() < 2) return;
  Asked asked = claim.asked;
  const ParamId moved = std::ranges::max(whole.slots, {}, &Slot::param).param;
  asked.parameters[moved.value].unit = 1001;
  const auto built = build(asked);
  if (!built) return;
  for (const Slot& slot : whole.slots) {
    const Buffer* part = buffer_with(*built, slot.param);
    if (part == nullptr || part->chunk <= whole.chunk) continue;
    report(findings, claim,
           {.law = "L24",
            .sentence = "(e) a group without one of its tensors has a larger C",
            .expected = whole.chunk,
            .actual = part->chunk},
           moved);
    return;
  }
}

}  // namespace

void judge_determinism(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  Asked again = claim.asked;  // other addresses
  if (claim.runtime) again.configuration = *claim.runtime;
  const auto built = build(again);
  const bool equal = built && std::ranges::equal(claim.groups, built->buffers, same_rule);
  if (equal) return;
  report(findings, claim,
         {.law = "L11", .sentence = "a second build of the same model gives another layout"});
}

void judge_tied(const Facts& facts, Findings& findings) {
  const Claim& claim = facts.claim;
  for (std::size_t i = 0; i < claim.asked.parameters.size(); ++i) {
    const ParamId param{static_cast<std::int32_t>(i)};
    const Parameter& parameter = claim.parameter(param);
    if (parameter.tied_to) {
      if (facts.group_of(param) >= 0 || !facts.pieces_of(param).empty()) {
        report(findings, claim, {.law = "L21", .sentence = "an alias has storage of its own"}, param);
      }
      const ParamId storage = *parameter.tied_to;
      std::int64_t held = 0;
      for (const Piece& piece : facts.pieces_of(storage)) held += piece.segment.p_hi - piece.segment.p_lo;
      const bool virtual_shards =
          facts.group_of(storage) >= 0 &&
          claim.groups[facts.group_of(storage)].rule.cut == layout::Cut::virtual_floor;
      if (must_be_held(claim, storage) && !virtual_shards && held != claim.parameter(storage).numel()) {
        report(findings, claim,
               {.law = "L21",
                .sentence = "part of a tied tensor is updated by nobody",
                .expected = claim.parameter(storage).numel(),
                .actual = held},
               storage);
      }
    } else if (parameter.shared_embedding && isolates_shared_embeddings(claim)) {
      judge_other_stage(facts, param, findings);
    }
  }
}

void judge_metamorphic(const Facts& facts, std::int64_t choice, Findings& findings) {
  switch (choice % 5) {
    case 0: return judge_no_waste(facts, findings);
    case 1: return judge_multiplied_rows(facts.claim, findings);
    case 2: return judge_added_group(facts.claim, findings);
    case 3: return judge_exchange(facts.claim, choice / 5, findings);
    default: return judge_split_group(facts.claim, findings);
  }
}

}  // namespace shardcheck::laws
