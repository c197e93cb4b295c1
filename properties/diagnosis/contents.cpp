#include "properties/diagnosis/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/oracle/provenance.h"

namespace shardcheck {
namespace {

constexpr std::int64_t kFarthest = 65536;  // elements to look at for one that shows a contribution

ContributionKey key_of(const Subject& subject, std::int64_t contribution) {
  return subject.data.key_of(subject.element.parameter.value, std::max(subject.reader.value, 0),
                             contribution);
}

/// A provenance contribution shows in the elements of its lane.
bool shows_in(const Subject& subject, std::int64_t contribution, std::int64_t element) {
  const auto& coding = subject.data.coding(subject.element.parameter.value);
  if (!coding) return true;
  const auto parameter = static_cast<std::size_t>(subject.element.parameter.value);
  return contribution % coding->lanes ==
         lane_digit(subject.scenario.parameters[parameter], *coding, element).lane;
}

std::vector<std::string> words_of(const Subject& subject, const Combination& holds) {
  std::vector<std::string> words;
  for (const Term& term : holds.terms) {
    if (!is_visible(subject, term.contribution)) continue;
    const std::string times = term.weight == 1 ? "" : weight_text(term.weight) + " x ";
    words.push_back(times + name_of(subject, term.contribution));
  }
  if (holds.constant != 0) words.push_back(fmt::format("the constant {}", holds.constant));
  if (holds.undefined != 0) words.push_back("undefined bytes");
  if (words.empty())
    words.push_back(holds.terms.empty() ? "zero" : "zero: its contributions show in other elements only");
  return words;
}

/// Scales that the number may carry: the one of the plan's sum, none, the full one.
std::set<double> possible_scales(const Subject& subject, const Combination& predicted) {
  std::set<double> scales{1, subject.oracle.scale_of(subject.element.parameter.value)};
  if (!predicted.terms.empty()) scales.insert(predicted.terms.front().weight);
  return scales;
}

std::string difference(const Subject& subject, std::int64_t contribution, double weight, double right,
                       double unit) {
  const std::int32_t uses = subject.data.uses_of(subject.element.parameter.value);
  Multiplicity m{key_of(subject, contribution), 0, right != 0 ? 1 : 0};
  const double times = weight / (right != 0 ? right : unit);
  if (times == std::floor(times) && times >= 0 && times < 1e6) {
    m.times = static_cast<std::int32_t>(times);
    return to_text(m, uses);
  }
  const std::string who = name_of(subject, contribution);
  if (right == 0) return fmt::format("{} is in it with weight {} and must not be", who, weight_text(weight));
  return fmt::format("{} has weight {} instead of {}", who, weight_text(weight), weight_text(right));
}

}  // namespace

bool is_visible(const Subject& subject, std::int64_t contribution) {
  return shows_in(subject, contribution, subject.element.index);
}

std::int64_t element_showing(const Subject& subject, std::int64_t contribution) {
  for (const Placement& p : subject.planned.plan.owned) {
    const bool of_reader = p.rank == subject.reader && p.parameter == subject.element.parameter;
    const std::int64_t last = p.first + p.view.numel;
    if (!of_reader || subject.element.index < p.first || subject.element.index >= last) continue;
    const std::int64_t most = std::min(last - p.first, kFarthest);
    for (std::int64_t i = 0; i < most; ++i) {
      const std::int64_t element = p.first + (subject.element.index - p.first + i) % (last - p.first);
      if (shows_in(subject, contribution, element)) return element;
    }
  }
  return subject.element.index;
}

std::string name_of(const Subject& subject, std::int64_t contribution) {
  const ContributionKey key = key_of(subject, contribution);
  std::string text = fmt::format("microbatch {} of rank {}", key.microbatch, key.rank);
  const bool steps = subject.scenario.steps > 1;
  const bool uses = subject.data.uses_of(subject.element.parameter.value) > 1;
  if (steps && uses) return text + fmt::format(" (step {}, use {})", key.step, key.use);
  if (steps) return text + fmt::format(" (step {})", key.step);
  return uses ? text + fmt::format(" (use {})", key.use) : text;
}

std::string weight_text(double weight) {
  const double inverse = 1 / weight;
  const bool unit_fraction = weight != 0 && std::fabs(weight) < 1 && inverse == std::round(inverse);
  return unit_fraction ? fmt::format("{}1/{}", weight < 0 ? "-" : "", std::fabs(inverse))
                       : fmt::format("{}", weight);
}

std::optional<Combination> decoded(const Subject& subject, double value, double scale, Rank rank) {
  const std::int32_t parameter = subject.element.parameter.value;
  if (!subject.oracle.exactness(parameter).is_exact) return std::nullopt;
  const auto wrong = decode(subject.scenario, subject.data, parameter, subject.step, rank.value,
                            subject.element.index, value, scale);
  if (!wrong) return std::nullopt;
  Combination sum{.value = value};
  const std::int32_t group =
      group_of(subject.scenario.parameters[static_cast<std::size_t>(parameter)], subject.element.index);
  for (std::int64_t i = 0; i < subject.data.count_of(parameter); ++i) {
    if (!is_visible(subject, i)) continue;
    const ContributionKey key = subject.data.key_of(parameter, rank.value, i);
    const bool is_there = key.step == subject.step && contributes(subject.scenario, key, group);
    std::int32_t times = is_there ? 1 : 0;
    for (const Multiplicity& m : *wrong) {
      if (subject.data.index_of(m.key) == i) times = m.times;
    }
    if (times != 0) sum.terms.push_back({i, times * scale});
  }
  return sum;
}

std::vector<std::string> contents_of(const Subject& subject, const Combination& predicted, double seen,
                                     Rank rank) {
  if (predicted.is_known && same_number(predicted.value, seen)) return words_of(subject, predicted);
  if (std::isnan(seen)) return {"NaN: undefined bytes are in it"};
  for (const double scale : possible_scales(subject, predicted)) {
    if (const auto sum = decoded(subject, seen, scale, rank)) return words_of(subject, *sum);
  }
  return {"no sum of contributions"};
}

std::vector<std::string> differences(const Subject& subject, const Combination& actual,
                                     const Combination& right) {
  const double unit = right.terms.empty() ? 1 : right.terms.front().weight;
  std::set<std::int64_t> contributions;
  for (const Term& term : actual.terms) contributions.insert(term.contribution);
  for (const Term& term : right.terms) contributions.insert(term.contribution);
  std::vector<std::string> sentences;
  for (const std::int64_t i : contributions) {
    const double weight = actual.weight_of(i), wanted = right.weight_of(i);
    if (weight != wanted) sentences.push_back(difference(subject, i, weight, wanted, unit));
  }
  if (actual.undefined != 0) sentences.push_back("bytes that nobody wrote are in it");
  if (actual.constant != 0) sentences.push_back(fmt::format("the constant {} is in it", actual.constant));
  return sentences;
}

}  // namespace shardcheck
