#include "sim/oracle/weight_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/numerics/same_code.h"
#include "sim/oracle/weight_difference.h"

namespace shardcheck {
namespace {

using recipe::Direction;

constexpr std::size_t kMostFindings = 16;

bool is_use(const Op& op) {
  return op.why.purpose == Purpose::forward || op.why.purpose == Purpose::backward ||
         op.why.purpose == Purpose::recompute;
}

bool is_of_copy(BufferRole role) {
  return role == BufferRole::codes || role == BufferRole::scales;
}

/// Calls visit(operand) for each operand with codes or scales of weights that the op reads.
template <class Visit>
void each_copy_read(const Plan& plan, const Op& op, Visit visit) {
  if (!is_use(op) || op.ranks == 0) return;
  const Access access = access_of(op.action);
  for (int operand = 0; operand < op.operands; ++operand) {
    const View view = plan.operand(op, operand)[0];
    if ((access.reads >> operand & 1) != 0 && view.numel > 0 && is_of_copy(plan.buffer(view.buffer).role))
      visit(operand);
  }
}

std::vector<std::byte> read(const Plan& plan, Backend& backend, Rank rank, View view) {
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(view.numel * bytes_of(plan.buffer(view.buffer).dtype)));
  backend.read(plan, rank, view, bytes);
  return bytes;
}

}  // namespace

WeightChecker::WeightChecker(const Scenario& scenario, const ScenarioData& data, const Planned& planned)
    : scenario_(scenario), data_(data), planned_(planned), activations_(scenario, data, planned) {
  for (std::int32_t p = 0; p < std::ssize(scenario.parameters); ++p) {
    if (!has_fp8_weight(scenario, p)) continue;
    const bool expert = scenario.parameters[static_cast<std::size_t>(p)].expert;
    const std::int32_t coordinates = expert ? scenario.expert_parallel : 1;
    for (std::int32_t c = 0; c < coordinates; ++c) {
      Replica replica{p, {}, WeightModel(scenario, p)};
      for (std::int32_t r = c; r < scenario.ranks; r += coordinates) replica.ranks.push_back(Rank{r});
      replicas_.push_back(std::move(replica));
    }
  }
}

std::vector<OpIndex> WeightChecker::stops(const Backend& backend) const {
  std::vector<OpIndex> found;
  const Plan& plan = planned_.plan;
  bool holds_all = !replicas_.empty();
  for (std::int32_t r = 0; holds_all && r < plan.ranks; ++r) holds_all = backend.holds(plan, Rank{r});
  if (!holds_all) return found;
  for (std::int32_t i = planned_.setup_end.value; i < std::ssize(plan.ops); ++i) {
    const Op& op = plan.ops[static_cast<std::size_t>(i)];
    bool stops = std::holds_alternative<BeginStep>(op.action) || std::holds_alternative<EndStep>(op.action);
    each_copy_read(plan, op, [&](int) { stops = true; });
    if (stops) found.push_back(OpIndex{i});
  }
  return found;
}

void WeightChecker::at_stop(OpIndex index, Backend& backend) {
  const Op& op = planned_.plan.ops[static_cast<std::size_t>(index.value)];
  if (std::holds_alternative<BeginStep>(op.action)) return begin(index, backend);
  if (std::holds_alternative<EndStep>(op.action)) return end_step(index, backend);
  check_use(index, backend);
}

void WeightChecker::at_end(Backend& backend) {
  if (replicas_.empty() || !was_reloaded(scenario_.steps)) return;
  begin(OpIndex{static_cast<std::int32_t>(planned_.plan.ops.size()) - 1}, backend);
}

/// Masters of the pieces of all ranks, put together.
std::vector<float> WeightChecker::masters_of(const Replica& replica, Backend& backend) {
  const ScenarioParameter& p = scenario_.parameters[static_cast<std::size_t>(replica.parameter)];
  std::vector<float> masters(static_cast<std::size_t>(p.numel()));
  for (const Placement& piece : planned_.masters) {
    if (piece.parameter.value != replica.parameter || std::ranges::count(replica.ranks, piece.rank) == 0)
      continue;
    const auto bytes = read(planned_.plan, backend, piece.rank, piece.view);
    std::memcpy(masters.data() + piece.first, bytes.data(), bytes.size());
  }
  return masters;
}

void WeightChecker::begin(OpIndex op, Backend& backend) {
  ++step_;
  std::vector<float> initial;
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    Replica& replica = replicas_[i];
    const ScenarioParameter& p = scenario_.parameters[static_cast<std::size_t>(replica.parameter)];
    if (!has_begun_) {
      initial.resize(static_cast<std::size_t>(p.numel()));
      data_.initial(replica.parameter, replica.ranks.front(), initial);
      replica.model.create(rounded_values(p.dtype, initial));
      last_masters_.push_back(replica.model.masters());
    }
    if (has_begun_ && !was_reloaded(step_)) continue;
    check_masters(replica, masters_of(replica, backend), op);
    check_scaling(replica, op, backend);
  }
  if (has_begun_ && was_reloaded(step_)) activations_.reloaded(op, backend);
  has_begun_ = true;
}

void WeightChecker::check_masters(Replica& replica, const std::vector<float>& actual, OpIndex op) {
  const auto& expected = last_masters_[static_cast<std::size_t>(&replica - replicas_.data())];
  for (std::size_t i = 0; i < actual.size() && !replica.is_reported; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(actual[i]),
               right = std::bit_cast<std::uint32_t>(expected[i]);
    if (bits == right) continue;
    const Op& at = planned_.plan.ops[static_cast<std::size_t>(op.value)];
    const bool ends = std::holds_alternative<EndStep>(at.action);
    Finding finding = finding_of(replica, op, replica.ranks.front());
    finding.clause = ends ? "F56" : was_reloaded(step_) ? "F53" : "F52";
    finding.sentence = ends                      ? "a skipped step changes a master weight"
                       : finding.clause == "F53" ? "a master weight is another after it was saved and loaded"
                       : scenario_.fp8->masters == Masters::kept_init
                           ? "a master weight is not the kept initial value"
                           : "a master weight is not the dequantised code that it is declared to be";
    finding.element = static_cast<std::int64_t>(i);
    finding.rank = -1;
    for (const Placement& piece : planned_.masters) {
      const auto at_element = static_cast<std::int64_t>(i);
      const bool has = piece.parameter.value == replica.parameter && piece.first <= at_element &&
                       at_element < piece.first + piece.view.numel;
      if (has && std::ranges::count(replica.ranks, piece.rank) > 0) finding.rank = piece.rank.value;
    }
    finding.has_values = true;
    finding.expected = {static_cast<double>(expected[i]), right, DType::f32};
    finding.actual = {static_cast<double>(actual[i]), bits, DType::f32};
    replica.is_reported = true;
    keep(std::move(finding));
  }
}

void WeightChecker::end_step(OpIndex index, Backend& backend) {
  const std::int32_t step = planned_.plan.ops[static_cast<std::size_t>(index.value)].why.step;
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    Replica& replica = replicas_[i];
    std::vector<float> masters = masters_of(replica, backend);
    if (is_skipped(scenario_, step)) {
      check_masters(replica, masters, index);
    } else {
      replica.model.step(masters);
      last_masters_[i] = std::move(masters);
    }
    for (const WeightCopy& copy : planned_.plan.weight_copies) {
      if (copy.parameter.value != replica.parameter || copy.is_derived) continue;
      for (const Rank rank : replica.ranks)
        compare(replica, {index, rank, copy.scales, copy.direction, true}, backend);
    }
    for (const auto& [direction, piece] : planned_.code_pieces) {
      const bool is_its =
          piece.parameter.value == replica.parameter && std::ranges::count(replica.ranks, piece.rank) > 0;
      if (is_its) compare(replica, {index, piece.rank, piece.view, direction, false, piece.first}, backend);
    }
  }
  for (Replica& replica : replicas_) check_scaling(replica, index, backend);
  activations_.end_step(index, backend);
  if (scenario_.fp8->recompute) check_recomputed(step, backend);
}

void WeightChecker::check_use(OpIndex index, Backend& backend) {
  const Plan& plan = planned_.plan;
  const Op& op = plan.ops[static_cast<std::size_t>(index.value)];
  const Direction direction = op.why.purpose == Purpose::backward ? Direction::column : Direction::row;
  each_copy_read(plan, op, [&](int operand) {
    const auto ranks = plan.ranks_of(op);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const View view = plan.operand(op, operand)[i];
      Replica* replica = replica_of(op.why.parameter.value, ranks[i]);
      if (replica == nullptr) continue;
      const bool is_scales = plan.buffer(view.buffer).role == BufferRole::scales;
      compare(*replica, {index, ranks[i], view, direction, is_scales}, backend);
    }
  });
}

void WeightChecker::compare(Replica& replica, const Reading& reading, Backend& backend) {
  if (replica.is_reported || reading.view.numel == 0) return;
  const auto actual = read(planned_.plan, backend, reading.rank, reading.view);
  const ReadCopy read_copy{reading.direction, reading.is_scales, reading.first, actual};
  if (is_right(replica.model, read_copy)) return;
  std::vector<std::vector<std::byte>> peers;
  for (const Rank rank : replica.ranks) {
    if (reading.is_scales) peers.push_back(read(planned_.plan, backend, rank, reading.view));
  }
  const Op& op = planned_.plan.ops[static_cast<std::size_t>(reading.op.value)];
  const WeightContext context{
      .is_reloaded = was_reloaded(op.why.step),
      .is_skipped_step = std::holds_alternative<EndStep>(op.action) && is_skipped(scenario_, op.why.step),
      .peers = peers};
  Finding finding = finding_of(replica, reading.op, reading.rank);
  explain(replica.model, read_copy, context, finding);
  if (!reading.is_scales) {
    for (const Placement& piece : planned_.masters) {
      const bool owns = piece.parameter.value == replica.parameter && piece.first <= finding.element &&
                        finding.element < piece.first + piece.view.numel;
      if (owns && shards_gradient(scenario_.strategy) && std::ranges::count(replica.ranks, piece.rank) > 0)
        finding.sentence += fmt::format("; the element is in the piece of rank {}", piece.rank.value);
    }
  }
  replica.is_reported = true;
  keep(std::move(finding));
}

/// F54: history and scale of the next version are a function of the amaxes so far, equal on all ranks.
void WeightChecker::check_scaling(Replica& replica, OpIndex op, Backend& backend) {
  const Op& at = planned_.plan.ops[static_cast<std::size_t>(op.value)];
  const bool ends = std::holds_alternative<EndStep>(at.action);
  for (const DelayedSlot& slot : planned_.delayed) {
    if (slot.parameter != replica.parameter) continue;
    const recipe::DelayedScaling& right = replica.model.scaling();
    std::vector<float> expected = right.history;
    expected.insert(expected.end(), {right.scale, right.scale_inverse});
    for (const Rank rank : replica.ranks) {
      auto bytes = read(planned_.plan, backend, rank, slot.history);
      const auto scale = read(planned_.plan, backend, rank, slot.scale);
      bytes.insert(bytes.end(), scale.begin(), scale.end());
      const Differing found = differing(DType::f32, {std::as_bytes(std::span(expected)), bytes});
      if (found.count == 0 || replica.is_reported) continue;
      const auto length = std::ssize(right.history);
      Finding finding = finding_of(replica, op, rank);
      finding.clause = ends && is_skipped(scenario_, at.why.step) ? "F56"
                       : !ends && has_begun_                      ? "F53"
                                                                  : "F54";
      finding.sentence =
          found.first < length
              ? fmt::format("slot {} of the history of amaxes is not what the steps so far give", found.first)
              : "the scale of the next version is not what the history gives";
      const std::uint32_t code = code_at(DType::f32, bytes, found.first);
      const float want = expected[static_cast<std::size_t>(found.first)];
      finding.has_values = true;
      finding.expected = {static_cast<double>(want), std::bit_cast<std::uint32_t>(want), DType::f32};
      finding.actual = {value_of_code(DType::f32, code), code, DType::f32};
      replica.is_reported = true;
      keep(std::move(finding));
    }
  }
}

/// F55: the same codes, scales and inputs give the same output again.
void WeightChecker::check_recomputed(std::int32_t step, Backend& backend) {
  for (const OutputSlot& again : planned_.outputs) {
    if (again.pass != Pass::recompute) continue;
    const auto first = std::ranges::find_if(planned_.outputs, [&](const OutputSlot& slot) {
      return slot.pass == Pass::forward && slot.parameter == again.parameter && slot.use == again.use &&
             slot.microbatch == again.microbatch;
    });
    for (std::int32_t r = 0; r < planned_.plan.ranks; ++r) {
      Replica* replica = replica_of(again.parameter, Rank{r});
      const bool ran = is_used(scenario_, again.parameter, step, r, again.microbatch);
      if (replica->is_reported || !ran) continue;
      const auto expected = read(planned_.plan, backend, Rank{r}, first->view);
      const auto actual = read(planned_.plan, backend, Rank{r}, again.view);
      const Differing found = differing(DType::bf16, {expected, actual});
      if (found.count == 0) continue;
      Finding finding = finding_of(*replica, OpIndex{-1}, Rank{r});
      finding.clause = "F55";
      finding.sentence = fmt::format(
          "output {} of the product is another when forward is recomputed: not the first forward's scale",
          found.first);
      finding.step = step;
      finding.microbatch = again.microbatch;
      const auto sighting = [&](const std::vector<std::byte>& bytes) {
        const std::uint32_t code = code_at(DType::bf16, bytes, found.first);
        return Sighting{value_of_code(DType::bf16, code), code, DType::bf16};
      };
      finding.has_values = true;
      finding.expected = sighting(expected);
      finding.actual = sighting(actual);
      replica->is_reported = true;
      keep(std::move(finding));
    }
  }
}

WeightChecker::Replica* WeightChecker::replica_of(std::int32_t parameter, Rank rank) {
  const auto found = std::ranges::find_if(replicas_, [&](const Replica& replica) {
    return replica.parameter == parameter && std::ranges::count(replica.ranks, rank) > 0;
  });
  return found == replicas_.end() ? nullptr : &*found;
}

Finding WeightChecker::finding_of(const Replica& replica, OpIndex op, Rank rank) const {
  Finding finding;
  if (op.value >= 0) name_op(finding, planned_.plan, op);
  finding.rank = rank.value;
  finding.parameter = replica.parameter;
  finding.parameter_name = scenario_.parameters[static_cast<std::size_t>(replica.parameter)].name;
  return finding;
}

/// True where codes, scales and masters of this step came out of a file.
bool WeightChecker::was_reloaded(std::int32_t step) const {
  return scenario_.fp8->reload_after >= 0 && step == scenario_.fp8->reload_after + 1;
}

std::vector<Finding> WeightChecker::take() {
  for (Finding& finding : activations_.take()) keep(std::move(finding));
  return std::move(findings_);
}

void WeightChecker::keep(Finding finding) {
  if (findings_.size() < kMostFindings) findings_.push_back(std::move(finding));
}

}  // namespace shardcheck
