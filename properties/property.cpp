// The table of properties. Most ask what the one examination of a scenario shows; properties/relations.h has
// those that need a second run or a look between two ops.
#include "properties/property.h"

#include <algorithm>

#include "core/contract/ordering.h"
#include "core/contract/rank_symmetry.h"
#include "properties/cast_law/cast_property.h"
#include "properties/determinism.h"
#include "properties/evidence.h"
#include "properties/format_law/format_property.h"
#include "properties/fp8_life.h"
#include "properties/gemm_law/gemm_property.h"
#include "properties/layout_bytes/layout_bytes.h"
#include "properties/layout_laws/layout_case.h"
#include "properties/loop_relations.h"
#include "properties/owner_rows.h"
#include "properties/product_law/product_law_property.h"
#include "properties/quantisation_law/quantisation_property.h"
#include "properties/recipe_law/recipe_property.h"
#include "properties/relations.h"
#include "properties/scale_law/scale_property.h"
#include "sim/faults/zoo.h"
#include "sim/planner/planner.h"

namespace shardcheck {
namespace {

std::vector<Finding> examined(Backend& backend, const Scenario& scenario) {
  return examine(backend, scenario, Poison::quiet_nan).findings;
}

/// Of the plan alone: nothing runs.
std::vector<Finding> race_freedom(Backend&, const Scenario& scenario) {
  Planned planned = plan_of(scenario);
  apply_fault(planned, scenario);
  return judge_order(planned.plan);
}

/// Of the plan alone, too.
std::vector<Finding> rank_symmetry(Backend&, const Scenario& scenario) {
  Planned planned = plan_of(scenario);
  apply_fault(planned, scenario);
  return judge_symmetry(planned.plan);
}

const std::vector<Property>& table() {
  static const std::vector<Property> properties = {
      {"final-value",
       "every consumer reads the scaled sum of all contributions, each once",
       {"W1", "W2"},
       Focus::any,
       examined},
      {"poison-independence",
       "no result depends on undefined bytes",
       {"W3"},
       Focus::leases,
       poison_independence},
      {"legal-beta",
       "every write chooses a beta that the bytes allow",
       {"W4", "W17", "W35"},
       Focus::today,
       examined},
      {"first-touch",
       "beta follows the first touch of a lease, not the order of calls",
       {"W5"},
       Focus::repeated_uses,
       examined},
      {"zero-before-accumulate",
       "a step begins on zeroed or overwritten accumulators",
       {"W6"},
       Focus::persistent,
       examined},
      {"silence",
       "a parameter without a use contributes zero and shows zero",
       {"W7", "W8"},
       Focus::silence,
       examined},
      {"empty-gemm",
       "no tokens: beta = 0 writes zeros, beta = 1 leaves the bits",
       {"W9"},
       Focus::empty_microbatches,
       empty_gemm},
      {"frozen", "a frozen parameter stays out of the protocol", {"W10"}, Focus::frozen, examined},
      {"flags",
       "a raised flag is true, and lives from one hook to the next",
       {"W11", "W12"},
       Focus::today,
       flag_honesty},
      {"hook-arithmetic",
       "the hook adds exactly what is not in the destination yet",
       {"W13"},
       Focus::mixed_uses,
       examined},
      {"placeholder",
       "placeholders are zero when they can be added, and alias nothing",
       {"W14", "W15"},
       Focus::mixed_uses,
       examined},
      {"lease",
       "a lease keeps its storage and content until it is reduced",
       {"W18", "W19", "W33"},
       Focus::leases,
       examined},
      {"reduce-once",
       "a bucket is reduced once, after all writes, and read after that",
       {"W21", "W22", "W23"},
       Focus::overlap,
       examined},
      {"no-races",
       "streams, events and collectives order all that touches the same bytes",
       {"W34"},
       Focus::overlap,
       race_freedom},
      {"rank-symmetry",
       "all ranks of a group call the same collectives in the same order, and get through them",
       {"W30"},
       Focus::silence,
       rank_symmetry},
      {"scale-once",
       "every contribution carries the same scale, once",
       {"W24", "W25"},
       Focus::scaling,
       examined},
      {"accumulate",
       "the reduced gradient is added once, from other storage",
       {"W26"},
       Focus::group_of_one,
       examined},
      {"last-reduction",
       "every gradient is reduced in its step, and not again",
       {"W27", "W29"},
       Focus::persistent,
       examined},
      {"phases",
       "storage that gradients share with weights is in one phase at a time",
       {"W36"},
       Focus::persistent,
       examined},
      {"finalize-order",
       "late gradients, reductions, sums over stages, division, clipping and the optimizer follow in order",
       {"W32"},
       Focus::pipeline,
       examined},
      {"owned-shard",
       "nothing depends on what a reduce-scatter left stale",
       {"W28"},
       Focus::persistent,
       owned_shard},
      {"no-sync",
       "when a reduction is put off, its time changes and nothing else",
       {"W31"},
       Focus::sync,
       reduction_time},
      {"recompute",
       "activations that are computed again leave the gradient protocol alone",
       {"W37"},
       Focus::recompute,
       recompute_neutrality},
      {"reset",
       "a step that is run again, and a process that goes on, do what a fresh one does",
       {"W40"},
       Focus::interrupted,
       clean_reset},
      {"bystanders",
       "one more parameter that is frozen or unused changes nothing for the others",
       {"W7", "W10"},
       Focus::frozen,
       bystanders},
      {.id = "owner-rows",
       .sentence = "every row of every owner's state machine is taken, and none ends in a breach",
       .clauses = {"W1", "W2"},
       .focus = Focus::owners,
       .check = examined,
       .situations = owner_row_names,
       .reached = owner_rows_of},
      {"readiness",
       "a parameter counts as ready after its last write, and its bucket is reduced after that",
       {"W20"},
       Focus::overlap,
       examined},
      {"declared-pipeline",
       "a gradient passes through the declared types only, and a fused one never through the parameter's",
       {"W16", "W38"},
       Focus::any,
       examined},
      {.id = "determinism",
       .sentence = "what is declared bit-exact is: repeats, replicas, executions of one order, powers of two",
       .clauses = {"W39"},
       .focus = Focus::repeated_uses,
       .check = determinism,
       .share = 30},
      {.id = "fp8-life",
       .sentence =
           "every plan of FP8 weights reads, measures, casts and gathers the version that its step needs",
       .clauses = {"F33", "F34", "F38", "F41", "F42", "F43", "F45", "F46", "F47", "F48", "F50", "F51", "F52",
                   "F53", "F54", "F55", "F56"},
       .focus = Focus::fp8,
       .check = fp8_life},
      {.id = "fp8-weights",
       .sentence = "every use of an FP8 weight sees codes and scales of its step, those of the whole weight",
       .clauses = {"F50", "F51", "F52", "F53", "F54", "F55", "F56"},
       .focus = Focus::fp8,
       .check = examined,
       .share = 10},
      {.id = "layout-laws",
       .sentence = "every layout cuts, pads, gathers and reshards by its laws",
       .clauses = {"L1",  "L2",  "L3",  "L4",  "L5",  "L6",  "L7",  "L8",  "L9",  "L10",
                   "L11", "L12", "L13", "L14", "L15", "L16", "L17", "L18", "L19", "L20",
                   "L21", "L22", "L23", "L24", "L25", "L26", "L27", "L29", "L30"},
       .kind = &laws::layout_kind(),
       .judge = laws::judge_layout_case,
       .situations = laws::layout_situations,
       .share = 300},
      {.id = "layout-bytes",
       .sentence = "collectives on a layout's shards give tensors back, and shards of sums",
       .clauses = {"L13", "L15", "L16"},
       .kind = &laws::layout_kind(),
       .judge = judge_layout_bytes,
       .situations = layout_bytes_situations},
      {.id = "products",
       .sentence = "a GEMM equals its arithmetic profile, bit for bit",
       .clauses = {"F66"},
       .kind = &product_kind(),
       .judge = judge_product,
       .situations = product_situations,
       .share = 5},
      {.id = "product-laws",
       .sentence = "a GEMM is exact where it fits, bounded elsewhere, and depends on nothing else",
       .clauses = {"F57", "F58", "F59", "F60", "F61", "F62", "F63", "F64", "F65"},
       .kind = &product_law_kind(),
       .judge = judge_product_question,
       .situations = product_law_situations,
       .share = 5},
      {.id = "casts",
       .sentence = "a cast gives the nearest code, and what has none becomes what the policy says",
       .clauses = {"F3", "F7", "F8", "F12"},
       .kind = &cast_kind(),
       .judge = judge_cast,
       .situations = cast_situations},
      {.id = "formats",
       .sentence = "codes mean what the tables say, and casts into them keep order, signs and thresholds",
       .clauses = {"F1", "F2", "F4", "F5", "F6", "F9", "F10", "F11", "F13", "F14", "F15", "F16", "F17"},
       .kind = &format_kind(),
       .judge = judge_format_case,
       .situations = format_situations,
       .share = 50},
      {.id = "scales",
       .sentence = "scales follow their formulas, and lie and travel as their recipe says",
       .clauses = {"F17", "F18", "F19", "F20", "F21", "F22", "F24", "F27", "F29", "F35", "F36", "F37", "F38",
                   "F39"},
       .kind = &scale_kind(),
       .judge = judge_scale_case,
       .situations = scale_situations,
       .share = 10},
      {.id = "recipes",
       .sentence = "a matrix quantised by a recipe keeps the laws of its scales, blocks and directions",
       .clauses = {"F23", "F25", "F26", "F28", "F30", "F31", "F32", "F33", "F34"},
       .kind = &recipe_kind(),
       .judge = judge_recipe_case,
       .situations = recipe_situations,
       .share = 20},
      {.id = "sharded-quantisation",
       .sentence = "pieces quantised on their ranks and gathered are the whole, quantised on one",
       .clauses = {"F40", "F41", "F42", "F43", "F44", "F45", "F46", "F47", "F48", "F49"},
       .kind = &quantisation_kind(),
       .judge = judge_quantisation,
       .situations = quantisation_situations,
       .share = 20},
  };
  return properties;
}

}  // namespace

std::span<const Property> properties() {
  return table();
}

const Property* find_property(std::string_view id) {
  const auto found =
      std::find_if(table().begin(), table().end(), [&](const Property& p) { return p.id == id; });
  return found == table().end() ? nullptr : &*found;
}

const Property* property_of_clause(std::string_view clause) {
  const auto found = std::find_if(table().begin(), table().end(), [&](const Property& p) {
    return std::find(p.clauses.begin(), p.clauses.end(), clause) != p.clauses.end();
  });
  return found == table().end() ? nullptr : &*found;
}

}  // namespace shardcheck
