// The fourth part of LifeRules: what a product demands of a weight's codes, scales and derived copy (fp8 4.9
// E9, E10, E12 to E15).
#include <fmt/format.h>

#include <algorithm>

#include "core/contract/life_rules.h"
#include "core/recipe/catalogue.h"

namespace shardcheck {

using recipe::Direction;

namespace {

std::string_view pass_of(const Op& op) {
  switch (op.why.purpose) {
    case Purpose::forward: return op.why.microbatch < 0 ? "an evaluation" : "fprop";
    case Purpose::backward: return "dgrad";
    case Purpose::recompute: return "the recomputed fprop";
    default: return std::holds_alternative<DeriveColumnCopy>(op.action) ? "the derivation" : "a use";
  }
}

bool is_inside(View whole, View part) {
  return whole.buffer == part.buffer && part.offset >= whole.offset &&
         part.offset + part.numel <= whole.offset + whole.numel;
}

std::string_view copy_name(const Stamp& codes) {
  return codes.direction == Direction::column ? "the column copy" : "codes";
}

}  // namespace

const WeightCopy* LifeRules::copy_at(ParamId parameter, View codes) const {
  for (const WeightCopy& copy : plan_.weight_copies) {
    if (copy.parameter == parameter && is_inside(copy.codes, codes)) return &copy;
  }
  return nullptr;
}

bool LifeRules::is_of_copy(View codes) const {
  return std::ranges::any_of(plan_.weight_copies,
                             [&](const WeightCopy& copy) { return is_inside(copy.codes, codes); });
}

std::string_view LifeRules::what_lies_at(ParamId parameter, View codes) const {
  const WeightCopy* copy = copy_at(parameter, codes);
  if (copy == nullptr) return "codes";
  return copy->direction == Direction::row ? "the row copy" : "the column copy";
}

void LifeRules::multiply(const Op& op) {
  for (const int operand : {0, 1}) {
    if (!is_tracked(op, operand)) continue;
    for (std::int32_t i = 0; i < op.ranks; ++i) judge_use(op, i, {.codes = operand, .scales = operand + 2});
  }
}

void LifeRules::dequantize(const Op& op, const DequantizeBlocks& dequantize) {
  if (!is_tracked(op, 0)) return;
  for (std::int32_t i = 0; i < op.ranks; ++i) {
    judge_use(op, i, {.codes = 0, .scales = 1, .start = dequantize.start});
    if (!is_tracked(op, 2)) continue;
    Ranges decoded = moved(read(op, 0, i), view(op, 0, i), view(op, 2, i));
    const bool is_master = plan_.buffer(view(op, 2, i).buffer).role == BufferRole::master;
    for (ByteRange& range : decoded) {
      range.stamp.held = Held::value;
      range.stamp.is_from_codes = true;
      range.stamp.owner = -1;
      range.stamp.scaling = -1;
    }
    if (is_master) master_written(op, decoded, rank(op, i));
    note(op.why.parameter.value, "decoded codes");
    write(op, 2, i, std::move(decoded));
  }
}

void LifeRules::judge_use(const Op& op, std::int32_t i, const Use& use) {
  if (view(op, use.codes, i).numel == 0) return;
  const Stamp codes = judge_codes(op, i, use);
  if (codes.held != Held::codes || codes.is_tainted) return;
  judge_direction(op, i, use, codes);
  judge_scales(op, i, use, codes);
}

Stamp LifeRules::judge_codes(const Op& op, std::int32_t i, const Use& use) {
  const View place = view(op, use.codes, i);
  const std::int32_t parameter = op.why.parameter.value, now = current(op, i);
  const Site site{op, i, use.codes};
  Ranges ranges = read(op, use.codes, i);
  const std::string who =
      fmt::format("{} of {} on rank {}", pass_of(op), name_of_parameter(parameter), rank(op, i).value);
  for (ByteRange& range : ranges) {
    const Stamp& stamp = range.stamp;
    const std::int64_t at = use.start + range.begin - place.offset;
    if (stamp.is_tainted) return {};
    if (stamp.held != Held::codes || stamp.parameter != parameter) {
      const OpIndex last = op_at(range.written);
      breach("F50", site, range,
             fmt::format("{} reads elements [{}, {}) of {}, and they are not there: {}", who, at,
                         use.start + range.end - place.offset, what_lies_at(op.why.parameter, place),
                         last.value < 0 ? std::string("nobody ever wrote them")
                         : stamp.held == Held::nothing
                             ? fmt::format("op {} gave them up, and nobody made them again", last.value)
                             : fmt::format("op {} left {} there", last.value, name_of(stamp.held))));
      return {};
    }
    if (stamp.version == now) {
      if (stamp.is_derived || range.element == at) continue;
      breach("F42", site, range,
             fmt::format("{} reads element {} where element {} belongs", who, range.element, at));
      return {};
    }
    const bool is_older = versions_.is_older(stamp.version, now);
    const std::string made = stamp.is_derived
                                 ? fmt::format("; the column copy was derived by op {}, before that version",
                                               op_at(range.written).value)
                                 : fmt::format("; op {} wrote them", op_at(range.written).value);
    breach(is_older ? "F50" : "F53", site, range,
           fmt::format("{} reads {} of {}; {}{}", who, copy_name(stamp), version_text(stamp.version),
                       is_older ? requirement(op, now)
                                : fmt::format("the masters were loaded and are at {}", version_text(now)),
                       made));
    return {};
  }
  for (const ByteRange& range : ranges) {
    if (range.stamp.scaling == ranges.front().stamp.scaling) continue;
    breach("F41", site, ranges.front(), fmt::format("{} reads codes that ranks made by unequal scales", who));
    return {};
  }
  return ranges.empty() ? Stamp{} : ranges.front().stamp;
}

/// A product that contracts the other dimension needs a quantisation of its own, unless one scale serves both
/// (F34).
void LifeRules::judge_direction(const Op& op, std::int32_t i, const Use& use, const Stamp& codes) {
  if (codes.recipe < 0) return;
  const bool is_derivable =
      recipe::is_derivable(recipe::recipes()[static_cast<std::size_t>(codes.recipe)].second_copy);
  const bool backward = op.why.purpose == Purpose::backward;
  const bool forward = op.why.purpose == Purpose::forward || op.why.purpose == Purpose::recompute;
  const bool is_wrong =
      backward ? codes.direction == Direction::row : forward && codes.direction == Direction::column;
  if (is_derivable || !is_wrong) return;
  breach("F34", {op, i, use.codes},
         fmt::format("{} of {} takes the {} copy of {}: the other direction is a quantisation of its own",
                     pass_of(op), name_of_parameter(codes.parameter), backward ? "row" : "column",
                     recipe::recipes()[static_cast<std::size_t>(codes.recipe)].name));
}

void LifeRules::judge_scales(const Op& op, std::int32_t i, const Use& use, const Stamp& codes) {
  if (op.operands <= use.scales || view(op, use.scales, i).numel == 0) return;
  const Site site{op, i, use.scales};
  const std::string name = name_of_parameter(codes.parameter);
  for (ByteRange& range : read(op, use.scales, i)) {
    const Stamp& scale = range.stamp;
    if (scale.is_tainted) return;
    if (scale.held == Held::nothing) {
      return breach(clause_of_loss(site, range, "F38"), site, range,
                    fmt::format("codes of {} meet a scale that is not there: op {} gave it up", name,
                                op_at(range.written).value));
    }
    const bool is_row_grid = codes.is_derived && !scale.is_derived && scale.held == Held::scale &&
                             view(op, use.scales, i).numel > 1;
    if (is_row_grid) {
      return breach("F33", site, range,
                    fmt::format("the column copy of {} meets the grid of scales of the rows, which was not "
                                "transposed",
                                name));
    }
    if (scale.scaling == codes.scaling) continue;
    if (scale.held != Held::scale) {
      return breach("F38", site, range,
                    fmt::format("codes of {} meet {} by which they were not made", name,
                                scale.held == Held::delayed ? "a delayed scale" : "numbers"));
    }
    return breach("F38", site, range,
                  fmt::format("codes of {} of {} meet scales of {}{}", version_text(codes.version), name,
                              version_text(scale.version),
                              scale.direction != codes.direction ? " of the other direction" : ""));
  }
}

/// A derived copy goes with the row copy that it was made of, unless its owner declares that it is kept.
void LifeRules::judge_orphans(const Op& op) {
  for (const WeightCopy& copy : plan_.weight_copies) {
    if (!copy.is_derived || copy.is_kept) continue;
    const auto row = std::ranges::find_if(plan_.weight_copies, [&](const WeightCopy& other) {
      return other.parameter == copy.parameter && !other.is_derived && other.direction == Direction::row;
    });
    if (row == plan_.weight_copies.end()) continue;
    for (const Rank r : plan_.ranks_of(op)) {
      const auto lost = [](const ByteRange& range) { return range.stamp.held == Held::nothing; };
      if (!std::ranges::any_of(state_.at(r, row->codes), lost)) continue;
      for (ByteRange& range : state_.at(r, copy.codes)) {
        if (range.stamp.held != Held::codes || range.stamp.is_tainted) continue;
        range.stamp.is_tainted = true;
        if (!reported_.insert({index_, "F50", copy.parameter.value}).second) continue;
        Finding* finding = reporter_.report(
            "F50", r, Reporter::Place{copy.parameter, 0},
            fmt::format("the column copy of {} outlives the row copy that it was made of, which "
                        "was resharded: it is memory, and stale after the next step",
                        name_of_parameter(copy.parameter.value)));
        if (finding != nullptr) finding->history = history_of(copy.parameter);
      }
    }
  }
}

}  // namespace shardcheck
