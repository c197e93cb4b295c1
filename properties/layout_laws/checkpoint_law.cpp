#include "properties/layout_laws/checkpoint_law.h"

#include <algorithm>

#include "core/error.h"

namespace shardcheck::laws {
namespace {

using checkpoint::SavedPiece;
using checkpoint::SavedTensor;

ParamId named(const Claim& claim, const std::string& name) {
  const auto found = std::ranges::find(claim.asked.parameters, name, &layout::Parameter::name);
  return ParamId{static_cast<std::int32_t>(found - claim.asked.parameters.begin())};
}

/// The group that holds the parameter, or null.
const GroupClaim* group_of(const Claim& claim, ParamId param) {
  for (const GroupClaim& group : claim.groups) {
    if (group.rule.find(param) != nullptr) return &group;
  }
  return nullptr;
}

/// The rank that saves a piece must hold it; a checkpoint of what others hold is of other bytes.
bool is_held(const GroupClaim& group, ParamId param, const SavedPiece& piece) {
  if (group.rule.cut == layout::Cut::virtual_floor) return true;  // whole on every rank
  if (piece.file >= group.rule.world) return false;
  std::int64_t held = 0;
  for (std::size_t b = 0; b < group.buckets(); ++b) {
    for (const layout::Segment& s : group.shard(piece.file, b).segs) {
      if (s.param == param)
        held += std::max<std::int64_t>(0, std::min(piece.hi, s.p_hi) - std::max(piece.lo, s.p_lo));
    }
  }
  return held == piece.hi - piece.lo;
}

}  // namespace

checkpoint::ShardedIndex checkpoint_index(const Claim& claim) {
  return checkpoint::index_of(ownership_of(claim), claim.asked.parameters, claim.asked.layout);
}

void judge_checkpoint_index(const Claim& claim, const checkpoint::ShardedIndex& index, Findings& findings) {
  try {
    checkpoint::check_index(index, "checkpoint");
  } catch (const Error& error) {
    report(findings, claim, {.law = "L18", .sentence = error.what()});
    return;
  }
  std::int32_t ranks = 1;
  for (const GroupClaim& group : claim.groups) ranks = std::max(ranks, group.rule.world);
  if (std::ssize(index.files) != ranks) {
    report(findings, claim,
           {.law = "L18",
            .sentence = "there is not one file a rank; ranks with padding alone save too",
            .expected = ranks,
            .actual = std::ssize(index.files)});
  }
  std::int64_t saved = 0;
  for (const SavedTensor& tensor : index.tensors) {
    const ParamId param = named(claim, tensor.name);
    if (param.value >= std::ssize(claim.asked.parameters)) {
      report(findings, claim,
             {.law = "L18", .sentence = "a tensor is saved that the model lacks: " + tensor.name});
      continue;
    }
    ++saved;
    if (tensor.shape != claim.parameter(param).shape || tensor.dtype != claim.parameter(param).dtype) {
      report(findings, claim, {.law = "L18", .sentence = "it is saved under another shape or dtype"}, param);
    }
    const GroupClaim* group = group_of(claim, param);
    for (const SavedPiece& piece : tensor.pieces) {
      if (group == nullptr || is_held(*group, param, piece)) continue;
      report(findings, claim,
             {.law = "L18",
              .sentence = "a rank saves elements that it does not hold",
              .rank = piece.file,
              .element = piece.lo},
             param);
    }
  }
  const std::int64_t expected =
      std::ranges::count_if(claim.asked.parameters, [](const auto& p) { return !p.tied_to; });
  if (saved == expected) return;
  report(findings, claim,
         {.law = "L18",
          .sentence = "a tensor of the model is not saved",
          .expected = expected,
          .actual = saved});
}

}  // namespace shardcheck::laws
