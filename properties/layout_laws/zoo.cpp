#include "properties/layout_laws/zoo.h"

#include <algorithm>
#include <vector>

#include "properties/layout_laws/checkpoint_law.h"
#include "properties/layout_laws/judge.h"
#include "properties/layout_laws/quirks.h"
#include "properties/layout_laws/zoo_files.h"
#include "properties/layout_laws/zoo_meshes.h"
#include "properties/layout_laws/zoo_padding.h"

namespace shardcheck::laws {
namespace {

std::vector<LayoutFault> all_faults() {
  std::vector<LayoutFault> faults;
  for (const auto part :
       {padding_and_boundary_faults(), mesh_and_plane_faults(), file_and_move_faults(), own_faults()}) {
    faults.insert(faults.end(), part.begin(), part.end());
  }
  return faults;
}

Findings judged(const LayoutFault& fault, bool switched_on) {
  Claim claim = claim_of(fault.model());
  if (switched_on && fault.corrupt_claim != nullptr) fault.corrupt_claim(claim);
  Verdict verdict;
  judge_claim(claim, 0, verdict);
  if (fault.corrupt_index != nullptr) {
    checkpoint::ShardedIndex index = checkpoint_index(claim);
    if (switched_on) fault.corrupt_index(index);
    judge_checkpoint_index(claim, index, verdict.findings);
  }
  if (fault.corrupt_moves != nullptr) {
    Asked target = claim.asked;
    target.mesh = layout::mesh_of(3);
    const Claim other = claim_of(target);
    Moves moves = plan_moves(claim, other);
    if (switched_on) fault.corrupt_moves(moves);
    judge_moves(claim, other, moves, verdict.findings);
  }
  if (!switched_on) mark_quirks(claim, verdict.findings);
  return verdict.findings;
}

}  // namespace

std::span<const LayoutFault> layout_zoo() {
  static const std::vector<LayoutFault> faults = all_faults();
  return faults;
}

const LayoutFault* find_layout_fault(std::string_view id) {
  const auto zoo = layout_zoo();
  const auto found = std::ranges::find(zoo, id, &LayoutFault::id);
  return found == zoo.end() ? nullptr : &*found;
}

Findings findings_of(const LayoutFault& fault) {
  return judged(fault, true);
}

Findings findings_without(const LayoutFault& fault) {
  return judged(fault, false);
}

}  // namespace shardcheck::laws
