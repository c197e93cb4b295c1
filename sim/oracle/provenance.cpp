#include "sim/oracle/provenance.h"

#include <fmt/format.h>

#include <cmath>

namespace shardcheck {

std::optional<std::vector<Multiplicity>> decode(const Scenario& scenario, const ScenarioData& data,
                                                std::int32_t parameter, std::int32_t step, std::int32_t rank,
                                                std::int64_t element, double value, double scale) {
  const auto& coding = data.coding(parameter);
  const ScenarioParameter& p = scenario.parameters[static_cast<std::size_t>(parameter)];
  if (!coding || data.count_of(parameter) == 0) return std::nullopt;
  const LaneDigit at = lane_digit(p, *coding, element);
  const double plain = value / scale * at.sign;
  const double limit = std::ldexp(1.0, 2 * coding->digits);
  if (!(plain >= 0) || plain >= limit || plain != std::floor(plain)) return std::nullopt;
  auto digits = static_cast<std::int64_t>(plain);
  std::vector<Multiplicity> wrong;
  for (std::int32_t place = 0; place < coding->digits; ++place, digits /= 4) {
    const std::int64_t digit = (place - at.shift + coding->digits) % coding->digits;
    const std::int64_t index = digit * coding->lanes + at.lane;
    const auto times = static_cast<std::int32_t>(digits % 4);
    if (index >= data.count_of(parameter)) {
      if (times != 0) return std::nullopt;
      continue;
    }
    Multiplicity m{data.key_of(parameter, rank, index), times, 0};
    m.expected = m.key.step == step && contributes(scenario, m.key, group_of(p, element)) ? 1 : 0;
    if (m.times != m.expected) wrong.push_back(m);
  }
  return wrong;
}

std::string to_text(const Multiplicity& m, std::int32_t uses) {
  const std::string use = uses > 1 ? fmt::format(", use {}", m.key.use) : "";
  const std::string who =
      fmt::format("microbatch {} of rank {} (step {}{})", m.key.microbatch, m.key.rank, m.key.step, use);
  if (m.expected == 0)
    return who + (m.times == 1 ? " is in it and must not be"
                               : fmt::format(" is in it {} times and must not be", m.times));
  if (m.times == 0) return who + " is missing";
  if (m.times == 2) return who + " is counted twice";
  return who + fmt::format(" is counted {} times", m.times);
}

}  // namespace shardcheck
