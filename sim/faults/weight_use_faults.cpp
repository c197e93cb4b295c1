// Faults of the use of FP8 weights: derived copies that are stale, gone or wrong, and what a resume loses
// (fp8 4.9, E8 to E12, E15 to E18).
#include <set>

#include "sim/faults/kinds.h"
#include "sim/faults/weight_ops.h"

namespace shardcheck {
namespace {

using namespace weight_ops;
using recipe::Direction;

/// The data gradient decodes the row copy of a recipe that quantises both directions.
bool backward_of_rows(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  const auto first = first_weight(edit.plan());
  if (!first) return false;
  const WeightCopy& row = first->row;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    const bool decodes = is_of_first<DequantizeBlocks>(op) && op.why.purpose == Purpose::backward &&
                         edit.role(op, 0) == BufferRole::codes;
    if (!decodes) continue;
    Op changed = edit.with_views(op, 3, [&](std::int8_t operand, std::int32_t r) {
      return operand == 0 ? row.codes : operand == 1 ? row.scales : edit.view(op, 2, r);
    });
    std::get<DequantizeBlocks>(changed.action).of.direction = Direction::row;
    edit.change(i) = changed;
  }
  return edit.commit();
}

bool is_evaluation(const Op& op) {
  return is_of_first<Matmul>(op) && op.why.purpose == Purpose::forward && op.why.microbatch < 0;
}

/// The last derivation of the first weight's column copy is left out, where an earlier one was of another
/// version.
bool not_derived(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  std::int32_t first = -1, last = -1;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (!is_of_first<DeriveColumnCopy>(edit.op(i))) continue;
    if (first < 0) first = i;
    last = i;
  }
  if (first >= 0 && edit.op(last).why.step > edit.op(first).why.step) edit.erase(last);
  return edit.commit();
}

/// What follows a gather is left out once an evaluation has been there.
bool not_derived_after_evaluation(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  bool has_evaluated = false;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    has_evaluated |= is_evaluation(edit.op(i));
    if (has_evaluated && is_of_first<DeriveColumnCopy>(edit.op(i))) edit.erase(i);
  }
  return edit.commit();
}

/// The column copy is dropped after an evaluation, which does not need it.
bool dropped_in_evaluation(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  const auto first = first_weight(edit.plan());
  if (!first) return false;
  const WeightCopy& column = first->column;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (!is_evaluation(op)) continue;
    Op undefine = edit.with_views(op, 1, [&](std::int8_t, std::int32_t) { return column.codes; });
    undefine.action = Undefine{};
    edit.insert_after(i, undefine);
  }
  return edit.commit();
}

/// Derived copies survive the resharding of what they were made of.
bool survives_resharding(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  const auto first = first_weight(edit.plan());
  if (!first) return false;
  const WeightCopy& column = first->column;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (!is_of_first<Undefine>(op)) continue;
    if (edit.view(op, 0) == column.codes || edit.view(op, 0) == column.scales) edit.erase(i);
  }
  return edit.commit();
}

/// Codes of the first weight's bucket, as FSDP2 gathers them, and the whole ones that they are copied to.
struct Unsharded {
  BufferId packed{-1};
  std::set<BufferId> whole;
};
bool is_copied_out(const PlanEdit& edit, const Op& op) {
  return std::holds_alternative<Copy>(op.action) && op.why.purpose == Purpose::weights &&
         edit.role(op, 0) == BufferRole::codes && edit.role(op, 1) == BufferRole::codes;
}
Unsharded first_bucket(PlanEdit& edit) {
  Unsharded bucket;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (!is_copied_out(edit, op)) continue;
    if (bucket.packed.value < 0 && op.why.parameter.value == 0) bucket.packed = edit.view(op, 0).buffer;
    if (edit.view(op, 0).buffer == bucket.packed) bucket.whole.insert(edit.view(op, 1).buffer);
  }
  return bucket;
}

/// The last backward of a step leaves weights whole too, and the next step finds no reason to gather them.
bool whole_over_the_step(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  const Unsharded bucket = first_bucket(edit);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (op.why.step < 0 || op.operands == 0) continue;
    const BufferId buffer = edit.view(op, 0).buffer;
    const bool frees = std::holds_alternative<Undefine>(op.action);
    if (frees && bucket.whole.contains(buffer)) edit.erase(i);
    const bool unshards = is_gather(edit, op) || is_copied_out(edit, op) || frees;
    if (op.why.step > 0 && buffer == bucket.packed && unshards) edit.erase(i);
  }
  return edit.commit();
}

/// A forward frees the weights although its backward was told that it would find them whole.
bool freed_after_forward(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  const auto first = first_weight(edit.plan());
  if (!first) return false;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    const bool is_forward =
        is_of_first<Matmul>(op) && op.why.purpose == Purpose::forward && op.why.microbatch >= 0;
    if (!is_forward) continue;
    Op undefine = edit.with_views(op, 1, [&](std::int8_t, std::int32_t) { return first->row.codes; });
    undefine.action = Undefine{};
    undefine.why.purpose = Purpose::weights;
    edit.insert_after(i, undefine);
  }
  return edit.commit();
}

/// The column copy has the grid of scales of the rows.
bool grid_not_transposed(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (!is_of_first<DeriveColumnCopy>(op)) continue;
    Op copy = edit.with_views(
        op, 2, [&](std::int8_t operand, std::int32_t r) { return edit.view(op, operand == 0 ? 1 : 3, r); });
    copy.action = Copy{};
    edit.insert_after(i, copy);
  }
  return edit.commit();
}

/// Loading leaves the scales of the row copy out.
bool scales_not_loaded(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  const auto first = first_weight(edit.plan());
  if (!first) return false;
  const WeightCopy& row = first->row;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    const bool loads = std::holds_alternative<Copy>(op.action) && edit.view(op, 1) == row.scales &&
                       edit.role(op, 0) == BufferRole::scales;
    if (loads) edit.erase(i);
  }
  return edit.commit();
}

void kept(Scenario& s) {
  prepare::fp8(s, "te-current");
  prepare::two_steps(s);
  s.fp8->transposes = Transposes::keep;
}
void evaluated(Scenario& s) {
  prepare::fp8(s, "te-current");
  prepare::two_steps(s);
  s.fp8->evaluations = {0};
}
void both_directions(Scenario& s) {
  prepare::fp8(s, "te-mxfp8");
}
void both_directions_evaluated(Scenario& s) {
  prepare::fp8_pieces(s, "te-mxfp8");
  s.overlap = false;
  s.fp8->evaluations = {0};
}
void shards(Scenario& s) {
  prepare::fp8_shards(s, "te-current");
}
void kept_over_microbatches(Scenario& s) {
  prepare::fp8_rows(s, "te-current");
  s.reshard = Reshard::after_step;
}
void kept_for_backward(Scenario& s) {
  prepare::fp8_rows(s, "te-current");
  s.reshard = Reshard::after_backward;
}
void tiles(Scenario& s) {
  prepare::fp8(s, "te-block-128x128");
  s.parameters.front().shape = {256, 256};
}
void reloaded(Scenario& s) {
  prepare::fp8(s, "te-current");
  prepare::two_steps(s);
  s.fp8->reload_after = 0;
}

}  // namespace

void add_weight_use_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"M-F50b", "ours: set_reshard_after_backward(False) in the last microbatch too",
           "weights stay whole over the optimizer step, and the next step multiplies by the old ones", "F50",
           kept_over_microbatches, whole_over_the_step},
          {"M-F50c", "ours: reshard_after_forward of the unit and of its prefetch differ",
           "a forward frees weights that its backward does not gather again", "F50", kept_for_backward,
           freed_after_forward},
          {"Q18", "ours: fp8 3.8 m5",
           "backward takes the row copy of a recipe that quantises both directions", "F34", both_directions,
           backward_of_rows},
          {"Q37", "NVIDIA/Megatron-LM#4562", "after an evaluation the derived copy is not made again", "F50",
           evaluated, not_derived_after_evaluation},
          {"Q38", "NVIDIA/TransformerEngine#1596, #1648; ROCm/TransformerEngine#276",
           "the transpose of the step before is used in backward", "F50", kept, not_derived},
          {"Q39", "NVIDIA/TransformerEngine#1593",
           "the column copy is dropped in an evaluation and not made again", "F50", both_directions_evaluated,
           dropped_in_evaluation},
          {"Q40", "NVIDIA/TransformerEngine#2805; Megatron-LM MR 2508",
           "a derived copy survives the resharding of its weight", "F50", shards, survives_resharding},
          {"Q44", "NVIDIA/TransformerEngine#123; NVIDIA-NeMo/Megatron-Bridge#1730; Megatron-LM MR 3062",
           "a resume does not restore the scales of a weight", "F53", reloaded, scales_not_loaded},
          {"Q57", "ours: fp8 7", "the tiles of the column copy are transposed, their grid of scales is not",
           "F33", tiles, grid_not_transposed},
      });
}

}  // namespace shardcheck
