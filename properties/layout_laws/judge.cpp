#include "properties/layout_laws/judge.h"

#include <algorithm>

#include "core/error.h"
#include "properties/layout_laws/bounds.h"
#include "properties/layout_laws/bytes.h"
#include "properties/layout_laws/checkpoint_law.h"
#include "properties/layout_laws/cover.h"
#include "properties/layout_laws/cuts.h"
#include "properties/layout_laws/order.h"
#include "properties/layout_laws/planes.h"
#include "properties/layout_laws/quirks.h"
#include "properties/layout_laws/rebuild.h"

namespace shardcheck::laws {
namespace {

using Judge = void (*)(const Facts&, Findings&);

constexpr Judge kGeometry[] = {
    judge_cover,         judge_overlap,      judge_tiling,           judge_alignment,   judge_rows_and_blocks,
    judge_whole_tensors, judge_contiguity,   judge_degenerate,       judge_frozen,      judge_replicas,
    judge_planes,        judge_wide,         judge_counts,           judge_balance,     judge_waste,
    judge_mesh_order,    judge_several_axes, judge_upstream_strided, judge_determinism, judge_tied,
    judge_fsdp2_labels};
constexpr Judge kBytes[] = {judge_padding, judge_round_trip, judge_linearity, judge_scales};

std::string refusal(const Asked& asked) {
  try {
    claim_of(asked);
    return "";
  } catch (const Error& rejected) {
    return rejected.what();
  }
}

bool is_small(const Claim& claim) {
  return storage_of(claim) <= kMostStorage && can_move(claim);
}

void judge_move(const Claim& claim, const Asked& target, Verdict& verdict) {
  if (has_huge_tensor(target)) return;  // even one that is frozen, and that the source holds nowhere
  std::optional<Claim> other;
  try {
    other = claim_of(target);
  } catch (const Error&) {
    return;  // its own case judges that
  }
  if (is_small(*other)) judge_moves(claim, *other, plan_moves(claim, *other), verdict.findings);
}

}  // namespace

bool has_huge_tensor(const Asked& asked) {
  return std::ranges::any_of(asked.parameters, [](const auto& p) { return p.numel() > kMostStorage; });
}

void judge_claim(const Claim& claim, std::int64_t choice, Verdict& verdict) {
  const Facts facts(claim);
  for (const Judge law : kGeometry) law(facts, verdict.findings);
  judge_metamorphic(facts, choice, verdict.findings);
  judge_checkpoint_index(claim, checkpoint_index(claim), verdict.findings);
  verdict.moved_bytes = is_small(claim);
  if (verdict.moved_bytes) {
    for (const Judge law : kBytes) law(facts, verdict.findings);
  }
}

Verdict judge(const Case& of) {
  Verdict verdict;
  std::optional<Claim> claim;
  try {
    claim = claim_of(of.asked);
  } catch (const Error& rejected) {
    verdict.rejected = true;
    verdict.rejection = rejected.what();
    const std::string again = refusal(of.asked);
    if (again != verdict.rejection) {
      verdict.findings.push_back(
          {.law = "L12", .sentence = "a second rank refuses otherwise: " + again, .layout = of.asked.layout});
    }
    return verdict;
  }
  judge_claim(*claim, of.choice, verdict);
  if (of.moved_to && verdict.moved_bytes) judge_move(*claim, *of.moved_to, verdict);
  mark_quirks(*claim, verdict.findings);
  return verdict;
}

}  // namespace shardcheck::laws
