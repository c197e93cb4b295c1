#include "properties/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/assert.h"
#include "core/digest.h"
#include "core/joint.h"
#include "core/numerics/same_code.h"
#include "properties/diagnosis/subject.h"
#include "properties/parameter_element.h"
#include "sim/executor/executor.h"

namespace shardcheck {
namespace {

constexpr std::int64_t kBlock = std::int64_t{1} << 20;  // elements read at a time
/// Bytes from which a range is compared by digests where it lies; below, a fetch costs no more than a launch.
constexpr std::int64_t kDigestFrom = std::int64_t{1} << 20;

/// Both at once, without looking. The candidate first: a device works while the host computes.
class Both final : public Backend {
 public:
  explicit Both(const ComparedPair& pair) : pair_(pair) {}

  BackendInfo info() const override { return pair_.candidate.info(); }
  bool holds(const Plan& plan, Rank rank) const override {
    return pair_.candidate.holds(plan, rank) && pair_.reference.holds(plan, rank);
  }
  void execute(const Plan& plan, OpIndex first, OpIndex last) override {
    pair_.candidate.execute(plan, first, last);
    pair_.reference.execute(plan, first, last);
  }
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    pair_.candidate.write(plan, rank, view, bytes);
    pair_.reference.write(plan, rank, view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    pair_.candidate.read(plan, rank, view, bytes);
  }

 private:
  const ComparedPair& pair_;
};

std::string name_of_parameter(const Plan& plan, std::int32_t parameter) {
  return parameter < 0 ? "" : plan.parameters[static_cast<std::size_t>(parameter)].name;
}

std::string operand_text(const OperandExcerpt& operand) {
  std::string text;
  for (const Sighting& value : operand.values) text += (text.empty() ? "" : ", ") + to_text(value);
  const auto more = operand.numel - std::ssize(operand.values);
  return fmt::format("{}: {}{}", operand.name, text, more > 0 ? fmt::format(", and {} more", more) : "");
}

Finding finding_of(const Plan& plan, const ShadowDifference& difference) {
  const Op& op = plan.ops[static_cast<std::size_t>(difference.op.value)];
  const bool is_product =
      std::holds_alternative<Gemm>(op.action) || std::holds_alternative<Matmul>(op.action);
  const bool by_profile = is_product && !difference.bound;
  Finding finding{.clause = by_profile ? "F66" : "W39"};
  finding.sentence = fmt::format(
      "{} leaves {} where {} has {}, {}, in {}[{}]; {}{} of the {} elements that the op writes "
      "differ",
      difference.candidate, to_text(difference.actual), difference.reference, to_text(difference.expected),
      distance_text(difference), difference.buffer, difference.view.offset + difference.element,
      difference.truncated ? "at least " : "", difference.differing_elements, difference.written_elements);
  name_op(finding, plan, difference.op);
  finding.rank = difference.rank.value;
  const ParameterElement place = parameter_element(
      plan,
      {difference.op, difference.rank, difference.view.buffer, difference.view.offset + difference.element});
  finding.parameter = place.parameter.value;
  finding.parameter_name = name_of_parameter(plan, finding.parameter);
  finding.element = place.element;
  finding.has_values = true;
  finding.expected = difference.expected;
  finding.actual = difference.actual;
  for (const OperandExcerpt& operand : difference.operands) finding.history.push_back(operand_text(operand));
  return finding;
}

/// Compares what the owners read, parameter by parameter, and what products with FP8 weights gave.
class FinishedGradients {
 public:
  FinishedGradients(const Planned& planned, const ComparedPair& pair)
      : planned_(planned), plan_(planned.plan), pair_(pair) {}

  void compare(std::int32_t step) {
    std::set<std::int32_t> reported;
    const std::vector<bool> settled = equal_by_digest();
    for (std::size_t i = 0; i < plan_.owned.size(); ++i) {
      const Placement& owned = plan_.owned[i];
      if (settled[i] || reported.contains(owned.parameter.value)) continue;
      if (!pair_.candidate.holds(plan_, owned.rank) || !pair_.reference.holds(plan_, owned.rank)) continue;
      const auto found = difference_at(owned.rank, owned.view);
      if (!found) continue;
      report(owned, step, *found);
      reported.insert(owned.parameter.value);
    }
  }
  /// The outputs of the step, and those of an evaluation since the step before.
  void compare_outputs(std::int32_t step) {
    std::set<std::int32_t> reported;
    for (const OutputSlot& slot : planned_.outputs) {
      for (std::int32_t r = 0; r < plan_.ranks && !reported.contains(slot.parameter); ++r) {
        const bool is_here = pair_.candidate.holds(plan_, Rank{r}) && pair_.reference.holds(plan_, Rank{r});
        const auto found = is_here ? difference_at(Rank{r}, slot.view) : std::nullopt;
        if (!found) continue;
        report({ParamId{slot.parameter}, Rank{r}, slot.view, 0}, step, *found);
        const Finding& same = findings_.back();
        findings_.back().sentence =
            fmt::format("a product with an FP8 weight gives {} on {} where {} has {}", to_text(same.actual),
                        pair_.candidate.info().name, pair_.reference.info().name, to_text(same.expected));
        findings_.back().microbatch = slot.microbatch;
        reported.insert(slot.parameter);
      }
    }
  }

  std::vector<Finding> take() { return std::move(findings_); }

 private:
  bool is_large(const Placement& owned) const {
    return owned.view.numel * bytes_of(plan_.buffer(owned.view.buffer).dtype) >= kDigestFrom;
  }

  /// Large owned ranges that hold the same codes by their digests: none of these has to be fetched.
  std::vector<bool> equal_by_digest() const {
    std::vector<bool> equal(plan_.owned.size());
    auto* const reference = dynamic_cast<Digesting*>(&pair_.reference);
    auto* const candidate = dynamic_cast<Digesting*>(&pair_.candidate);
    if (reference == nullptr || candidate == nullptr) return equal;
    std::vector<std::size_t> large;
    std::vector<Rank> ranks;
    std::vector<View> views;
    for (std::size_t i = 0; i < plan_.owned.size(); ++i) {
      const Placement& owned = plan_.owned[i];
      const bool is_here =
          pair_.candidate.holds(plan_, owned.rank) && pair_.reference.holds(plan_, owned.rank);
      if (!is_here || !is_large(owned)) continue;
      large.push_back(i);
      ranks.push_back(owned.rank);
      views.push_back(owned.view);
    }
    if (large.empty()) return equal;
    const auto expected = reference->digests(plan_, ranks, views),
               actual = candidate->digests(plan_, ranks, views);
    for (std::size_t n = 0; n < large.size(); ++n) equal[large[n]] = expected[n] == actual[n];
    return equal;
  }

  /// The first difference in a view, by its element there.
  std::optional<std::int64_t> difference_at(Rank rank, View view) {
    type_ = plan_.buffer(view.buffer).dtype;
    for (std::int64_t at = 0; at < view.numel; at += kBlock) {
      const View part{view.buffer, view.offset + at, std::min(kBlock, view.numel - at)};
      const auto size = static_cast<std::size_t>(part.numel * bytes_of(type_));
      expected_.resize(size);
      actual_.resize(size);
      pair_.reference.read(plan_, rank, part, expected_);
      pair_.candidate.read(plan_, rank, part, actual_);
      const Differing found = differing(type_, {expected_, actual_});
      if (found.count == 0) continue;
      in_block_ = found.first;
      return at + found.first;
    }
    return std::nullopt;
  }

  /// `element` of the owned range is the one that difference_at() saw last.
  void report(const Placement& owned, std::int32_t step, std::int64_t element) {
    const auto sighting = [&](const std::vector<std::byte>& bytes) {
      const std::uint32_t code = code_at(type_, bytes, in_block_);
      return Sighting{value_of_code(type_, code), code, type_};
    };
    Finding finding{.clause = "W39"};
    finding.expected = sighting(expected_);
    finding.actual = sighting(actual_);
    finding.sentence = fmt::format("the gradient that the consumer reads is {} on {} where {} has {}",
                                   to_text(finding.actual), pair_.candidate.info().name,
                                   pair_.reference.info().name, to_text(finding.expected));
    finding.has_values = true;
    finding.rank = owned.rank.value;
    finding.step = step;
    finding.parameter = owned.parameter.value;
    finding.parameter_name = name_of_parameter(plan_, finding.parameter);
    finding.element = owned.first + element;
    findings_.push_back(std::move(finding));
  }

  const Planned& planned_;
  const Plan& plan_;
  const ComparedPair& pair_;
  std::vector<std::byte> expected_, actual_;  // of the block with the last difference
  DType type_ = DType::f32;
  std::int64_t in_block_ = 0;
  std::vector<Finding> findings_;
};

}  // namespace

Comparison compare_op_by_op(const Scenario& scenario, Poison poison, Shadow& shadow) {
  const Planned planned = rewritten_plan(scenario, poison);
  const ScenarioData data(scenario);
  shadow.take();
  run(planned, scenario, data, shadow, {});
  ShadowReport report = shadow.take();
  Comparison comparison{.budget_used = report.budget_used,
                        .ops_compared = report.ops_compared,
                        .ops_bounded = report.ops_bounded,
                        .ops_unjudged = report.ops_unjudged,
                        .elements_compared = report.elements_compared};
  for (const ShadowDifference& difference : report.differences) {
    Finding finding = finding_of(planned.plan, difference);
    if (!comparison.first) {
      comparison.first = std::move(finding);
      comparison.difference = difference;
    } else {
      comparison.others.push_back(std::move(finding));
    }
  }
  return comparison;
}

bool compute_alike(const ComparedPair& pair) {
  const BackendInfo reference = pair.reference.info(), candidate = pair.candidate.info();
  const bool have_one_profile = reference.profile == candidate.profile && reference.profile != "unknown";
  // Two parts are added in one order only; with three it is the library's own (backends/fold_order.h).
  return have_one_profile && reference.fold == candidate.fold && reference.fold <= 2;
}

std::vector<Finding> compare_finished(const Scenario& scenario, Poison poison, const ComparedPair& pair) {
  SC_ASSERT(compute_alike(pair), "results of different arithmetic are compared bit for bit");
  const Planned planned = rewritten_plan(scenario, poison);
  const ScenarioData data(scenario);
  Both both(pair);
  FinishedGradients finished(planned, pair);
  RunEvents events;
  events.at_finish = [&](std::int32_t step) {
    finished.compare(step);
    finished.compare_outputs(step);
  };
  events.at_end = [&] { finished.compare_outputs(scenario.steps - 1); };
  run(planned, scenario, data, both, events);
  return finished.take();
}

std::vector<Finding> compare_backends(const Scenario& scenario, Poison poison, Shadow& shadow) {
  const ComparedPair pair{shadow.reference(), shadow.candidate()};
  std::vector<Finding> findings;
  const bool by_bits = compute_alike(pair);
  if (by_bits) findings = compare_finished(scenario, poison, pair);
  if (by_bits && findings.empty()) return findings;
  Comparison comparison = compare_op_by_op(scenario, poison, shadow);
  if (comparison.first) {
    findings.insert(findings.begin(), std::move(*comparison.first));
  } else {
    for (Finding& finding : findings)
      finding.sentence +=
          ", although op by op nothing differs: an order between streams is missing, or a backend does not "
          "repeat its bits";
  }
  return findings;
}

std::vector<Finding> ask(const Property& property, Backend& backend, const Scenario& scenario) {
  auto* shadow = dynamic_cast<Shadow*>(&backend);
  if (shadow == nullptr) return agreed(backend, property.check(backend, scenario));
  std::vector<Finding> findings = property.check(shadow->candidate(), scenario);
  return findings.empty() ? compare_backends(scenario, Poison::quiet_nan, *shadow) : findings;
}

}  // namespace shardcheck
