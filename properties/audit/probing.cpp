#include "properties/audit/probing.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "properties/audit/patterns.h"
#include "properties/diagnosis/algebra.h"
#include "properties/diagnosis/contents.h"

namespace shardcheck {
namespace {

constexpr std::size_t kMostLines = 16;

/// Which contribution probe `number` leaves alive; nothing for number 0, or where it is never used.
std::optional<ContributionKey> live_in(const Scenario& s, std::int32_t number) {
  if (number == 0) return std::nullopt;
  const auto uses = static_cast<std::int32_t>(s.uses.size());
  const std::int32_t index = number - 1, position = index % uses;
  ContributionKey key{.parameter = s.uses[static_cast<std::size_t>(position)].parameter,
                      .rank = index / uses / s.microbatches,
                      .microbatch = index / uses % s.microbatches};
  for (std::int32_t before = 0; before < position; ++before)
    key.use += s.uses[static_cast<std::size_t>(before)].parameter == key.parameter;
  return contributes(s, key) ? std::optional(key) : std::nullopt;
}

bool holds_anything(const TracedTensor& tensor) {
  return std::ranges::any_of(tensor.values, [](float v) { return v != 0; });
}

/// The weight of the contribution in the tensor; nothing when none of its elements shows it.
std::optional<ProbedWeight> weight_in(const AuditTrace& trace, const ValueJudge& values,
                                      const TracedTensor& tensor, const ContributionKey& key) {
  ProbedWeight probed{.key = key, .right = values.oracle().scale_of(key.parameter)};
  bool shows = false;
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    const double one = contribution_at(trace.audited.scenario, values.data(), key,
                                       tensor.first + static_cast<std::int64_t>(i));
    const auto read = static_cast<double>(tensor.values[i]);
    if (one == 0) {
      probed.is_one_number &= read == 0;
      continue;
    }
    const double weight = read / one;
    probed.is_one_number &= !shows || weight == probed.weight;
    probed.weight = weight;
    shows = true;
  }
  return shows ? std::optional(probed) : std::nullopt;
}

bool is_wrong(const ProbedWeight& probed) {
  return !probed.is_one_number || probed.weight != probed.right;
}

std::string line_of(const ProbedWeight& probed, std::int32_t uses) {
  const std::string use = uses > 1 ? fmt::format(", use {}", probed.key.use) : "";
  const std::string who =
      fmt::format("microbatch {} of rank {}{}", probed.key.microbatch, probed.key.rank, use);
  if (!probed.is_one_number)
    return fmt::format("{} has no single weight on rank {}: foreign bytes, or other elements another weight",
                       who, probed.reader);
  return fmt::format("{} enters with weight {} where {} is right", who, weight_text(probed.weight),
                     weight_text(probed.right));
}

/// What is left when no contribution is alive.
std::vector<WrongGradient> garbage(const AuditTrace& trace) {
  std::vector<WrongGradient> all;
  std::set<std::int32_t> seen;
  for (const RankTrace& rank : trace.ranks) {
    for (const TracedTensor& tensor : rank.tensors) {
      const bool is_empty_run = tensor.what == Traced::probe && tensor.step == 0 && tensor.is_present;
      if (!is_empty_run || !holds_anything(tensor) || !seen.insert(tensor.parameter).second) continue;
      WrongGradient wrong{.finding = finding_about(trace, tensor, rank.rank)};
      wrong.finding.clause = "W3";
      wrong.finding.sentence =
          "all contributions are zero and the gradient is not: undefined or foreign bytes";
      const auto* at = std::ranges::find_if(tensor.values.data(), tensor.values.data() + tensor.values.size(),
                                            [](float v) { return v != 0; });
      wrong.finding.element = tensor.first + (at - tensor.values.data());
      all.push_back(std::move(wrong));
    }
  }
  return all;
}

}  // namespace

std::vector<ProbedWeight> probed_weights(const AuditTrace& trace, const ValueJudge& values) {
  std::vector<ProbedWeight> all;
  for (const RankTrace& rank : trace.ranks) {
    for (const TracedTensor& tensor : rank.tensors) {
      if (tensor.what != Traced::probe || !tensor.is_present) continue;
      const auto key = live_in(trace.audited.scenario, tensor.step);
      const bool is_its = key && key->parameter == tensor.parameter;
      const bool judged =
          trace.audited.scenario.parameters[static_cast<std::size_t>(tensor.parameter)].trainable;
      if (!is_its || !judged) continue;
      if (auto probed = weight_in(trace, values, tensor, *key)) {
        probed->reader = rank.rank;
        all.push_back(*probed);
      }
    }
  }
  return all;
}

std::vector<WrongGradient> judge_probes(const AuditTrace& trace, const ValueJudge& values) {
  std::vector<WrongGradient> all = garbage(trace);
  const auto weights = probed_weights(trace, values);
  for (std::int32_t p = 0; p < std::ssize(trace.audited.scenario.parameters); ++p) {
    // 1/3 and its like are no exact weights; values within their bounds are judged by ValueJudge.
    if (!values.oracle().exactness(p).is_exact) continue;
    WrongGradient wrong;
    std::set<std::string> said;
    for (const ProbedWeight& probed : weights) {
      if (probed.key.parameter != p || !is_wrong(probed)) continue;
      if (said.empty()) {
        TracedTensor about{.what = Traced::probe, .parameter = p};
        wrong.finding = finding_about(trace, about, probed.reader);
        wrong.finding.clause = "W24";
        wrong.finding.sentence = "probing shows contributions that do not enter with the one right weight";
      }
      std::string line = line_of(probed, values.data().uses_of(p));
      if (said.insert(line).second && said.size() <= kMostLines)
        wrong.finding.provenance.push_back(std::move(line));
    }
    if (said.empty()) continue;
    wrong.signatures = patterns_of_weights(trace, wrong.finding, weights);
    all.push_back(std::move(wrong));
  }
  return all;
}

}  // namespace shardcheck
