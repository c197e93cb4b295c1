#include "properties/audit/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/numerics/bounds.h"
#include "core/numerics/narrow.h"
#include "properties/audit/patterns.h"
#include "properties/diagnosis/reading.h"
#include "sim/oracle/provenance.h"

namespace shardcheck {
namespace {

constexpr std::size_t kMostSentences = 12;

const ScenarioParameter& parameter_of(const AuditTrace& trace, const TracedTensor& tensor) {
  return trace.audited.scenario.parameters[static_cast<std::size_t>(tensor.parameter)];
}

/// What a tensor of that type holds of an exact value: weights may be a copy of finer ones, rounded once.
double as_stored(double value, DType type) {
  const auto f = static_cast<float>(value);
  if (type == DType::bf16) return static_cast<double>(bf16_to_f32(f32_to_bf16(f)));
  if (type == DType::f16) return static_cast<double>(f16_to_f32(f32_to_f16(f)));
  return value;
}

/// A whole power of two, or the inverse of one: in provenance data every other ratio is a lost contribution.
bool is_scale(double ratio) {
  const double whole = ratio > 1 ? ratio : 1 / ratio;
  return ratio > 0 && ratio != 1 && whole <= 4096 && whole == std::round(whole) &&
         std::has_single_bit(static_cast<std::uint64_t>(whole));
}

/// What is read divided by what is right, over the elements of a gradient.
struct Ratios {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  std::int64_t undecoded = 0;
};

/// The count (ranks, microbatches, their product) that divided or multiplied every element, but for the
/// rounding that a count like 3 brings; 0 when there is none, or several would fit. What is in an element has
/// one sign, so one rounding of the scale and one of every addition bound the relative error by (1 + u)^n
/// - 1. Where digits decode, a quarter may be what is left when a contribution is lost; a third or a sixth
/// never is: what is left of a sum of powers of four is at least 3/4 of it, or 3/16 to 1/4, or less than
/// 1/12. So a sixth stays apart while (1 + slack) / 6 < 3/16.
std::int64_t rounded_scale(const Scenario& s, std::int32_t parameter, const Ratios& ratios) {
  const DType type = s.parameters[static_cast<std::size_t>(parameter)].dtype;
  const double u = std::max({unit_roundoff(type), unit_roundoff(s.comm), unit_roundoff(s.main_grad)});
  const auto uses = std::ranges::count(s.uses, parameter, &ScenarioUse::parameter);
  const auto roundings = static_cast<double>(1 + uses * s.microbatches * s.ranks);
  const double slack = std::expm1(roundings * std::log1p(u));
  if (slack >= 1.0 / 8) return 0;
  std::set<std::int64_t> fitting;
  for (const std::int64_t count : {s.microbatches, s.ranks, s.microbatches * s.ranks}) {
    const double scale = ratios.most < 1 ? 1.0 / static_cast<double>(count) : static_cast<double>(count);
    const bool is_telling = ratios.undecoded > 0 || count == 3 || count == 6;
    const bool fits = ratios.least >= scale * (1 - slack) && ratios.most <= scale * (1 + slack);
    if (count > 1 && is_telling && fits) fitting.insert(count);
  }
  return fitting.size() == 1 ? *fitting.begin() : 0;
}

}  // namespace

/// What is wrong about one gradient.
struct ValueJudge::Difference {
  std::int64_t first = -1;  ///< wrong element of the tensor
  std::int64_t wrong = 0;   ///< elements
  Ratios ratios;
  double ratio = 0;  ///< read / wanted where it is one number, else 0
  bool is_all_zero = true, has_nan = false, has_other_step = false;
  std::vector<double> want;
  std::vector<std::string> provenance;
};

bool is_silent_step(const Scenario& s, std::int32_t parameter, std::int32_t step) {
  if (std::ranges::count(s.uses, parameter, &ScenarioUse::parameter) == 0) return true;
  for (std::int32_t rank = 0; rank < s.ranks; ++rank) {
    for (std::int32_t m = 0; m < s.microbatches; ++m) {
      if (is_used(s, parameter, step, rank, m)) return false;
    }
  }
  return true;
}

bool has_silent_microbatch(const Scenario& s, std::int32_t parameter, std::int32_t step) {
  for (std::int32_t rank = 0; rank < s.ranks; ++rank) {
    for (std::int32_t m = 0; m < s.microbatches; ++m) {
      if (!is_used(s, parameter, step, rank, m)) return true;
    }
  }
  return false;
}

Finding finding_about(const AuditTrace& trace, const TracedTensor& tensor, std::int32_t rank) {
  Finding finding;
  finding.rank = rank;
  finding.step = tensor.what == Traced::probe ? 0 : tensor.step;
  finding.parameter = tensor.parameter;
  finding.parameter_name = parameter_of(trace, tensor).name;
  return finding;
}

ValueJudge::ValueJudge(const AuditTrace& trace)
    : trace_(trace), data_(trace.audited.scenario), oracle_(trace.audited.scenario, data_) {}

std::vector<double> ValueJudge::wanted(const TracedTensor& tensor, std::int32_t rank,
                                       std::int32_t step) const {
  const ScenarioParameter& p = parameter_of(trace_, tensor);
  if (!p.trainable || data_.uses_of(tensor.parameter) == 0)
    return std::vector<double>(tensor.values.size(), 0.0);
  const auto all = oracle_.expected(tensor.parameter, step, rank, {0, p.rows()}).value;
  return {all.begin() + tensor.first, all.begin() + tensor.last()};
}

bool ValueJudge::differs(const TracedTensor& tensor, std::int32_t rank, std::size_t at, double want) const {
  const Exactness& exactness = oracle_.exactness(tensor.parameter);
  const auto actual = static_cast<double>(tensor.values[at]);
  if (exactness.is_exact) return actual != want;
  const ScenarioParameter& p = parameter_of(trace_, tensor);
  const Expected expected = oracle_.expected(tensor.parameter, tensor.step, rank, {0, p.rows()});
  const double magnitude = expected.magnitude[static_cast<std::size_t>(tensor.first) + at];
  return !(std::fabs(actual - want) <= exactness.growth * magnitude + exactness.underflow);
}

ValueJudge::Difference ValueJudge::difference_of(const TracedTensor& tensor, std::int32_t rank) const {
  Difference d{.want = wanted(tensor, rank, tensor.step)};
  const double scale = oracle_.scale_of(tensor.parameter);
  const bool decodes = oracle_.exactness(tensor.parameter).is_exact;
  std::set<std::string> said;
  bool has_ratio = true;
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    const auto actual = static_cast<double>(tensor.values[i]);
    d.is_all_zero &= actual == 0;
    d.has_nan |= std::isnan(actual);
    if (d.want[i] != 0 || actual != 0) {
      const double ratio = d.want[i] == 0 ? 0 : actual / d.want[i];
      has_ratio &= ratio != 0 && (d.ratio == 0 || d.ratio == ratio);
      d.ratio = ratio;
      d.ratios.least = std::min(d.ratios.least, ratio);
      d.ratios.most = std::max(d.ratios.most, ratio);
    }
    if (!differs(tensor, rank, i, d.want[i])) continue;
    if (d.wrong++ == 0) d.first = static_cast<std::int64_t>(i);
    const std::int64_t element = tensor.first + static_cast<std::int64_t>(i);
    const auto wrong = decodes ? decode(trace_.audited.scenario, data_, tensor.parameter, tensor.step, rank,
                                        element, actual, scale)
                               : std::nullopt;
    if (!wrong) ++d.ratios.undecoded;
    for (const Multiplicity& m : wrong.value_or(std::vector<Multiplicity>{})) {
      d.has_other_step |= m.key.step != tensor.step && m.times > 0;
      std::string sentence = to_text(m, data_.uses_of(tensor.parameter));
      if (said.insert(sentence).second) d.provenance.push_back(std::move(sentence));
    }
  }
  if (!has_ratio) d.ratio = 0;
  return d;
}

void ValueJudge::classify(Finding& finding, const TracedTensor& tensor, const Difference& d) const {
  const Scenario& s = trace_.audited.scenario;
  const auto say = [&](const char* clause, std::string sentence) {
    finding.clause = clause;
    finding.sentence = std::move(sentence);
  };
  const auto count = std::ssize(tensor.values);
  if (!parameter_of(trace_, tensor).trainable) return say("W10", "a frozen parameter has a gradient");
  if (is_silent_step(s, tensor.parameter, tensor.step))
    return say("W8", "a parameter that nobody used in this step has a gradient");
  if (d.is_all_zero) return say("W1", "no contribution at all reaches the gradient");
  if (is_scale(d.ratio))
    return say("W24", fmt::format("every element is {} what it should be, exactly: a scale, not rounding",
                                  d.ratio > 1 ? fmt::format("{} times", d.ratio)
                                              : fmt::format("1/{} of", 1 / d.ratio)));
  const std::int64_t factor = rounded_scale(s, tensor.parameter, d.ratios);
  if (factor > 0)
    return say("W24", fmt::format("every element is {} what it should be, but for rounding: a scale",
                                  d.ratios.most < 1 ? fmt::format("1/{} of", factor)
                                                    : fmt::format("{} times", factor)));
  if (d.has_other_step) return say("W6", "contributions of an earlier step are in the gradient of this one");
  if (d.has_nan) return say("W3", "the gradient is NaN: bytes that nobody wrote went into it");
  if (d.ratios.undecoded > 0) {
    const bool silent = has_silent_microbatch(s, tensor.parameter, tensor.step);
    return say(silent ? "W7" : "W1",
               fmt::format("{} of {} elements are no sum of contributions: foreign or undefined bytes",
                           d.ratios.undecoded, count));
  }
  if (!d.provenance.empty()) return say("W2", "a contribution does not enter the gradient exactly once");
  say("W1", "the gradient is not the sum of the contributions");
}

std::optional<WrongGradient> ValueJudge::judge(const TracedTensor& tensor, std::int32_t rank) const {
  const Difference d = difference_of(tensor, rank);
  if (d.wrong == 0) return std::nullopt;
  WrongGradient wrong{.finding = finding_about(trace_, tensor, rank)};
  Finding& finding = wrong.finding;
  classify(finding, tensor, d);
  const auto at = static_cast<std::size_t>(d.first);
  finding.element = tensor.first + d.first;
  finding.has_values = true;
  finding.expected = sighting_of(d.want[at], tensor.dtype);
  finding.actual = sighting_of(static_cast<double>(tensor.values[at]), tensor.dtype);
  // The digits of a scaled or shifted sum would only say that everything is counted otherwise.
  if (finding.clause != "W24") finding.provenance = d.provenance;
  if (finding.provenance.size() > kMostSentences) {
    const std::size_t more = finding.provenance.size() - kMostSentences;
    finding.provenance.resize(kMostSentences);
    finding.provenance.push_back(fmt::format("and {} more", more));
  }
  wrong.signatures = patterns_of(trace_, finding, tensor);
  return wrong;
}

std::vector<WrongGradient> ValueJudge::gradients() const {
  std::vector<WrongGradient> all;
  for (const RankTrace& rank : trace_.ranks) {
    for (const TracedTensor& tensor : rank.tensors) {
      if (tensor.what != Traced::gradient || !tensor.is_present) continue;
      if (auto wrong = judge(tensor, rank.rank)) all.push_back(std::move(*wrong));
    }
  }
  return all;
}

bool ValueJudge::lacks_gradient(const RankTrace& rank, const TracedTensor& parameter) const {
  std::int32_t present = 0;
  for (const TracedTensor& t : rank.tensors) {
    const bool is_its =
        t.what == Traced::gradient && t.parameter == parameter.parameter && t.step <= parameter.step;
    if (!is_its) continue;
    // Where nothing was contributed "no gradient" is as good as zeros.
    present += t.is_present || is_silent_step(trace_.audited.scenario, t.parameter, t.step) ||
               !parameter_of(trace_, t).trainable;
  }
  return present != parameter.step + 1;
}

std::vector<Finding> ValueJudge::parameters() const {
  std::vector<Finding> findings;
  std::map<std::int32_t, std::int32_t> spoilt;  // the first step with a wrong gradient, by parameter
  for (const WrongGradient& wrong : gradients()) {
    const auto known = spoilt.emplace(wrong.finding.parameter, wrong.finding.step).first;
    known->second = std::min(known->second, wrong.finding.step);
  }
  for (const RankTrace& rank : trace_.ranks) {
    for (const TracedTensor& tensor : rank.tensors) {
      if (tensor.what != Traced::parameter || !tensor.is_present) continue;
      if (!oracle_.exactness(tensor.parameter).is_exact || lacks_gradient(rank, tensor)) continue;
      if (spoilt.contains(tensor.parameter) && spoilt[tensor.parameter] <= tensor.step) continue;
      std::vector<double> want(tensor.values.size(), 0.0);
      for (std::int32_t step = 0; step <= tensor.step; ++step) {
        const auto gradient = wanted(tensor, rank.rank, step);
        for (std::size_t i = 0; i < want.size(); ++i) want[i] -= trace_.rate * gradient[i];
      }
      std::ranges::for_each(want, [&](double& value) { value = as_stored(value, tensor.dtype); });
      const auto same = [](float value, double wanted) { return static_cast<double>(value) == wanted; };
      const auto at = std::ranges::mismatch(tensor.values, want, same).in1 - tensor.values.begin();
      if (at == std::ssize(tensor.values)) continue;
      Finding finding = finding_about(trace_, tensor, rank.rank);
      const bool frozen = !parameter_of(trace_, tensor).trainable;
      finding.clause = frozen ? "W10" : "W32";
      finding.sentence = frozen
                             ? "a frozen parameter changed"
                             : "the gradients are right and the updated parameter is not: it must be minus "
                               "the rate times their sum";
      finding.element = tensor.first + at;
      finding.has_values = true;
      finding.expected = sighting_of(want[static_cast<std::size_t>(at)], tensor.dtype);
      finding.actual =
          sighting_of(static_cast<double>(tensor.values[static_cast<std::size_t>(at)]), tensor.dtype);
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace shardcheck
