#include "properties/layout_laws/checkpoint_law.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace shardcheck::laws {
namespace {

using checkpoint::SavedPiece;
using checkpoint::SavedTensor;

/// The parameters of a claim by name; of equal names the first.
std::map<std::string_view, ParamId> by_name(const Claim& claim) {
  std::map<std::string_view, ParamId> names;
  for (std::size_t i = 0; i < claim.asked.parameters.size(); ++i)
    names.emplace(claim.asked.parameters[i].name, ParamId{static_cast<std::int32_t>(i)});
  return names;
}

/// What one rank holds of a parameter.
struct Held {
  std::int32_t rank;
  std::int64_t lo, hi;
};

/// Who holds a parameter.
struct Holders {
  const GroupClaim* group = nullptr;  ///< null: nobody
  std::vector<Held> pieces;
};

/// [parameter]
std::vector<Holders> holders_of(const Claim& claim) {
  std::vector<Holders> holders(claim.asked.parameters.size());
  for (const GroupClaim& group : claim.groups) {
    for (const layout::Slot& slot : group.rule.slots) holders[slot.param.value].group = &group;
    for (std::size_t s = 0; s < group.shards.size(); ++s) {
      const auto rank = static_cast<std::int32_t>(s / group.buckets());
      for (const layout::Segment& segment : group.shards[s].segs)
        holders[segment.param.value].pieces.push_back({rank, segment.p_lo, segment.p_hi});
    }
  }
  return holders;
}

/// The rank that saves a piece must hold it; a checkpoint of what others hold is of other bytes.
bool is_held(const Holders& holders, const SavedPiece& piece) {
  if (holders.group->rule.cut == layout::Cut::virtual_floor) return true;  // whole on every rank
  std::int64_t held = 0;
  for (const Held& each : holders.pieces) {
    if (each.rank == piece.file)
      held += std::max<std::int64_t>(0, std::min(piece.hi, each.hi) - std::max(piece.lo, each.lo));
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
  const auto names = by_name(claim);
  const std::vector<Holders> holders = holders_of(claim);
  for (const SavedTensor& tensor : index.tensors) {
    const auto named = names.find(tensor.name);
    if (named == names.end()) {
      report(findings, claim,
             {.law = "L18", .sentence = "a tensor is saved that the model lacks: " + tensor.name});
      continue;
    }
    ++saved;
    const ParamId param = named->second;
    if (tensor.shape != claim.parameter(param).shape || tensor.dtype != claim.parameter(param).dtype) {
      report(findings, claim, {.law = "L18", .sentence = "it is saved under another shape or dtype"}, param);
    }
    const Holders& holding = holders[param.value];
    for (const SavedPiece& piece : tensor.pieces) {
      if (holding.group == nullptr || is_held(holding, piece)) continue;
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
