#include "properties/diagnosis/symptoms.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "properties/diagnosis/contents.h"

namespace shardcheck {
namespace {

void append(std::vector<ContributionWeight>& weights, const Subject& subject, const Combination& actual,
            const Combination& right, bool only_visible) {
  std::set<std::int64_t> contributions;
  for (const Term& term : actual.terms) contributions.insert(term.contribution);
  for (const Term& term : right.terms) contributions.insert(term.contribution);
  for (const std::int64_t i : contributions) {
    if (only_visible && !is_visible(subject, i)) continue;
    weights.push_back({subject.data.key_of(subject.element.parameter.value, subject.reader.value, i),
                       actual.weight_of(i), right.weight_of(i)});
  }
}

std::vector<double> wanted_range(const Subject& subject, const Observation& observation, std::int32_t step) {
  if (observation.range.empty() || step < 0) return {};
  const std::int32_t parameter = subject.element.parameter.value;
  const std::int64_t columns = subject.scenario.parameters[static_cast<std::size_t>(parameter)].columns();
  const std::int64_t last = observation.first + std::ssize(observation.range);
  const Rows rows{observation.first / columns, (last + columns - 1) / columns};
  const auto all = subject.oracle.expected(parameter, step, subject.reader.value, rows).value;
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(observation.first - rows.first * columns);
  return {begin, begin + std::ssize(observation.range)};
}

double expected_of(const Subject& subject) {
  const std::int32_t parameter = subject.element.parameter.value;
  const std::int64_t columns = subject.scenario.parameters[static_cast<std::size_t>(parameter)].columns();
  const std::int64_t row = subject.element.index / columns;
  const auto values =
      subject.oracle.expected(parameter, subject.step, subject.reader.value, {row, row + 1}).value;
  return values[static_cast<std::size_t>(subject.element.index % columns)];
}

/// One value for all, or nothing.
class Agreement {
 public:
  void add(double value) {
    if (!value_) value_ = value;
    agrees_ &= *value_ == value;
  }
  void refuse() { agrees_ = false; }
  std::optional<double> value() const { return agrees_ ? value_ : std::nullopt; }

 private:
  std::optional<double> value_;
  bool agrees_ = true;
};

}  // namespace

std::optional<double> Symptoms::common_factor() const {
  Agreement factor;
  for (const ContributionWeight& w : weights) {
    if (w.right != 0)
      factor.add(w.actual / w.right);
    else
      factor.refuse();
  }
  return undefined != 0 ? std::nullopt : factor.value();
}

std::optional<double> Symptoms::factor_of_microbatch(std::int32_t microbatch) const {
  Agreement factor;
  for (const ContributionWeight& w : weights) {
    if (w.key.step == subject.step && w.key.microbatch == microbatch && w.right != 0)
      factor.add(w.actual / w.right);
  }
  return factor.value();
}

std::optional<double> Symptoms::common_ratio() const {
  Agreement ratio;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (wanted[i] != 0)
      ratio.add(read[i] / wanted[i]);
    else if (read[i] != 0)
      ratio.refuse();
  }
  return ratio.value();
}

Symptoms symptoms_of(const Subject& subject, const Observation& observation, const Combination& actual,
                     const Combination& right) {
  Symptoms symptoms{.subject = subject, .expected = expected_of(subject), .owners = observation.finished};
  for (const auto& [rank, value] : observation.finished) {
    if (rank == subject.reader) symptoms.actual = value;
  }
  if (actual.is_known && same_number(actual.value, symptoms.actual)) {
    append(symptoms.weights, subject, actual, right, false);
    symptoms.undefined = actual.undefined;
  } else {
    const double scale = subject.oracle.scale_of(subject.element.parameter.value);
    if (const auto sum = decoded(subject, symptoms.actual, scale, subject.reader))
      append(symptoms.weights, subject, *sum, right, true);
  }
  symptoms.read = observation.range;
  symptoms.wanted = wanted_range(subject, observation, subject.step);
  symptoms.wanted_before = wanted_range(subject, observation, subject.step - 1);
  return symptoms;
}

}  // namespace shardcheck
