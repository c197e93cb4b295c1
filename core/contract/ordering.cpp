#include "core/contract/ordering.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/contract/reporter.h"

namespace shardcheck {
namespace {

/// The part that an op plays in an order.
enum class Act : std::uint8_t {
  write,
  zero,
  scale,
  reduce,
  reduce_outer,
  accumulate,
  consume,
  open,
  close,
  release,
  product,
  stage_weights,
  other
};

Act act_of(const Op& op) {
  if (std::holds_alternative<OpenLease>(op.action)) return Act::open;
  if (std::holds_alternative<CloseLease>(op.action)) return Act::close;
  if (std::holds_alternative<Finish>(op.action)) return Act::consume;
  if (std::holds_alternative<Undefine>(op.action)) return Act::release;
  switch (op.why.purpose) {
    case Purpose::write:
    case Purpose::fold: return Act::write;
    case Purpose::zero: return Act::zero;
    case Purpose::scale:
    case Purpose::stage: return Act::scale;
    case Purpose::reduce:
    case Purpose::reduce_shards: return Act::reduce;
    case Purpose::reduce_outer: return Act::reduce_outer;
    case Purpose::accumulate:
    case Purpose::unstage: return Act::accumulate;
    case Purpose::reduce_tied:
    case Purpose::reduce_tensor:
    case Purpose::divide:
    case Purpose::clip:
    case Purpose::consume: return Act::consume;
    case Purpose::forward:
    case Purpose::backward:
    case Purpose::recompute: return Act::product;
    case Purpose::weights: return Act::stage_weights;
    default: return Act::other;
  }
}

constexpr RequiredEdge kReadsPartial{"E1", "W21", "the reduction reads a gradient that is not whole yet"};
constexpr RequiredEdge kSlot{"E2", "W33", "the slot holds two layers at once"};
constexpr RequiredEdge kScatter{"E3", "W23", "the shard misses data"};
constexpr RequiredEdge kShard{"E4", "W23", "one of the two updates of the shard is lost"};
constexpr RequiredEdge kOuter{"E5", "W29", "the replicas miss early microbatches"};
constexpr RequiredEdge kFree{"E6", "W34", "another layer may get this storage while it is in use"};
constexpr RequiredEdge kResult{"E7", "W23", "the consumer reads an older gradient"};
constexpr RequiredEdge kConsumer{"E8", "W6", "the consumer reads bytes of the next step"};
constexpr RequiredEdge kZero{"E9", "W4", "the write adds to old data, or is erased"};
constexpr RequiredEdge kDummy{"E13", "W14", "garbage of the placeholder is added"};
constexpr RequiredEdge kOffload{"E14", "W34", "the gradient that the host gets is another layer's"};
constexpr RequiredEdge kStaged{"E15", "W36", "weights are left among gradients, or zeros among weights"};
constexpr RequiredEdge kReplay{"E16", "W35", "it gets a gradient that the replay has not written yet"};
constexpr RequiredEdge kReplayed{"E16", "W35", "the replay reads the operands of another microbatch"};
constexpr RequiredEdge kFill{"E17", "W4", "the fill of the lease erases the gradient"};
constexpr RequiredEdge kFlight{"E1", "W22", "the collective sends a mix of old and new bytes"};
constexpr RequiredEdge kReaders{"E11", "F46", "a reader meets a weight that is being gathered again"};
constexpr RequiredEdge kSaved{"E12", "W34", "the weight gradient is made of storage that was given back"};
constexpr RequiredEdge kWeights{"E10", "F46", "a product reads weights that are half of another version"};

bool is_of_weights(BufferRole role) {
  return role >= BufferRole::master && role <= BufferRole::activations;
}

RequiredEdge edge_between(Act first, Act second, BufferRole role) {
  if (role == BufferRole::param_grad || role == BufferRole::placeholder) return kDummy;
  if (role == BufferRole::inputs) return kSaved;
  if (is_of_weights(role)) return kWeights;
  if (first == Act::stage_weights || second == Act::stage_weights) return kStaged;
  if (second == Act::open || first == Act::close) return kSlot;
  if (second == Act::close) return kFree;
  if (first == Act::open) return kSlot;
  if (first == Act::consume) return kConsumer;
  if (second == Act::consume && first != Act::zero) return kResult;
  if (first == Act::zero || second == Act::zero) return role == BufferRole::lease_slot ? kFill : kZero;
  if (first == Act::accumulate && second == Act::accumulate) return kShard;
  if (second == Act::reduce_outer) return kOuter;
  if (first == Act::write) return kReadsPartial;
  if (second == Act::write) return kFlight;
  return kScatter;
}

const Op& op_at(const Plan& plan, OpIndex index) {
  return plan.ops[static_cast<std::size_t>(index.value)];
}

/// True where the first op moves the racing bytes, a reduced gradient, to the host.
bool is_moved_to_host(const Plan& plan, const Race& race) {
  const Op& op = op_at(plan, race.first);
  if (act_of(op) != Act::accumulate || plan.buffer(race.bytes.buffer).on_host) return false;
  return plan.buffer(plan.operand(op, 1)[0].buffer).on_host;
}

/// True where a lease of the racing bytes begins between the two ops, or with the second.
bool is_of_another_lease(const Plan& plan, const Race& race) {
  if (plan.buffer(race.bytes.buffer).role != BufferRole::lease_slot) return false;
  for (std::int32_t i = race.first.value + 1; i <= race.second.value; ++i) {
    const Op& op = op_at(plan, OpIndex{i});
    if (!std::holds_alternative<OpenLease>(op.action)) continue;
    if (plan.operand(op, 0)[0].buffer == race.bytes.buffer) return true;
  }
  return false;
}

/// True where the first op only reads the racing bytes, or gives them up.
bool ends_readers(const Plan& plan, const Race& race) {
  const Op& op = op_at(plan, race.first);
  if (std::holds_alternative<Undefine>(op.action)) return true;
  const Access access = access_of(op.action);
  const auto ranks = plan.ranks_of(op);
  const auto of_rank = static_cast<std::size_t>(std::ranges::find(ranks, race.rank) - ranks.begin());
  for (int operand = 0; operand < op.operands; ++operand) {
    const View view = plan.operand(op, operand)[of_rank];
    const bool overlaps = view.buffer == race.bytes.buffer &&
                          view.offset < race.bytes.offset + race.bytes.numel &&
                          race.bytes.offset < view.offset + view.numel;
    if (overlaps && (access.writes >> operand & 1) != 0) return false;
  }
  return true;
}

/// Parameter and element at the begin of the racing bytes; in a recycled slot by the lease that is open
/// there.
std::optional<Reporter::Place> place_of(const Plan& plan, const Race& race) {
  Reporter reporter(plan);
  for (std::int32_t i = 0; i <= race.second.value; ++i) {
    const Op& op = op_at(plan, OpIndex{i});
    if (const auto* lease = std::get_if<OpenLease>(&op.action))
      reporter.open_lease(lease->bucket, plan.operand(op, 0)[0]);
  }
  return reporter.place(race.rank, race.bytes.buffer, race.bytes.offset);
}

/// What the ops say for bytes that hold no gradient.
ParamId parameter_of(const Op& first, const Op& second) {
  return second.why.parameter.value >= 0 ? second.why.parameter : first.why.parameter;
}

}  // namespace

RequiredEdge edge_of(const Plan& plan, const Race& race) {
  if (is_moved_to_host(plan, race)) return kOffload;  // whatever comes next there
  if (is_of_another_lease(plan, race)) return kSlot;
  const bool is_replay = op_at(plan, race.first).stream == Stream::graph;
  if (is_replay && plan.buffer(race.bytes.buffer).role == BufferRole::graph_inputs) return kReplayed;
  if (is_replay && act_of(op_at(plan, race.first)) == Act::write) return kReplay;
  if (is_of_weights(plan.buffer(race.bytes.buffer).role) && ends_readers(plan, race)) return kReaders;
  return edge_between(act_of(op_at(plan, race.first)), act_of(op_at(plan, race.second)),
                      plan.buffer(race.bytes.buffer).role);
}

Finding finding_of(const Plan& plan, const Race& race) {
  const Op &first = op_at(plan, race.first), &second = op_at(plan, race.second);
  const RequiredEdge edge = edge_of(plan, race);
  Finding finding{.clause = std::string(edge.clause)};
  finding.sentence = fmt::format(
      "nothing orders it after op {}, which touches {}[{}:{}) too: the {} stream must wait for the {} stream "
      "here (edge {}), else {}",
      race.first.value, plan.buffer(race.bytes.buffer).name, race.bytes.offset,
      race.bytes.offset + race.bytes.numel, name_of(second.stream), name_of(first.stream), edge.id,
      edge.consequence);
  name_op(finding, plan, race.second);
  finding.rank = race.rank.value;
  if (const auto place = place_of(plan, race)) {
    finding.parameter = place->parameter.value;
    finding.parameter_name = plan.parameters[static_cast<std::size_t>(place->parameter.value)].name;
    finding.element = place->element;
  } else if (const ParamId of = parameter_of(first, second); of.value >= 0) {
    finding.parameter = of.value;
    finding.parameter_name = plan.parameters[static_cast<std::size_t>(of.value)].name;
  }
  const auto line = [&](OpIndex index, const Op& op, std::string_view when) {
    finding.history.push_back(
        fmt::format("op {} ({} stream), {}: {}", index.value, name_of(op.stream), when, describe(plan, op)));
  };
  line(race.first, first, "may come late");
  line(race.second, second, "may come first");
  return finding;
}

std::vector<Finding> judge_order(const Plan& plan) {
  std::vector<Finding> findings;
  std::vector<std::int64_t> more;
  std::map<std::tuple<std::string_view, Act, Act, std::int32_t>, std::size_t> kinds;
  for (const Race& race : races_of(plan)) {
    const Op &first = op_at(plan, race.first), &second = op_at(plan, race.second);
    const auto [kind, is_new] = kinds.try_emplace(
        {edge_of(plan, race).id, act_of(first), act_of(second), race.bytes.buffer.value}, findings.size());
    if (is_new) {
      findings.push_back(finding_of(plan, race));
      more.push_back(0);
    } else {
      ++more[kind->second];
    }
  }
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (more[i] > 0) findings[i].sentence += fmt::format("; {} more races are like it", more[i]);
  }
  return findings;
}

}  // namespace shardcheck
