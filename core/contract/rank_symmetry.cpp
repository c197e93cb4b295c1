#include "core/contract/rank_symmetry.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/contract/reporter.h"
#include "core/plan/symmetry.h"

namespace shardcheck {
namespace {

constexpr std::size_t kMostLines = 16;

const Op& op_at(const Plan& plan, OpIndex index) {
  return plan.ops[static_cast<std::size_t>(index.value)];
}

std::string name_of(const Plan& plan, const View& view) {
  return fmt::format("{}[{}:{})", plan.buffer(view.buffer).name, view.offset, view.offset + view.numel);
}

/// Number of the rank among the op's.
std::int32_t number_of(const Plan& plan, const RankCall& call) {
  const auto ranks = plan.ranks_of(op_at(plan, call.op));
  return static_cast<std::int32_t>(std::ranges::find(ranks, call.rank) - ranks.begin());
}

View range_of(const Plan& plan, const RankCall& call) {
  return called_range(plan, op_at(plan, call.op), number_of(plan, call));
}

/// "all-reduce (sum) of 12 f32 elements of main_grad[0:12)".
std::string text_of(const Plan& plan, const RankCall& call) {
  const Op& op = op_at(plan, call.op);
  const View in = plan.operand(op, 0)[static_cast<std::size_t>(number_of(plan, call))];
  return fmt::format("{} of {} {} element{} of {}", describe(*collective_of(op.action)), in.numel,
                     name_of(plan.buffer(in.buffer).dtype), in.numel == 1 ? "" : "s",
                     name_of(plan, range_of(plan, call)));
}

/// The first rank whose call is not that of the first rank that calls at all.
std::pair<const RankCall*, const RankCall*> first_difference(const Plan& plan, const Mismatch& mismatch) {
  const auto calls = std::ranges::find_if(mismatch.calls, [](const RankCall& c) { return c.op.value >= 0; });
  const auto differs = [&](const RankCall& other) {
    return other.op.value < 0 || (other.op != calls->op && text_of(plan, other) != text_of(plan, *calls));
  };
  return {&*calls, &*std::ranges::find_if(mismatch.calls, differs)};
}

std::string sentence_of(const Plan& plan, const Mismatch& mismatch) {
  const auto [one, other] = first_difference(plan, mismatch);
  std::vector<Rank> ranks;
  for (const RankCall& call : mismatch.calls) ranks.push_back(call.rank);
  const std::string other_text = other->op.value < 0
                                     ? std::string("nothing more")
                                     : fmt::format("{} (op {})", text_of(plan, *other), other->op.value);
  std::string sentence = fmt::format("call {} on {}: rank {} calls {} (op {}), rank {} calls {}",
                                     mismatch.position, describe(ranks), one->rank.value, text_of(plan, *one),
                                     one->op.value, other->rank.value, other_text);
  if (mismatch.meeting == Meeting::hang) return sentence + ": they never complete";
  sentence += fmt::format(": sizes agree, so {} of rank {} and {} of rank {} are mixed without a sign",
                          name_of(plan, range_of(plan, *one)), one->rank.value,
                          name_of(plan, range_of(plan, *other)), other->rank.value);
  if (mismatch.more > 0)
    sentence +=
        fmt::format("; {} more {} like it", mismatch.more, mismatch.more == 1 ? "call is" : "calls are");
  return sentence;
}

std::string line_of(const Plan& plan, const Stuck& stuck) {
  return fmt::format("rank {}, {} stream: waits forever in op {}, {}", stuck.rank.value,
                     name_of(stuck.stream), stuck.op.value, describe(plan, op_at(plan, stuck.op)));
}

void add_lines(Finding& finding, const Plan& plan, const std::vector<Stuck>& stuck) {
  for (const Stuck& each : stuck) {
    if (finding.history.size() == kMostLines) break;
    finding.history.push_back(line_of(plan, each));
  }
}

/// The parameter whose gradient lies at the begin of what the rank calls for.
void name_parameter(Finding& finding, const Plan& plan, const RankCall& call) {
  Reporter reporter(plan);
  for (std::int32_t i = 0; i < call.op.value; ++i) {
    const Op& op = op_at(plan, OpIndex{i});
    if (const auto* lease = std::get_if<OpenLease>(&op.action))
      reporter.open_lease(lease->bucket, plan.operand(op, 0)[0]);
  }
  const View range = range_of(plan, call);
  const auto place = reporter.place(call.rank, range.buffer, range.offset);
  if (!place) return;
  finding.parameter = place->parameter.value;
  finding.parameter_name = plan.parameters[static_cast<std::size_t>(place->parameter.value)].name;
  finding.element = place->element;
}

Finding finding_of(const Plan& plan, const Mismatch& mismatch, const std::vector<Stuck>& stuck) {
  Finding finding{.clause = "W30", .sentence = sentence_of(plan, mismatch)};
  const auto [one, other] = first_difference(plan, mismatch);
  name_op(finding, plan, one->op);
  finding.rank = one->rank.value;
  name_parameter(finding, plan, *one);
  for (const RankCall& call : mismatch.calls) {
    if (finding.history.size() == kMostLines) break;
    finding.history.push_back(call.op.value < 0
                                  ? fmt::format("rank {} calls nothing more there", call.rank.value)
                                  : fmt::format("rank {} calls {}", call.rank.value, text_of(plan, call)));
  }
  if (mismatch.meeting == Meeting::mix) return finding;
  finding.element = -1;  // no byte is wrong: none arrives
  add_lines(finding, plan, stuck);
  return finding;
}

Finding finding_of_cycle(const Plan& plan, const std::vector<Stuck>& cycle) {
  Finding finding{.clause = "W30"};
  std::string path;
  for (const Stuck& each : cycle)
    path += fmt::format("rank {} in op {}, which waits for ", each.rank.value, each.op.value);
  finding.sentence =
      fmt::format("every rank calls the same, but they wait for each other in a circle: {}rank {}", path,
                  cycle.front().rank.value);
  name_op(finding, plan, cycle.front().op);
  finding.rank = cycle.front().rank.value;
  add_lines(finding, plan, cycle);
  return finding;
}

}  // namespace

std::vector<Finding> judge_symmetry(const Plan& plan) {
  std::vector<Finding> findings;
  const Symmetry symmetry = symmetry_of(plan);
  for (const Mismatch& mismatch : symmetry.mismatches) {
    if (findings.size() == Reporter::kMost) break;
    findings.push_back(finding_of(plan, mismatch, symmetry.stuck));
  }
  if (!symmetry.cycle.empty()) findings.push_back(finding_of_cycle(plan, symmetry.cycle));
  return findings;
}

}  // namespace shardcheck
