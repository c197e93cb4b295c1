#include "core/contract/clauses.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/assert.h"
#include "core/contract/law_clauses.h"

namespace shardcheck {
namespace {

using enum Observer;

constexpr Clause kClauses[] = {
    {"W1", "Final value", "After finish every owned element is the scaled sum of all contributions.",
     "wgrad 5.A", values},
    {"W2", "Exactly once",
     "Every contribution (rank, microbatch, use) enters the result with multiplicity one.", "wgrad 5.A",
     both},
    {"W3", "Poison independence",
     "The result does not depend on undefined bytes: fresh memory, placeholders, padding, recycled slots, "
     "stale slices.",
     "wgrad 5.A", twin},
    {"W4", "Legal beta",
     "A write overwrites undefined bytes and adds to contributions that must survive; either is right on "
     "zeros.",
     "wgrad 2.2, 5.A", plan},
    {"W5", "First touch",
     "beta depends on whether this lease of this parameter was written, not on microbatch index, call order "
     "or strategy.",
     "wgrad 5.A", plan},
    {"W6", "Zero before accumulate",
     "A persistent destination is zeroed or overwritten before the first contribution of a step, after the "
     "consumer of the last one.",
     "wgrad 5.A", plan},
    {"W7", "Silent microbatch",
     "A parameter without a use in a microbatch contributes zero; its leased range is zero-filled before it "
     "is reduced.",
     "wgrad 5.A", both},
    {"W8", "Silent step",
     "A parameter without a use in a whole step gives zero to its consumer, never the value of an earlier "
     "step.",
     "wgrad 5.A", values},
    {"W9", "Empty GEMM", "With zero tokens beta = 0 writes zeros and beta = 1 leaves the bits as they are.",
     "wgrad 5.A", values},
    {"W10", "Frozen",
     "A frozen parameter has no write, no raised flag, no returned gradient, no readiness and no lease.",
     "wgrad 5.A", plan},
    {"W11", "Flag honesty",
     "A raised flag means that the contribution of that use is in the destination before the owner acts on "
     "it.",
     "wgrad 5.B", both},
    {"W12", "Flag scope",
     "The flag speaks of the interval between two hooks of the parameter; nobody clears it between a fused "
     "use and its hook.",
     "wgrad 5.B", plan},
    {"W13", "Hook arithmetic",
     "The hook adds exactly the part of param.grad that is not in the destination yet: it neither copies "
     "over nor drops it.",
     "wgrad 5.B", plan},
    {"W14", "Placeholder isolation",
     "The placeholder gradient is zero whenever somebody can add it and never aliases a destination.",
     "wgrad 5.B", plan},
    {"W15", "No alias return", "A producer never returns a view of the destination to autograd.", "wgrad 5.B",
     plan},
    {"W16", "No dtype detour",
     "A fused write reaches main_grad without passing through the parameter's type.", "wgrad 5.B", plan},
    {"W17", "Flag locality", "Flags are read from the parameter being written, when the write is issued.",
     "wgrad 5.B", plan},
    {"W18", "Getter idempotence",
     "Fetching the destination again within a lease returns the same storage and leaves its content alone.",
     "wgrad 5.B", plan},
    {"W19", "Lease validity", "Storage stays bound to its parameter until the owner's hook has run.",
     "wgrad 5.B", plan},
    {"W20", "Ready after write", "A parameter is ready only after the write of its last use.", "wgrad 5.B",
     plan},
    {"W21", "Launch once, after all writes",
     "In each window a bucket is reduced exactly once, after every contribution of the window.", "wgrad 5.C",
     plan},
    {"W22", "No write in flight", "Nobody writes a range that a collective is using.", "wgrad 5.C", plan},
    {"W23", "No early read",
     "A reduced range is read only after the collective has finished on the reader's stream.", "wgrad 5.C",
     plan},
    {"W24", "Scale once",
     "Every contribution is multiplied by the same total scale, whatever the microbatch, the calls and the "
     "group's size.",
     "wgrad 5.C", values},
    {"W25", "Scale target",
     "Before finalize only un-reduced contributions are scaled, never the running accumulator.", "wgrad 5.C",
     plan},
    {"W26", "Accumulate without alias",
     "The reduced contribution is added once, from storage that is not the accumulator itself.", "wgrad 5.C",
     plan},
    {"W27", "No re-reduction", "What was reduced over an axis is not reduced over it again in the same step.",
     "wgrad 5.C", plan},
    {"W28", "Owned shard only", "Nothing depends on the ranges that a reduce-scatter left stale.",
     "wgrad 5.C", both},
    {"W29", "Last reduction", "The reduction that closes the step covers all microbatches and happens once.",
     "wgrad 5.C", plan},
    {"W30", "Rank symmetry", "All ranks of a group issue the same sequence of collectives.", "wgrad 5.C",
     plan},
    {"W31", "no_sync only delays",
     "Suppressing the reduction of a microbatch changes nothing in the local accumulation.", "wgrad 5.C",
     twin},
    {"W32", "Finalize order",
     "Late gradients, reductions, token division, clipping and the optimizer follow each other in this "
     "order, once each.",
     "wgrad 5.C", plan},
    {"W33", "Slot reuse",
     "A recycled slot is written only after its last reader has finished, on the writer's stream.",
     "wgrad 5.D", plan},
    {"W34", "Allocation stream", "Storage is freed to the stream whose work uses it last.", "wgrad 5.D",
     plan},
    {"W35", "Capture safety",
     "A captured write has a stable address and a beta that is legal for every replay.", "wgrad 5.D", plan},
    {"W36", "Phase exclusivity", "Storage shared by gradients and parameters is in one phase at a time.",
     "wgrad 5.D", plan},
    {"W37", "Recompute neutrality", "Activation recomputation adds no use, no lease and no readiness.",
     "wgrad 5.D", both},
    {"W38", "Declared rounding points", "The casts are those of the declared pipeline.", "wgrad 5.E", plan},
    {"W39", "Declared determinism", "What is declared bit-exact repeats its bits.", "wgrad 5.E", twin},
    {"W40", "Reset and resume", "After an abort or a resume the protocol is where a fresh process would be.",
     "wgrad 5.F", both},
};

}  // namespace

std::string_view name_of(Observer observer) {
  constexpr std::string_view names[] = {"plan and trace", "values",           "plan, trace and values",
                                        "twin run",       "cases of its own", "not judged yet"};
  return names[static_cast<int>(observer)];
}

std::span<const Clause> clauses() {
  static const std::vector<Clause> all = [] {
    std::vector<Clause> joined(std::begin(kClauses), std::end(kClauses));
    joined.insert(joined.end(), law_clauses().begin(), law_clauses().end());
    return joined;
  }();
  return all;
}

const Clause* find_clause(std::string_view id) {
  const auto found = std::ranges::find(clauses(), id, &Clause::id);
  return found == clauses().end() ? nullptr : &*found;
}

const Clause& clause(std::string_view id) {
  const Clause* found = find_clause(id);
  SC_ASSERT(found != nullptr, "a clause that is not in the catalogue");
  return *found;
}

}  // namespace shardcheck
