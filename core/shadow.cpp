#include "core/shadow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardcheck {
namespace {

std::string text_of(const OperandExcerpt& operand) {
  std::string text;
  for (const Sighting& value : operand.values) text += (text.empty() ? "" : ", ") + to_text(value);
  const std::int64_t more = operand.numel - static_cast<std::int64_t>(operand.values.size());
  return more > 0 ? fmt::format("{}, and {} more", text, more) : text;
}

}  // namespace

std::string distance_text(const ShadowDifference& d) {
  if (std::isnan(d.expected.value) || std::isnan(d.actual.value)) return "one is NaN";
  if (d.bound && d.share) {
    return fmt::format("{} apart, {:.3g} times the bound of {:.6g}",
                       std::abs(d.expected.value - d.actual.value), *d.share, *d.bound);
  }
  if (!d.ulps) return "different bytes";
  if (*d.ulps == 0) return "zeros of different sign";
  return fmt::format("{} ulp{} apart", *d.ulps, *d.ulps == 1 ? "" : "s");
}

Backend& candidate_of(Backend& backend) {
  auto* shadow = dynamic_cast<Shadow*>(&backend);
  return shadow == nullptr ? backend : shadow->candidate();
}

std::string to_text(const ShadowDifference& d) {
  std::size_t width = std::max(d.reference.size(), d.candidate.size());
  for (const OperandExcerpt& operand : d.operands) width = std::max(width, operand.name.size());
  std::string text = fmt::format("op {} differs: {}\n", d.op.value, d.op_text);
  const auto line = [&](std::string_view name, std::string_view value) {
    text += fmt::format("  {:<{}}  {}\n", name, width, value);
  };
  line("why", d.why);
  line("where", fmt::format("rank {}, {}[{}]", d.rank.value, d.buffer, d.view.offset + d.element));
  line(d.reference, to_text(d.expected));
  line(d.candidate, fmt::format("{}, {}", to_text(d.actual), distance_text(d)));
  line("differ", fmt::format("{}{} of {} elements written", d.truncated ? "at least " : "",
                             d.differing_elements, d.written_elements));
  for (const OperandExcerpt& operand : d.operands) line(operand.name, text_of(operand));
  return text;
}

}  // namespace shardcheck
