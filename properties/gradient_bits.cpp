#include "properties/gradient_bits.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/numerics/same_code.h"

namespace shardcheck {

Finding GradientBits::finding_of(const Key& key, std::int64_t element, Element expected,
                                 Element actual) const {
  const auto [step, parameter, coordinate] = key;
  const DType type = scenario_.main_grad;
  Finding finding{.clause = "W39"};
  finding.rank = actual.rank;
  finding.step = step;
  finding.parameter = parameter;
  finding.parameter_name = scenario_.parameters[static_cast<std::size_t>(parameter)].name;
  finding.element = element;
  finding.has_values = true;
  finding.expected = {value_of_code(type, expected.code), expected.code, type};
  finding.actual = {value_of_code(type, actual.code), actual.code, type};
  return finding;
}

/// Tensor-parallel ranks have a part of the parameter each, or copies that are summed; experts that share a
/// name are several.
std::int32_t GradientBits::sum_of(std::int32_t parameter, Rank rank) const {
  const bool expert = scenario_.parameters[static_cast<std::size_t>(parameter)].expert;
  const std::int32_t inside = rank.value % stage_size(scenario_);
  const std::int32_t cell = tensor_copies(scenario_, parameter) > 1 ? 0 : inside / scenario_.ranks;
  return cell * scenario_.expert_parallel + (expert ? inside % scenario_.expert_parallel : 0);
}

void GradientBits::read(std::int32_t step, Backend& backend) {
  std::vector<std::byte> bytes;
  std::vector<bool> is_reported(scenario_.parameters.size());
  for (const Placement& owned : planned_.plan.owned) {
    if (!backend.holds(planned_.plan, owned.rank)) continue;
    const ScenarioParameter& parameter =
        scenario_.parameters[static_cast<std::size_t>(owned.parameter.value)];
    const Key key{step, owned.parameter.value, sum_of(owned.parameter.value, owned.rank)};
    std::vector<Element>& elements = elements_[key];
    elements.resize(static_cast<std::size_t>(parameter.numel()));
    const DType type = planned_.plan.buffer(owned.view.buffer).dtype;
    bytes.resize(static_cast<std::size_t>(owned.view.numel * bytes_of(type)));
    backend.read(planned_.plan, owned.rank, owned.view, bytes);
    for (std::int64_t i = 0; i < owned.view.numel; ++i) {
      Element& known = elements[static_cast<std::size_t>(owned.first + i)];
      const Element seen{code_at(type, bytes, i), owned.rank.value};
      if (known.rank < 0) {
        known = seen;
        continue;
      }
      const auto p = static_cast<std::size_t>(owned.parameter.value);
      if (is_same(type, {known.code, seen.code}) || is_reported[p]) continue;
      is_reported[p] = true;
      Finding finding = finding_of(key, owned.first + i, known, seen);
      finding.sentence =
          fmt::format("ranks {} and {} read other bits of a sum that both have: replicas drift apart",
                      known.rank, seen.rank);
      of_replicas_.push_back(std::move(finding));
    }
  }
}

std::vector<Finding> GradientBits::differences(const GradientBits& other, std::string_view sentence) const {
  std::vector<Finding> findings;
  for (const auto& [key, elements] : elements_) {
    const auto others = other.elements_.find(key);
    const bool is_known = std::ranges::count(findings, key[1], &Finding::parameter) > 0;
    if (others == other.elements_.end() || is_known) continue;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const Element &mine = elements[i], &theirs = others->second[i];
      if (mine.rank < 0 || theirs.rank < 0) continue;
      if (is_same(scenario_.main_grad, {theirs.code, mine.code})) continue;
      findings.push_back(finding_of(key, static_cast<std::int64_t>(i), theirs, mine));
      findings.back().sentence = sentence;
      break;
    }
  }
  return findings;
}

}  // namespace shardcheck
