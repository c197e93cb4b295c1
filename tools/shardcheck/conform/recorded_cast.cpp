#include "tools/shardcheck/conform/recorded_cast.h"

namespace shardcheck {
namespace {

/// Removes the ending with its underscore; false when it is not there.
bool cut_ending(std::string_view& name, std::string_view ending) {
  if (!name.ends_with(ending)) return false;
  name.remove_suffix(ending.size());
  if (name.ends_with('_')) name.remove_suffix(1);
  return true;
}

}  // namespace

std::uint32_t RecordedCast::code_of(std::uint32_t f32_bits) const {
  if (format == FormatId::e8m0) return encode_e8m0(f32_bits, rounding, policy.finite_overflow);
  return encode(format_of(format), policy, f32_bits);
}

std::optional<FormatId> recorded_format(std::string_view name) {
  return format_named(name == "e4m3fn" ? "e4m3" : name);
}

std::optional<RecordedCast> recorded_cast(std::string_view name) {
  RecordedCast cast;
  const bool saturates = cut_ending(name, "satfinite") || cut_ending(name, "_sat");
  const bool overflows = !saturates && cut_ending(name, "nosat");
  cast.policy = overflows ? kNvNoSaturation : kNvSaturating;
  const bool up = cut_ending(name, "rp");
  const bool has_direction = up || cut_ending(name, "rz");
  cast.rounding = up ? PowerOfTwoRounding::up : PowerOfTwoRounding::down;
  if (has_direction && name.empty()) name = "e8m0";
  const auto format = recorded_format(name);
  if (!format || has_direction != (*format == FormatId::e8m0)) return std::nullopt;
  cast.format = *format;
  const bool always_clamps = format_of(*format).encoding == Encoding::finite;
  if (!always_clamps && !saturates && !overflows) return std::nullopt;
  return cast;
}

}  // namespace shardcheck
