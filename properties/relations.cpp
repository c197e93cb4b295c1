#include "properties/relations.h"

#include <algorithm>
#include <cstring>

#include "properties/evidence.h"
#include "sim/executor/executor.h"
#include "sim/faults/edit.h"
#include "sim/faults/zoo.h"
#include "sim/planner/planner.h"

namespace shardcheck {
namespace {

Finding of_op(std::string_view clause, std::string_view sentence, const Plan& plan, OpIndex index,
              Rank rank) {
  Finding finding{.clause = std::string(clause), .sentence = std::string(sentence)};
  name_op(finding, plan, index);
  finding.rank = rank.value;
  const Op& op = plan.ops[static_cast<std::size_t>(index.value)];
  finding.parameter = op.why.parameter.value;
  finding.parameter_name = plan.parameters[static_cast<std::size_t>(finding.parameter)].name;
  return finding;
}

/// Empty for a rank that another process holds; it judges those.
std::vector<std::byte> bytes_of_view(const Plan& plan, Backend& backend, Rank rank, View view) {
  if (!backend.holds(plan, rank)) return {};
  const DType type = plan.buffer(view.buffer).dtype;
  std::vector<std::byte> bytes(static_cast<std::size_t>(view.numel) *
                               static_cast<std::size_t>(bytes_of(type)));
  backend.read(plan, rank, view, bytes);
  return bytes;
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

/// Calls `judge(op, i, before, after)` around every write into a destination that `wanted` picks.
template <class Wanted, class Judge>
void watch_writes(const Planned& planned, const Scenario& scenario, Backend& backend, Wanted wanted,
                  Judge judge) {
  const Plan& plan = planned.plan;
  std::vector<std::vector<std::byte>> before;
  const auto is_watched = [&](const Op& op) {
    if (op.why.purpose != Purpose::write || op.operands == 0) return false;
    const BufferRole role = plan.buffer(plan.operand(op, op.operands - 1)[0].buffer).role;
    return role != BufferRole::param_grad && wanted(op);
  };
  const auto read_all = [&](const Op& op) {
    std::vector<std::vector<std::byte>> all;
    const auto ranks = plan.ranks_of(op);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      all.push_back(bytes_of_view(plan, backend, ranks[i], plan.operand(op, op.operands - 1)[i]));
    }
    return all;
  };
  RunEvents events;
  events.before_op = [&](OpIndex index) {
    const Op& op = plan.ops[static_cast<std::size_t>(index.value)];
    if (is_watched(op)) before = read_all(op);
  };
  events.after_op = [&](OpIndex index) {
    const Op& op = plan.ops[static_cast<std::size_t>(index.value)];
    if (!is_watched(op)) return;
    const auto after = read_all(op);
    for (std::size_t i = 0; i < after.size(); ++i) judge(index, op, i, before[i], after[i]);
  };
  const ScenarioData data(scenario);
  run(planned, scenario, data, backend, events);
}

Planned planned_with_fault(const Scenario& scenario) {
  Planned planned = plan_of(scenario);
  apply_fault(planned, scenario);
  return planned;
}

}  // namespace

std::vector<Finding> poison_independence(Backend& backend, const Scenario& scenario) {
  Evidence one = examine(backend, scenario, Poison::quiet_nan);
  const Evidence two = examine(backend, scenario, Poison::large);
  if (one.fingerprint != two.fingerprint) {
    Finding finding{.clause = "W3",
                    .sentence = "what the consumer reads changes with the content of undefined bytes"};
    // The place is where the poisoned run differs from the oracle.
    const auto place =
        std::find_if(one.findings.begin(), one.findings.end(), [](const Finding& f) { return f.has_values; });
    if (place != one.findings.end()) {
      Finding named = *place;
      named.clause = finding.clause;
      named.sentence = finding.sentence;
      finding = named;
    }
    one.findings.push_back(finding);
  }
  return std::move(one.findings);
}

std::vector<Finding> empty_gemm(Backend& backend, const Scenario& scenario) {
  std::vector<Finding> findings = examine(backend, scenario, Poison::quiet_nan).findings;
  const Planned planned = planned_with_fault(scenario);
  const Plan& plan = planned.plan;
  const auto is_empty = [&](const Op& op) {
    if (const auto* gemm = std::get_if<Gemm>(&op.action)) return gemm->tokens == 0;
    const std::int32_t parameter = op.why.parameter.value, rank = plan.ranks_of(op)[0].value;
    for (std::int32_t group = 0; group < scenario.parameters[static_cast<std::size_t>(parameter)].groups;
         ++group) {
      if (tokens_at(scenario, {parameter, group, rank, op.why.microbatch}) > 0) return false;
    }
    return true;
  };
  watch_writes(
      planned, scenario, backend, is_empty,
      [&](OpIndex index, const Op& op, std::size_t i, const auto& before, const auto& after) {
        const auto* gemm = std::get_if<Gemm>(&op.action);
        const bool accumulates = gemm != nullptr && gemm->accumulate;
        if (accumulates ? before == after : is_zero(after)) return;
        findings.push_back(of_op("W9",
                                 accumulates ? "a write of no tokens with beta = 1 changes the destination"
                                             : "a write of no tokens with beta = 0 does not leave zeros",
                                 plan, index, plan.ranks_of(op)[i]));
      });
  return findings;
}

std::vector<Finding> flag_honesty(Backend& backend, const Scenario& scenario) {
  std::vector<Finding> findings = examine(backend, scenario, Poison::quiet_nan).findings;
  // Only a power of four is known to change the bits: a sum of integers can be zero.
  if (scenario.data != DataMode::provenance) return findings;
  const Planned planned = planned_with_fault(scenario);
  const Plan& plan = planned.plan;
  const auto adds = [&](const Op& op) {
    const auto* gemm = std::get_if<Gemm>(&op.action);
    return gemm != nullptr && gemm->accumulate && gemm->tokens > 0;
  };
  watch_writes(
      planned, scenario, backend, adds,
      [&](OpIndex index, const Op& op, std::size_t i, const auto& before, const auto& after) {
        if (before != after || after.empty()) return;
        findings.push_back(of_op("W11", "the flag is raised, but the write did not change the destination",
                                 plan, index, plan.ranks_of(op)[i]));
      });
  return findings;
}

std::vector<Finding> owned_shard(Backend& backend, const Scenario& scenario) {
  Evidence evidence = examine(backend, scenario, Poison::quiet_nan);
  if (has_leases(scenario.strategy) || !shards_gradient(scenario.strategy))
    return std::move(evidence.findings);
  // Poison what the reduce-scatter left to nobody, right before each rank's slice is handed over.
  Planned planned = planned_with_fault(scenario);
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (!std::holds_alternative<Communicate>(op.action) || op.why.purpose != Purpose::reduce) continue;
    std::int32_t finish = i;
    while (finish < edit.size() && !std::holds_alternative<Finish>(edit.op(finish).action)) ++finish;
    if (finish == edit.size()) break;
    const auto slice = [&](std::int32_t r) { return edit.view(op, 1, r); };
    const View whole = edit.view(op, 0);
    Op before = edit.with_views(op, 1, [&](std::int8_t, std::int32_t r) {
      return View{whole.buffer, whole.offset, slice(r).offset - whole.offset};
    });
    Op after = edit.with_views(op, 1, [&](std::int8_t, std::int32_t r) {
      const std::int64_t end = slice(r).offset + slice(r).numel;
      return View{whole.buffer, end, whole.offset + whole.numel - end};
    });
    if (edit.role(op, 0) != BufferRole::main_grad) continue;  // staged: the copy back comes in between
    for (Op* poison : {&before, &after}) {
      poison->action = Undefine{};
      poison->stream = Stream::compute;
      poison->why.purpose = Purpose::none;
      edit.insert_before(finish, *poison);
    }
  }
  if (!edit.commit()) return std::move(evidence.findings);
  const Evidence poisoned = examine(backend, scenario, std::move(planned));
  if (poisoned.fingerprint != evidence.fingerprint) {
    Finding finding{.clause = "W28", .sentence = "poisoning the stale slices changes what a consumer reads"};
    for (const Finding& f : poisoned.findings) {
      if (!f.has_values) continue;
      finding = f;
      finding.clause = "W28";
      finding.sentence = "poisoning the stale slices changes what a consumer reads";
      break;
    }
    evidence.findings.push_back(finding);
  }
  return std::move(evidence.findings);
}

}  // namespace shardcheck
