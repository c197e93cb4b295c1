#include "sim/oracle/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/numerics/narrow.h"
#include "sim/oracle/exactness.h"
#include "sim/oracle/provenance.h"

namespace shardcheck {
namespace {

constexpr std::size_t kMostFindings = 16;
/// Elements of a parameter that are checked at a time, so that real models need no copy of themselves in
/// double.
constexpr std::int64_t kBlock = std::int64_t{1} << 20;

void widen(std::span<const std::byte> bytes, DType type, std::vector<float>& values) {
  values.resize(bytes.size() / static_cast<std::size_t>(bytes_of(type)));
  if (type == DType::f32) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t code = 0;
    std::memcpy(&code, bytes.data() + 2 * i, sizeof(code));
    values[i] = type == DType::bf16 ? bf16_to_f32(code) : f16_to_f32(code);
  }
}

std::uint32_t bits_at(std::span<const std::byte> bytes, DType type, std::size_t index) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * static_cast<std::size_t>(bytes_of(type)),
              static_cast<std::size_t>(bytes_of(type)));
  return bits;
}

std::uint32_t bits_of(double value, DType type) {
  const auto f = static_cast<float>(value);
  if (type == DType::bf16) return f32_to_bf16(f);
  if (type == DType::f16) return f32_to_f16(f);
  return std::bit_cast<std::uint32_t>(f);
}

/// Mixes eight bytes a step; not cryptographic, only to tell two runs apart.
std::uint64_t mix(std::uint64_t hash, std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
    hash = std::rotl((hash ^ word) * 0x9E3779B97F4A7C15u, 29);
  }
  return hash;
}

/// actual / expected where it is the same for all elements, else 0.
double common_ratio(std::span<const double> expected, std::span<const float> actual) {
  double ratio = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = static_cast<double>(actual[i]);
    if (expected[i] == 0 && value == 0) continue;
    if (expected[i] == 0 || value == 0 || (ratio != 0 && value != ratio * expected[i])) return 0;
    ratio = value / expected[i];
  }
  return ratio;
}

}  // namespace

ValueChecker::ValueChecker(const Scenario& scenario, const ScenarioData& data, const Planned& planned)
    : scenario_(scenario), data_(data), planned_(planned), oracle_(scenario, data) {
  owned_.resize(scenario.parameters.size());
  for (const Placement& p : planned.plan.owned)
    owned_[static_cast<std::size_t>(p.parameter.value)].push_back(p);
}

void ValueChecker::read_outputs(Backend& backend) {
  for (const OutputSlot& slot : planned_.outputs) {
    bytes_.resize(static_cast<std::size_t>(slot.view.numel * bytes_of(DType::bf16)));
    for (std::int32_t r = 0; r < planned_.plan.ranks; ++r) {
      if (!backend.holds(planned_.plan, Rank{r})) continue;
      backend.read(planned_.plan, Rank{r}, slot.view, bytes_);
      fingerprint_ = mix(fingerprint_, bytes_);
    }
  }
}

void ValueChecker::check(std::int32_t step, Backend& backend) {
  read_outputs(backend);
  for (std::size_t p = 0; p < owned_.size(); ++p) {
    const ScenarioParameter& parameter = scenario_.parameters[p];
    if (parameter.numel() == 0) continue;
    const std::int64_t block = std::max<std::int64_t>(1, kBlock / parameter.columns());
    for (std::int64_t row = 0; row < parameter.rows(); row += block) {
      check_rows(static_cast<std::int32_t>(p), step, {row, std::min(row + block, parameter.rows())}, backend);
    }
  }
}

/// The lowest rank of the stage whose gradient of the parameter is in the sum that this rank owns a part of.
std::int32_t ValueChecker::first_of_sum(std::int32_t parameter, Rank rank) const {
  const Scenario& s = scenario_;
  const bool expert = s.parameters[static_cast<std::size_t>(parameter)].expert;
  const std::int32_t inside = rank.value % stage_size(s), cell = inside / s.ranks * s.ranks;
  return (tensor_copies(s, parameter) > 1 ? 0 : cell) + (expert ? inside % s.expert_parallel : 0);
}

void ValueChecker::check_rows(std::int32_t parameter, std::int32_t step, Rows rows, Backend& backend) {
  const std::int64_t columns = scenario_.parameters[static_cast<std::size_t>(parameter)].columns();
  const std::int64_t lo = rows.first * columns, hi = rows.last * columns;
  Expected expected;
  std::int32_t known = -1;  // the first rank of the sum that `expected` is for
  for (const Placement& owned : owned_[static_cast<std::size_t>(parameter)]) {
    const std::int64_t first = std::max(lo, owned.first);
    const std::int64_t last = std::min(hi, owned.first + owned.view.numel);
    if (first >= last || !backend.holds(planned_.plan, owned.rank)) continue;
    const std::int32_t summed_with = first_of_sum(parameter, owned.rank);
    if (summed_with != known) expected = oracle_.expected(parameter, step, owned.rank.value, rows);
    known = summed_with;
    Placement part = owned;
    part.view.offset += first - owned.first;
    part.view.numel = last - first;
    part.first = first;
    compare(part, step, lo, expected, backend);
  }
}

bool ValueChecker::differs(std::int32_t parameter, double expected, double magnitude, double actual) {
  const Exactness& exactness = oracle_.exactness(parameter);
  if (exactness.is_exact) return actual != expected;  // -0 and +0 are equal values (wgrad 8.6)
  const double bound = exactness.growth * magnitude + exactness.underflow;
  const double error = std::fabs(actual - expected);
  if (!(error <= bound)) return true;
  budget_used_ = std::max(budget_used_, error / bound);
  return false;
}

void ValueChecker::compare(const Placement& owned, std::int32_t step, std::int64_t first_element,
                           const Expected& expected, Backend& backend) {
  const DType type = planned_.plan.buffer(owned.view.buffer).dtype;
  bytes_.resize(static_cast<std::size_t>(owned.view.numel) * static_cast<std::size_t>(bytes_of(type)));
  backend.read(planned_.plan, owned.rank, owned.view, bytes_);
  fingerprint_ = mix(fingerprint_, bytes_);
  widen(bytes_, type, values_);
  const auto offset = static_cast<std::size_t>(owned.first - first_element);
  const double* want = expected.value.data() + offset;
  if (expected.magnitude.empty()) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) wrong += static_cast<double>(values_[i]) != want[i];
    if (wrong == 0) return;
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const double magnitude = expected.magnitude.empty() ? 0 : expected.magnitude[offset + i];
    const double actual = static_cast<double>(values_[i]);
    if (!differs(owned.parameter.value, want[i], magnitude, actual)) continue;
    Difference difference{owned.first + static_cast<std::int64_t>(i), want[i], actual};
    difference.ratio = common_ratio({want, values_.size()}, values_);
    difference.is_all_zero = std::all_of(values_.begin(), values_.end(), [](float v) { return v == 0; });
    difference.bits = bits_at(bytes_, type, i);
    report(owned, step, difference);
    return;
  }
}

namespace {

bool is_silent_step(const Scenario& s, std::int32_t parameter, std::int32_t step, std::int32_t rank) {
  for (const Contributor& from : contributors(s, parameter, rank)) {
    for (std::int32_t m = 0; m < s.microbatches; ++m) {
      if (is_used(s, from.parameter, step, from.rank, m)) return false;
    }
  }
  return true;
}

/// A whole multiple, or a whole part: that rules out rounding and names a scale. In provenance data scales
/// are powers of two; another part, as 1/5 of 1 + 4, is a lost contribution in an element that has no other.
bool is_scale(double ratio, DataMode data) {
  if (!(ratio > 0) || ratio == 1) return false;
  const double whole = ratio > 1 ? ratio : 1 / ratio;
  if (whole > 4096 || whole != std::round(whole)) return false;
  return data != DataMode::provenance || std::has_single_bit(static_cast<std::uint64_t>(whole));
}

}  // namespace

void ValueChecker::report(const Placement& owned, std::int32_t step, const Difference& difference) {
  if (findings_.size() == kMostFindings) return;
  const std::int32_t parameter = owned.parameter.value;
  const ScenarioParameter& p = scenario_.parameters[static_cast<std::size_t>(parameter)];
  const DType type = planned_.plan.buffer(owned.view.buffer).dtype;
  Finding finding{.clause = "W1",
                  .sentence = "the gradient that the consumer reads is not the sum of the contributions"};
  finding.rank = owned.rank.value;
  finding.step = step;
  finding.parameter = parameter;
  finding.parameter_name = p.name;
  finding.element = difference.element;
  finding.has_values = true;
  finding.expected = {difference.expected, bits_of(difference.expected, type), type};
  finding.actual = {difference.actual, difference.bits, type};
  const double scale = oracle_.scale_of(parameter), ratio = difference.ratio;
  auto wrong = oracle_.exactness(parameter).is_exact
                   ? decode(scenario_, data_, parameter, step, owned.rank.value, difference.element,
                            difference.actual, scale)
                   : std::nullopt;
  if (is_silent_step(scenario_, parameter, step, owned.rank.value)) {
    finding.clause = "W8";
    finding.sentence = "a parameter that nobody used in this step has a gradient";
  } else if (difference.is_all_zero) {
    finding.sentence = "no contribution at all reaches the gradient";
  } else if (is_scale(ratio, scenario_.data)) {
    finding.clause = "W24";
    finding.sentence =
        fmt::format("every element is {} what it should be, exactly: a scale, not rounding",
                    ratio > 1 ? fmt::format("{} times", ratio) : fmt::format("1/{} of", 1 / ratio));
    wrong.reset();  // the digits would say that everything is counted so many times
  } else if (wrong && !wrong->empty()) {
    finding.clause = "W2";
    finding.sentence = "a contribution does not enter the gradient exactly once";
  } else if (std::isnan(difference.actual)) {
    finding.sentence = "the gradient is NaN: bytes that nobody wrote (poison) went into it";
  }
  if (wrong) {
    for (const Multiplicity& m : *wrong)
      finding.provenance.push_back(to_text(m, data_.uses_of(m.key.parameter)));
  }
  if (p.groups > 1)
    finding.sentence += fmt::format(" (expert {} of the weight)", group_of(p, difference.element));
  findings_.push_back(std::move(finding));
}

}  // namespace shardcheck
