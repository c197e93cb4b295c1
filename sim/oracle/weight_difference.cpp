#include "sim/oracle/weight_difference.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/assert.h"
#include "core/numerics/decode.h"
#include "core/numerics/same_code.h"

namespace shardcheck {
namespace {

using recipe::Direction;

/// What a version has in the place that was read; empty when the read goes past its end.
std::span<const std::byte> part_of(const WeightVersion& version, const ReadCopy& read) {
  const recipe::QuantizedCopy& copy = version.copy(read.direction);
  const std::span<const std::byte> all =
      read.is_scales ? std::span<const std::byte>(copy.scales.bytes) : std::as_bytes(std::span(copy.codes));
  if (read.first + std::ssize(read.bytes) > std::ssize(all)) return {};
  return all.subspan(static_cast<std::size_t>(read.first), read.bytes.size());
}

bool equals(const WeightVersion& version, const ReadCopy& read) {
  return std::ranges::equal(part_of(version, read), read.bytes);
}

/// Each byte is of this version or of the one before.
bool is_mixture(const WeightModel& model, const ReadCopy& read) {
  const auto now = part_of(model.now(), read), before = part_of(model.before(), read);
  if (now.empty() || before.empty()) return false;
  for (std::size_t i = 0; i < read.bytes.size(); ++i) {
    if (read.bytes[i] != now[i] && read.bytes[i] != before[i]) return false;
  }
  return true;
}

/// All bytes that are wrong have the value of memory that nobody wrote.
bool is_poison(const WeightModel& model, const ReadCopy& read) {
  const auto now = part_of(model.now(), read);
  if (now.empty() || read.is_scales) return false;
  for (const Poison poison : {Poison::quiet_nan, Poison::large}) {
    const auto value = static_cast<std::byte>(poison_bits(poison, DType::e4m3));
    bool all = true;
    for (std::size_t i = 0; i < now.size() && all; ++i)
      all = now[i] == read.bytes[i] || read.bytes[i] == value;
    if (all) return true;
  }
  return false;
}

struct Verdict {
  std::string_view clause;
  std::string sentence;
};

std::string_view what(const ReadCopy& read) {
  return read.is_scales ? "scales" : "codes";
}

bool is_row_copy(const WeightModel& model, const ReadCopy& read) {
  ReadCopy row = read;
  row.direction = Direction::row;
  return read.direction == Direction::column && equals(model.now(), row);
}

/// What holds of codes and scales alike.
Verdict verdict_on_either(const WeightModel& model, const ReadCopy& read, const WeightContext& context) {
  const bool derives = recipe::is_derivable(model.recipe().second_copy);
  if (context.is_skipped_step)
    return {"F56", fmt::format("a skipped step changes {} of a weight", what(read))};
  if (model.version() > 0 && equals(model.before(), read))
    return {"F50", fmt::format("the {} are those of version {}, and this step needs version {}", what(read),
                               model.version() - 1, model.version())};
  if (model.version() > 0 && is_mixture(model, read))
    return {"F50", fmt::format("the {} are those of version {} in part, and this step needs version {}",
                               what(read), model.version() - 1, model.version())};
  if (is_poison(model, read))
    return {"F50", "the codes are bytes that nobody wrote since they were given up"};
  if (is_row_copy(model, read))
    return derives
               ? Verdict{read.is_scales || model.recipe().block.across > 1 ? "F33" : "F32",
                         fmt::format("the {} of the column copy are not transposed", what(read))}
               : Verdict{"F34", fmt::format("the {} of the column copy are those of the row copy, which is "
                                            "another quantisation",
                                            what(read))};
  if (equals(model.unrounded(), read))
    return {"F47", fmt::format("the {} are those of masters that were not rounded to the model's type first",
                               what(read))};
  if (context.is_reloaded)
    return {"F53", fmt::format("the {} are others after they were saved and loaded", what(read))};
  return {};
}

Verdict verdict(const WeightModel& model, const ReadCopy& read, const WeightContext& context) {
  Verdict found = verdict_on_either(model, read, context);
  if (!found.clause.empty()) return found;
  if (!read.is_scales) return {"F40", "a code is not that of the whole weight, quantised on one rank"};
  if (model.recipe().formula == recipe::ScaleFormula::given)
    return {"F54", "the scale is not the one that the amaxes of earlier steps give"};
  const bool agree = std::ranges::all_of(context.peers, [&](const std::vector<std::byte>& peer) {
    return std::ranges::equal(peer, read.bytes);
  });
  if (!agree) return {"F41", "a scale is another on other ranks: its amax is that of some pieces only"};
  return {"F48", "a scale is not that of the whole weight, on all ranks: its amax is of other ranks"};
}

/// The element of the parameter at a position of the stored codes.
std::int64_t element_of(const WeightModel& model, Direction direction, std::int64_t position) {
  const recipe::QuantizedCopy& copy = model.now().copy(direction);
  const bool turned = direction == Direction::column && recipe::is_derivable(model.recipe().second_copy);
  if (!turned) return position;
  return position % copy.stored.columns * copy.source.columns + position / copy.stored.columns;
}

}  // namespace

bool is_right(const WeightModel& model, const ReadCopy& read) {
  return equals(model.now(), read);
}

void explain(const WeightModel& model, const ReadCopy& read, const WeightContext& context, Finding& finding) {
  const auto now = part_of(model.now(), read);
  if (now.size() != read.bytes.size()) {
    finding.clause = "F50";
    finding.sentence = fmt::format("a product reads {} bytes of {} where the weight has others",
                                   read.bytes.size(), what(read));
    return;
  }
  const Verdict found = verdict(model, read, context);
  finding.clause = found.clause;
  finding.sentence = found.sentence;
  const auto at = std::ranges::mismatch(now, read.bytes).in1 - now.begin();
  const recipe::QuantizedCopy& copy = model.now().copy(read.direction);
  const FormatId format = read.is_scales ? copy.scales.format : copy.elements;
  const DType type = format == FormatId::f32    ? DType::f32
                     : format == FormatId::e4m3 ? DType::e4m3
                                                : DType::u8;
  const std::int64_t index = at / bytes_of(type);
  const auto sighting = [&](std::span<const std::byte> bytes) {
    const std::uint32_t code = code_at(type, bytes, index);
    return Sighting{static_cast<double>(decode(format_of(format), code)), code, type};
  };
  finding.has_values = true;
  finding.expected = sighting(now);
  finding.actual = sighting(read.bytes);
  if (read.is_scales)
    finding.sentence += fmt::format(" (scale {} of the plane)", index);
  else
    finding.element = element_of(model, read.direction, read.first + index);
}

}  // namespace shardcheck
