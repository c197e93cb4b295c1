// shardcheck fp8 cast: what a number becomes in a format. The two codes around it, the exact midpoint and the
// side on which the number lies, and the code that each policy gives.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ostream>

#include "core/error.h"
#include "tools/shardcheck/fp8/neighbours.h"
#include "tools/shardcheck/fp8/subverbs.h"
#include "tools/shardcheck/fp8/values.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck::fp8 {
namespace {

struct Wanted {
  const Format& format;
  DType source;
  std::vector<NamedCast> casts;
};

float value_of(const Input& input) {
  return std::bit_cast<float>(input.f32_bits);
}

std::string input_line(const Input& input, DType source) {
  const double value = value_of(input);
  const std::string shown = std::isfinite(value) ? fmt::format("{}", value) : exact_text(value);
  const std::string text = fmt::format("{} ({})", shown, bits_text(input.f32_bits));
  if (!input.is_rounded) return text;
  return fmt::format("{}, the {} number nearest to {}", text, name_of(source), input.text);
}

/// "448 (0x7e)" with the sign of the number.
std::string signed_value(const Format& format, std::uint32_t code, bool negative) {
  const bool has_sign =
      negative && format.sign_bits == 1 && !(format.encoding == Encoding::fnuz && code == 0);
  return value_text(format, has_sign ? code | format.sign_mask() : code);
}

std::string neighbours_line(const Format& format, const Neighbours& around, bool negative) {
  if (around.is_exact()) return signed_value(format, *around.below, negative) + " is the number itself";
  if (!around.below) return fmt::format("none below; {} above", value_text(format, *around.above));
  const std::string below = signed_value(format, *around.below, negative);
  if (around.above) return fmt::format("{} and {}", below, signed_value(format, *around.above, negative));
  return fmt::format("{} is the largest; the grid would go on with {}", below,
                     exact_text(negative ? -around.value_above : around.value_above));
}

/// "0.296875: the number is 104,858 fp32 steps above it".
std::string midpoint_line(const Format& format, const Neighbours& around, float value) {
  const bool negative = std::signbit(value);
  std::string text = exact_text(negative ? -around.midpoint : around.midpoint);
  if (std::abs(static_cast<double>(value)) == around.midpoint) {
    text += ": the number is just halfway; ";
    if (format.encoding == Encoding::power_of_two) return text + "the policy decides";
    const std::uint32_t even = *around.below % 2 == 0 ? *around.below : *around.below + 1;
    return even > format.max_code ? text + "nearest even goes on: an overflow"
                                  : text + "nearest even takes " + signed_value(format, even, negative);
  }
  const auto steps = std::int64_t{std::bit_cast<std::int32_t>(std::abs(value))} -
                     std::bit_cast<std::int32_t>(static_cast<float>(around.midpoint));
  text += fmt::format(": the number is {} {} it", counted(std::abs(steps), "fp32 step"),
                      (steps > 0) != negative ? "above" : "below");
  return around.above || steps < 0 ? text : text + ", an overflow";
}

/// Policies that give the same code on one line; the first line has the code of the first policy.
std::vector<std::string> code_lines(const Wanted& wanted, std::uint32_t f32_bits) {
  struct Group {
    std::uint32_t code;
    std::vector<std::string> names;
  };
  std::vector<Group> groups;
  for (const NamedCast& cast : wanted.casts) {
    const std::uint32_t code = cast.code_of(f32_bits);
    const auto same = std::ranges::find(groups, code, &Group::code);
    if (same != groups.end()) {
      same->names.push_back(cast.name);
    } else {
      groups.push_back({code, {cast.name}});
    }
  }
  std::vector<std::string> lines;
  for (const Group& group : groups) {
    const bool is_every = groups.size() == 1 && group.names.size() > 1;
    const std::string names = is_every ? fmt::format("every policy ({})", group.names.size())
                                       : fmt::format("{}", fmt::join(group.names, ", "));
    lines.push_back(fmt::format("{}: {}", value_text(wanted.format, group.code), names));
  }
  return lines;
}

std::string text_of(const Terminal& terminal, const Wanted& wanted, const Input& input) {
  const float value = value_of(input);
  const bool negative = std::signbit(value);
  std::string text = paint(terminal, Tone::strong, fmt::format("{} to {}", input.text, wanted.format.name)) +
                     "\n" + labelled(terminal, "number", input_line(input, wanted.source));
  if (std::isfinite(value)) {
    const double magnitude = std::abs(static_cast<double>(value));
    const Neighbours around = neighbours_of(wanted.format, magnitude);
    text += labelled(terminal, "neighbours", neighbours_line(wanted.format, around, negative));
    if (!around.is_exact())
      text += labelled(terminal, "midpoint", midpoint_line(wanted.format, around, value));
  }
  if (!wanted.casts.front().takes(input.f32_bits))
    return text + labelled(terminal, "code", fmt::format("none: {} has no sign", wanted.format.name));
  const auto lines = code_lines(wanted, input.f32_bits);
  for (std::size_t i = 0; i < lines.size(); ++i) text += labelled(terminal, i == 0 ? "code" : "", lines[i]);
  return text;
}

}  // namespace

ExitStatus cast(Session& session, const Arguments& arguments) {
  std::string format = "e4m3", policy = "all", from = "f32";
  std::vector<std::string> numbers;
  Options options({"fp8 cast", "NUMBER... [flags]", "what a number becomes in a narrow format"});
  options.arguments(numbers, {"NUMBER", "", "0.3, -1e-9, 0x1p-9, inf, nan, or bits: 0x3e99999a"});
  options.flag(
      format, {"format", "NAME", "e4m3, e5m2, e4m3fnuz, e5m2fnuz, e8m0, e2m1, e3m2, e2m3, ue4m3, bf16, f16"});
  options.flag(policy,
               {"policy", "NAME", "what is left open, by whom: nv_saturating, ml_dtypes, ..., or all"});
  options.flag(from, {"from", "TYPE", "the number is rounded to this type first: f32, bf16, f16"});
  if (!options.parse(with_numbers_last(arguments), session)) return ExitStatus::held;
  if (numbers.empty())
    throw bad_input("shardcheck fp8 cast",
                    "NUMBER is missing: for example `shardcheck fp8 cast 0.3 448 465`");
  const Format& narrow = narrow_format(format, "--format");
  Wanted wanted{narrow, source_type(from, "--from"), {}};
  wanted.casts = policy == "all" ? named_casts(narrow.id)
                                 : std::vector<NamedCast>{cast_named(narrow, policy, "--policy")};
  std::vector<Input> inputs;
  for (const std::string& number : numbers)
    inputs.push_back(input_in(number, wanted.source, "shardcheck fp8 cast"));
  const Terminal terminal = terminal_of(session.out);
  for (const Input& input : inputs) session.out << text_of(terminal, wanted, input);
  return ExitStatus::held;
}

}  // namespace shardcheck::fp8
