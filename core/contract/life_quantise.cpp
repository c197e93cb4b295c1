// The second part of LifeRules: from the masters to codes and scales (fp8 4.2 steps 1 to 6, 4.9 E5, E8).
#include <fmt/format.h>

#include <algorithm>

#include "core/contract/life_rules.h"
#include "core/recipe/catalogue.h"

namespace shardcheck {

using recipe::Direction;

namespace {

/// A derived copy has the grid of the rows, so its amaxes and scales are those of the rows.
Direction grid_of(const BlockCopy& of) {
  const auto& named = recipe::recipes()[static_cast<std::size_t>(of.recipe)];
  return recipe::is_derivable(named.second_copy) ? Direction::row : of.direction;
}

bool is_of_weight(std::span<const Measured> pieces) {
  return std::ranges::any_of(pieces, [](const Measured& piece) { return piece.version >= 0; });
}

std::string elements_text(const Measured& piece) {
  return fmt::format("[{}, {})", piece.lo, piece.hi);
}

}  // namespace

void LifeRules::take_amax(const Op& op, const TakeAmax& take) {
  if (!is_tracked(op, 1)) return;
  const bool is_weight = is_tracked(op, 0);
  for (std::int32_t i = 0; i < op.ranks; ++i) {
    if (!is_weight) {
      push(op, i);
      continue;
    }
    const View source = view(op, 0, i);
    std::int32_t set = MeasuredSets::kNone;
    bool is_tainted = false;
    std::int32_t version = -1;
    for (ByteRange& range : read(op, 0, i)) {
      const Stamp& stamp = range.stamp;
      const std::int64_t element = take.start + range.begin - source.offset;
      if (stamp.held != Held::value) {
        breach("F42", {op, i, 0}, range, "measures bytes that are not a piece of the weight");
      } else if (stamp.parameter != op.why.parameter.value || range.element != element) {
        breach("F42", {op, i, 0}, range,
               fmt::format("measures element {} of {} as element {} of {}", range.element,
                           name_of_parameter(stamp.parameter), element,
                           name_of_parameter(op.why.parameter.value)));
      }
      is_tainted |= stamp.is_tainted;
      version = stamp.version;
      set = sets_.with(set, {.parameter = op.why.parameter.value,
                             .tensor = stamp.tensor,
                             .version = stamp.version,
                             .direction = grid_of(take.of),
                             .precision = stamp.precision,
                             .lo = element,
                             .hi = element + range.end - range.begin});
    }
    Ranges target = read(op, 1, i);
    for (ByteRange& range : target) {
      if (range.stamp.held == Held::nothing) {
        breach("F43", {op, i, 1}, range,
               "takes the larger of what it measures and of an amax that nobody set to zero");
      } else if (set != MeasuredSets::kNone && range.stamp.held == Held::amax &&
                 range.stamp.version != version) {
        breach("F50", {op, i, 1}, range,
               fmt::format("adds {} to an amax that still holds {}: it was not set to zero",
                           version_text(version), version_text(range.stamp.version)));
      }
      if (set == MeasuredSets::kNone) continue;
      range.stamp.held = Held::amax;
      range.stamp.parameter = op.why.parameter.value;
      range.stamp.tensor = tensor_of(op.why.parameter.value, rank(op, i));
      range.stamp.version = version;
      range.stamp.measured = sets_.joined(range.stamp.measured, set);
      range.stamp.is_tainted |= is_tainted;
    }
    if (set != MeasuredSets::kNone)
      note(op.why.parameter.value, fmt::format("amaxes of {}", version_text(version)));
    write(op, 1, i, std::move(target));
  }
}

/// The maximum that a weight's scales are made of must be of all of it, and of nothing else.
void LifeRules::judge_coverage(const Op& op, std::int32_t i, ByteRange& amax) {
  const std::int32_t parameter = op.why.parameter.value;
  const std::int32_t tensor = tensor_of(parameter, rank(op, i));
  const std::int64_t numel = plan_.parameters[static_cast<std::size_t>(parameter)].numel();
  if (amax.stamp.held == Held::nothing)
    return breach("F43", {op, i, 0}, amax, "makes scales of an amax that nobody set to zero or measured");
  std::int64_t covered = 0;
  const std::int32_t now = current(op, i);
  for (const Measured& piece : sets_[amax.stamp.measured]) {
    if (piece.parameter != parameter || piece.tensor != tensor) {
      return breach("F48", {op, i, 0}, amax,
                    fmt::format("the amax holds elements {} of {}{}, which have no part in this scale",
                                elements_text(piece), name_of_parameter(piece.parameter),
                                piece.parameter == parameter ? " of other ranks' expert" : ""));
    }
    if (piece.version != now) {
      return breach(
          "F50", {op, i, 0}, amax,
          fmt::format("makes scales of amaxes of {}; {}", version_text(piece.version), requirement(op, now)));
    }
    if (piece.lo <= covered) covered = std::max(covered, piece.hi);
  }
  if (covered >= numel) return;
  const bool was_reduced = reduced_.contains(amax.stamp.measured);
  std::string seen;
  for (const Measured& piece : sets_[amax.stamp.measured])
    seen += (seen.empty() ? "of elements " : ", ") + elements_text(piece);
  breach("F41", {op, i, 0}, amax,
         fmt::format("rank {} makes the scales of {}, which has {} elements, from an amax {}: {}",
                     rank(op, i).value, name_of_parameter(parameter), numel, seen.empty() ? "of none" : seen,
                     was_reduced ? "a rank's piece never entered the maximum"
                                 : "the maximum over the ranks is missing"));
}

void LifeRules::scale_from_amax(const Op& op, const ScaleFromAmax& scale) {
  if (!is_tracked(op, 0)) return;
  for (std::int32_t i = 0; i < op.ranks; ++i) {
    Ranges amaxes = read(op, 0, i);
    if (amaxes.empty()) continue;
    const bool is_weight = std::ranges::any_of(amaxes, [&](const ByteRange& range) {
      return range.stamp.held != Held::amax || is_of_weight(sets_[range.stamp.measured]);
    });
    if (!is_weight || op.why.parameter.value < 0) {
      for (const int operand : {1, 2})
        if (is_tracked(op, operand)) write(op, operand, i, Stamp{.held = Held::number});
      continue;
    }
    Stamp made{.held = Held::scale, .direction = grid_of(scale.of), .recipe = scale.of.recipe};
    made.parameter = op.why.parameter.value;
    made.tensor = tensor_of(made.parameter, rank(op, i));
    made.version = current(op, i);
    for (ByteRange& range : amaxes) {
      if (!range.stamp.is_tainted) judge_coverage(op, i, range);
      made.is_tainted |= range.stamp.is_tainted;
      if (range.stamp.version >= 0) made.version = range.stamp.version;
      made.measured = range.stamp.measured;
    }
    const auto measured = sets_[made.measured];
    if (!measured.empty()) made.precision = measured.front().precision;
    made.scaling = scalings_.number_of({.parameter = made.parameter,
                                        .tensor = made.tensor,
                                        .version = made.version,
                                        .direction = made.direction,
                                        .measured = made.measured});
    note(made.parameter, fmt::format("scales of {}", version_text(made.version)));
    for (const int operand : {1, 2}) {
      if (!is_tracked(op, operand)) continue;
      judge_requantised(op, i, operand, made);
      write(op, operand, i, made);
    }
  }
}

/// Codes and scales of a version are made once (F51), and not at all in a step that is skipped (F56).
void LifeRules::judge_requantised(const Op& op, std::int32_t i, std::int32_t operand, Stamp& fresh) {
  if (fresh.is_tainted) return;
  for (ByteRange& old : state_.at(rank(op, i), view(op, operand, i))) {
    const Stamp& held = old.stamp;
    const bool is_again = held.held == fresh.held && held.parameter == fresh.parameter &&
                          held.version == fresh.version && !held.is_derived;
    if (!is_again || held.is_tainted) continue;
    fresh.is_tainted = true;
    const std::string what = fmt::format("{} of {} again", name_of(held.held), version_text(held.version));
    if (is_skipped(op))
      return breach("F56", {op, i, operand}, old,
                    fmt::format("step {} is skipped, but this writes {}", op.why.step, what));
    return breach("F51", {op, i, operand}, old,
                  fmt::format("writes {}: op {} made them, and no optimizer step lies between", what,
                              op_at(old.written).value));
  }
}

void LifeRules::quantize(const Op& op, std::int8_t recipe, Direction direction, std::int64_t start) {
  if (!is_tracked(op, 0) || !is_tracked(op, 2)) {
    if (!is_tracked(op, 1)) return;
    for (std::int32_t i = 0; i < op.ranks; ++i)
      for (ByteRange& scale : read(op, 1, i)) judge_delayed_scale(op, i, scale);
    return;
  }
  Stamp kind{.held = Held::codes, .recipe = recipe};
  const BlockCopy of{.recipe = recipe, .direction = direction};
  kind.direction = recipe < 0 ? direction : grid_of(of);
  for (std::int32_t i = 0; i < op.ranks; ++i) quantize_piece(op, i, kind, start);
}

void LifeRules::quantize_piece(const Op& op, std::int32_t i, const Stamp& kind, std::int64_t start) {
  const View source = view(op, 0, i), target = view(op, 2, i);
  Ranges factors = read(op, 1, i);
  Ranges pieces = read(op, 0, i);
  if (pieces.empty()) return;
  Stamp scales = factors.empty() ? Stamp{.held = Held::number} : factors.front().stamp;
  for (ByteRange& piece : pieces) {
    Stamp made = kind;
    made.parameter = piece.stamp.parameter;
    made.tensor = piece.stamp.tensor;
    made.version = piece.stamp.version;
    made.precision = piece.stamp.precision;
    made.owner = rank(op, i).value;
    made.scaling = scales.scaling;
    const std::int32_t now = current(op, i);
    const std::int64_t element = start < 0 ? piece.element : start + piece.begin - source.offset;
    const bool is_scale = scales.held == Held::scale;
    if (piece.stamp.held != Held::value || piece.stamp.parameter != op.why.parameter.value ||
        piece.element != element) {
      breach("F42", {op, i, 0}, piece,
             fmt::format("quantises what is not element {} of its own piece of {}", element,
                         name_of_parameter(op.why.parameter.value)));
    } else if (piece.stamp.version != now) {
      breach("F50", {op, i, 0}, piece,
             fmt::format("quantises {} of the master; {}", version_text(piece.stamp.version),
                         requirement(op, now)));
    } else if (!factors.empty() && scales.held == Held::nothing) {
      breach("F38", {op, i, 1}, factors.front(), "quantises by a scale that nobody made");
    } else if (is_scale && (scales.version != piece.stamp.version || scales.parameter != made.parameter)) {
      breach("F38", {op, i, 1}, factors.front(),
             fmt::format("quantises {} of {} by scales of {} of {}", version_text(piece.stamp.version),
                         name_of_parameter(made.parameter), version_text(scales.version),
                         name_of_parameter(scales.parameter)));
    } else if (is_scale && scales.direction != made.direction) {
      breach("F34", {op, i, 1}, factors.front(), "quantises one direction by scales of the other");
    } else if (is_scale && scales.precision != piece.stamp.precision) {
      breach("F47", {op, i, 0}, piece,
             fmt::format("quantises {} numbers by scales of amaxes of {} numbers",
                         name_of(piece.stamp.precision), name_of(scales.precision)));
    }
    made.is_tainted =
        piece.stamp.is_tainted || scales.is_tainted || (!factors.empty() && factors.front().stamp.is_tainted);
    piece.stamp = made;
  }
  pieces = moved(std::move(pieces), source, target);
  Stamp fresh = pieces.front().stamp;
  judge_requantised(op, i, 2, fresh);
  for (ByteRange& piece : pieces) piece.stamp.is_tainted |= fresh.is_tainted;
  note(op.why.parameter.value, fmt::format("codes of {} on their owners", version_text(fresh.version)));
  write(op, 2, i, std::move(pieces));
}

void LifeRules::quantize_matrix(const Op& op, const QuantizeMatrix& quantize) {
  if (!is_tracked(op, 0)) return;
  const bool is_derivable =
      grid_of({.recipe = quantize.of.recipe, .direction = Direction::column}) == Direction::row;
  for (std::int32_t i = 0; i < op.ranks; ++i) {
    const View source = view(op, 0, i);
    Ranges pieces = read(op, 0, i);
    if (pieces.empty()) continue;
    Stamp made{.recipe = quantize.of.recipe};
    made.parameter = op.why.parameter.value;
    made.tensor = tensor_of(made.parameter, rank(op, i));
    made.version = pieces.front().stamp.version;
    made.precision = pieces.front().stamp.precision;
    for (ByteRange& piece : pieces) {
      const bool is_whole = piece.stamp.held == Held::value && piece.stamp.parameter == made.parameter &&
                            piece.element == piece.begin - source.offset;
      if (!is_whole || piece.stamp.version != current(op, i)) {
        breach("F50", {op, i, 0}, piece,
               fmt::format("quantises {} of {}; {}", name_of(piece.stamp.held),
                           version_text(piece.stamp.version), requirement(op, current(op, i))));
      }
      made.is_tainted |= piece.stamp.is_tainted;
    }
    for (const Direction direction : {Direction::row, Direction::column}) {
      const int codes = direction == Direction::row ? 1 : 3;
      if (view(op, codes, i).numel == 0 || !is_tracked(op, codes)) continue;
      made.direction = direction;
      made.is_derived = direction == Direction::column && is_derivable;
      made.scaling = scalings_.number_of({.parameter = made.parameter,
                                          .tensor = made.tensor,
                                          .version = made.version,
                                          .direction = made.is_derived ? Direction::row : direction});
      made.held = Held::codes;
      made.owner = rank(op, i).value;
      Stamp fresh = made;
      judge_requantised(op, i, codes, fresh);
      const View to = view(op, codes, i);
      write(op, codes, i,
            Ranges{{.begin = to.offset,
                    .end = to.offset + to.numel,
                    .element = made.is_derived ? -1 : 0,
                    .stamp = fresh}});
      fresh.held = Held::scale;
      fresh.owner = -1;
      write(op, codes + 1, i, fresh);
      note(made.parameter, fmt::format("codes and scales of {}", version_text(made.version)));
    }
  }
}

void LifeRules::derive(const Op& op) {
  if (!is_tracked(op, 0)) return;
  for (std::int32_t i = 0; i < op.ranks; ++i) {
    judge_use(op, i, {.codes = 0, .scales = 1});
    Ranges codes = read(op, 0, i), scales = read(op, 1, i);
    if (codes.empty()) continue;
    Stamp made = codes.front().stamp;
    for (const ByteRange& range : codes) made.is_tainted |= range.stamp.is_tainted;
    made.is_derived = true;
    made.direction = Direction::column;
    made.owner = rank(op, i).value;
    write(op, 2, i, made);
    note(made.parameter, fmt::format("column copy of {}", version_text(made.version)));
    if (scales.empty() || view(op, 3, i) == view(op, 1, i)) continue;
    Stamp grid = scales.front().stamp;
    grid.is_derived = true;
    grid.direction = Direction::column;
    write(op, 3, i, grid);
  }
}

}  // namespace shardcheck
