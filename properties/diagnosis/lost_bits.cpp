#include "properties/diagnosis/lost_bits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/oracle/oracle.h"

namespace shardcheck {
namespace {

/// What the contributions in a sum come to, without a rounding.
class ExactSums {
 public:
  ExactSums(const Scenario& scenario, const ScenarioData& data, Element element)
      : scenario_(scenario), data_(data), element_(element) {}

  double of(const Combination& sum, Rank rank) {
    double exact = sum.constant;
    for (const Term& term : sum.terms) {
      const auto [known, is_new] = values_.emplace(std::pair(term.contribution, rank.value), 0);
      if (is_new) {
        const auto key = data_.key_of(element_.parameter.value, rank.value, term.contribution);
        known->second = contribution_at(scenario_, data_, key, element_.index);
      }
      exact += term.weight * known->second;
    }
    return exact;
  }

 private:
  const Scenario& scenario_;
  const ScenarioData& data_;
  Element element_;
  std::map<std::pair<std::int64_t, std::int32_t>, double> values_;
};

/// Where the reader finds the element.
View place_of(const Plan& plan, const ReadElement& read) {
  for (const Placement& p : plan.owned) {
    const std::int64_t inside = read.element.index - p.first;
    const bool has_it = p.parameter == read.element.parameter && p.rank == read.reader;
    if (has_it && inside >= 0 && inside < p.view.numel) return {p.view.buffer, p.view.offset + inside, 1};
  }
  return {BufferId{-1}, 0, 0};
}

double expected_of(const Oracle& oracle, const Scenario& scenario, const ReadElement& read) {
  const std::int32_t parameter = read.element.parameter.value;
  const std::int64_t columns = scenario.parameters[static_cast<std::size_t>(parameter)].columns();
  const std::int64_t row = read.element.index / columns;
  const Expected rows = oracle.expected(parameter, read.step, read.reader.value, {row, row + 1});
  return rows.value[static_cast<std::size_t>(read.element.index % columns)];
}

}  // namespace

std::optional<LostBits> lost_bits(const Planned& planned, const Scenario& scenario, const ScenarioData& data,
                                  const ReadElement& read) {
  const Oracle oracle(scenario, data);
  if (!oracle.exactness(read.element.parameter.value).is_exact) return std::nullopt;
  const Plan& plan = planned.plan;
  const View place = place_of(plan, read);
  const OpIndex end = planned.finishes[static_cast<std::size_t>(read.step)];
  const auto domain = reduction_domain(scenario, read.element.parameter.value, read.reader.value);
  ExactSums exact(scenario, data, read.element);
  std::optional<LostBits> first;
  Combination last{.is_known = false};
  follow(planned, scenario, data, read.element, [&](const ElementWrite& write) {
    const Op& op = plan.ops[static_cast<std::size_t>(write.op.value)];
    if (write.op >= end || !write.after.is_known || write.after.undefined != 0) return;
    if (write.rank == read.reader && write.place == place) last = write.after;
    if (first || op.why.step != read.step || std::ranges::find(domain, write.rank.value) == domain.end())
      return;
    const double sum = exact.of(write.after, write.rank);
    if (write.after.value == sum) return;
    const DType type = plan.buffer(write.place.buffer).dtype;
    first = LostBits{
        .op = write.op,
        .sentence = fmt::format("op {} on rank {} ({}) leaves {} of {}, in {}", write.op.value,
                                write.rank.value, describe(plan, op), write.after.value, sum, name_of(type))};
  });
  if (!first || !last.is_known) return std::nullopt;
  first->wanted = expected_of(oracle, scenario, read);
  first->got = last.value;
  const bool all_there = exact.of(last, read.reader) == first->wanted;
  return all_there && first->got != first->wanted ? first : std::nullopt;
}

}  // namespace shardcheck
