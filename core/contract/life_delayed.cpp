// The last part of LifeRules: delayed scaling, whose scale is a function of the amaxes of earlier steps (fp8
// 3.1, F54, F55, F56).
#include <fmt/format.h>

#include <algorithm>

#include "core/contract/life_rules.h"

namespace shardcheck {
namespace {

bool is_of_weight(std::span<const Measured> pieces) {
  return std::ranges::any_of(pieces, [](const Measured& piece) { return piece.version >= 0; });
}

/// A place in a buffer as one number.
std::int64_t place_of(View view) {
  return std::int64_t{view.buffer.value} << 44 | view.offset;
}

}  // namespace

/// An amax of an activation enters the open step.
void LifeRules::push(const Op& op, std::int32_t i) {
  Ranges target = read(op, 1, i);
  const Measured piece{.parameter = op.why.parameter.value,
                       .rank = rank(op, i).value,
                       .step = op.why.step,
                       .microbatch = op.why.microbatch,
                       .use = op.why.use};
  for (ByteRange& range : target) {
    const auto known = sets_[range.stamp.measured];
    if (range.stamp.held == Held::nothing) {
      breach("F54", {op, i, 1}, range, "pushes into an amax that nobody set to zero");
    } else if (op.why.purpose == Purpose::recompute) {
      breach("F55", {op, i, 1}, range,
             fmt::format("recompute pushes an amax of microbatch {}, which the first forward has pushed",
                         op.why.microbatch));
    } else if (std::ranges::find(known, piece) != known.end()) {
      breach(
          "F55", {op, i, 1}, range,
          fmt::format("the amax of use {} in microbatch {} is pushed twice", op.why.use, op.why.microbatch));
    }
    range.stamp.held = Held::amax;
    range.stamp.parameter = op.why.parameter.value;
    range.stamp.measured = sets_.with(range.stamp.measured, piece);
  }
  write(op, 1, i, std::move(target));
}

/// What a step is closed with: everything of this step, of all ranks that hold the tensor.
void LifeRules::judge_pushes(const Op& op, std::int32_t i, ByteRange& amax) {
  const Site site{op, i, 0};
  if (amax.stamp.is_tainted) return;
  const std::int32_t parameter = op.why.parameter.value;
  std::int64_t covered = 0;
  bool is_weight = false;
  for (const Measured& piece : sets_[amax.stamp.measured]) {
    if (piece.version >= 0) {
      is_weight = true;
      if (piece.parameter != parameter || piece.tensor != tensor_of(parameter, rank(op, i)))
        return breach("F48", site, amax,
                      fmt::format("the amax holds elements of {}, which has no part in this history",
                                  name_of_parameter(piece.parameter)));
      if (piece.version != current(op, i))
        return breach("F54", site, amax,
                      fmt::format("closes the step with the amax of {}; {}", version_text(piece.version),
                                  requirement(op, current(op, i))));
      if (piece.lo <= covered) covered = std::max(covered, piece.hi);
    } else if (piece.step >= 0 && step_of(op) >= 0 && piece.step != step_of(op)) {
      return breach("F54", site, amax,
                    fmt::format("closes step {} with an amax of step {}", op.why.step, piece.step));
    }
  }
  if (is_weight && covered < plan_.parameters[static_cast<std::size_t>(parameter)].numel())
    breach("F54", site, amax,
           fmt::format("rank {} closes the step with the amax of a part of {}: the maximum over the ranks is "
                       "missing",
                       rank(op, i).value, name_of_parameter(parameter)));
}

void LifeRules::close(const Op& op) {
  if (!is_tracked(op, 1)) return;
  std::map<std::int32_t, std::int32_t> measured_of;  // a tensor: what its first rank closes with
  for (std::int32_t i = 0; i < op.ranks; ++i) {
    const Site site{op, i, 1};
    const View history = view(op, 1, i);
    Ranges amaxes = read(op, 0, i), slots = read(op, 1, i), scales = read(op, 2, i);
    if (amaxes.empty() || slots.empty() || scales.empty()) continue;
    ByteRange &amax = amaxes.front(), &slot = slots.front();
    const std::string name = name_of_parameter(op.why.parameter.value);
    const std::int64_t window = window_of_.try_emplace(place_of(history), history.numel).first->second;
    const auto [known, is_first] =
        measured_of.try_emplace(tensor_of(op.why.parameter.value, rank(op, i)), amax.stamp.measured);
    if (slot.stamp.held == Held::nothing) {
      breach(clause_of_loss(site, slot, "F54"), site, slot, "closes a step of a history that is not there");
    } else if (is_skipped(op) && is_of_weight(sets_[amax.stamp.measured])) {
      breach("F56", site, slot,
             fmt::format("step {} is skipped, but this moves the history of {}", op.why.step, name));
    } else if (slot.stamp.held == Held::delayed && slot.stamp.version == step_of(op)) {
      breach("F54", site, slot, fmt::format("closes step {} of the history of {} twice", op.why.step, name));
    } else if (slot.stamp.scaling != scales.front().stamp.scaling) {
      breach(
          "F53", site, slot,
          fmt::format("the history of {} and its scale are of different steps: one of them was lost", name));
    } else if (window != history.numel) {
      breach("F54", site, slot,
             fmt::format("closes a step over a window of {}, and the one before over {}", history.numel,
                         window));
    } else if (!is_first && known->second != amax.stamp.measured && !amax.stamp.is_tainted) {
      breach("F54", {op, i, 0}, amax,
             fmt::format("rank {} closes a step of {} with another amax than the ranks it shares it with",
                         rank(op, i).value, name));
    } else {
      judge_pushes(op, i, amax);
    }
    Stamp closed{.held = Held::delayed, .is_tainted = slot.stamp.is_tainted || amax.stamp.is_tainted};
    closed.parameter = op.why.parameter.value;
    closed.version = step_of(op);
    const std::int32_t before = slot.stamp.held == Held::delayed ? scalings_[slot.stamp.scaling].closings : 0;
    closed.scaling = scalings_.number_of({.parameter = closed.parameter,
                                          .measured = amax.stamp.measured,
                                          .history = history.buffer.value,
                                          .offset = history.offset,
                                          .closings = before + 1});
    note(closed.parameter, step_of(op) < 0
                               ? "history and scale of the creation"
                               : fmt::format("history and scale closed for step {}", op.why.step));
    write(op, 1, i, closed);
    write(op, 2, i, closed);
  }
}

/// The scale by which an activation is quantised in a step comes from earlier ones, and recompute meets the
/// scale of the first forward.
void LifeRules::judge_delayed_scale(const Op& op, std::int32_t i, ByteRange& scale) {
  const Stamp& stamp = scale.stamp;
  const Site site{op, i, 1};
  const std::int32_t step = step_of(op);
  if (stamp.held == Held::nothing)
    return breach(clause_of_loss(site, scale, "F54"), site, scale, "quantises by a scale that is not there");
  const bool is_evaluation = op.why.microbatch < 0;
  if (is_evaluation) return;
  const ForwardKey key{rank(op, i).value, op.why.parameter.value, op.why.use, op.why.microbatch, step};
  if (op.why.purpose == Purpose::forward) scale_of_forward_[key] = stamp.scaling;
  if (op.why.purpose == Purpose::recompute) {
    const auto first = scale_of_forward_.find(key);
    if (first == scale_of_forward_.end() || first->second == stamp.scaling) return;
    return breach("F55", site, scale,
                  fmt::format("recompute of microbatch {} meets a later scale than its first forward",
                              op.why.microbatch));
  }
  if (stamp.held != Held::delayed || step < 0) return;
  if (stamp.version >= step)
    return breach("F54", site, scale,
                  fmt::format("step {} is quantised by a scale that its own amaxes decided", step));
  const auto last = steps_with_optimizer_.lower_bound(step);
  if (last == steps_with_optimizer_.begin() || *std::prev(last) <= stamp.version) return;
  breach("F54", site, scale,
         fmt::format("step {} is quantised by the scale of step {}: step {} was never closed", step,
                     stamp.version, *std::prev(last)));
}

}  // namespace shardcheck
