#include "properties/cast_law/cast_property.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "core/error.h"
#include "core/numerics/decode.h"
#include "core/numerics/encode.h"
#include "core/shadow.h"
#include "properties/case_fields.h"
#include "properties/cast_law/cast_inputs.h"
#include "properties/cast_law/nearest_code.h"
#include "properties/cast_law/zoo.h"
#include "properties/fingerprint/one_op.h"
#include "properties/generate/draw.h"

namespace shardcheck::case_fields {

template <>
struct FieldsOf<CastCase> {
  template <class F>
  static void list(F& fields, CastCase& c) {
    fields("source", c.source);
    fields("destination", c.destination);
    fields("policy", c.policy);
    fields("inputs", c.inputs);
    fields("fault", c.fault);
  }
};

}  // namespace shardcheck::case_fields

namespace shardcheck {
namespace {

using namespace case_fields;

constexpr std::int64_t kMostInputs = std::int64_t{1} << 20;

const Format& format_in(DType type) {
  return format_of(*format_id_of(type));
}
NearestCode nearest_of(const CastCase& c) {
  return {format_in(c.destination), *cast_policy_named(c.policy)};
}
/// fp32 bits of an input.
std::uint32_t widened(const CastCase& c, std::int64_t input) {
  return std::bit_cast<std::uint32_t>(decode(format_in(c.source), static_cast<std::uint32_t>(input)));
}

// ---- Random inputs.

CastCase random_cast(Draw& draw) {
  CastCase c;
  c.source = draw.pick({DType::f32, DType::f32, DType::bf16, DType::f16});
  c.destination = draw.pick({DType::e4m3, DType::e5m2});
  c.policy = kCastPolicies[static_cast<std::size_t>(draw.below(std::ssize(kCastPolicies)))].name;
  const NearestCode nearest = nearest_of(c);
  constexpr int kInputs = 64;
  for (int i = 0; i < kInputs; ++i) {
    const std::uint32_t bits = draw_f32(draw, nearest);
    c.inputs.push_back(c.source == DType::f32 ? bits : encode(format_in(c.source), kIeee, bits));
  }
  return c;
}

void check(const CastCase& c, const std::string& where) {
  if (c.source != DType::f32 && c.source != DType::bf16 && c.source != DType::f16)
    throw bad_input(where + ".source", "expected f32, bf16 or f16");
  if (c.destination != DType::e4m3 && c.destination != DType::e5m2)
    throw bad_input(where + ".destination", "expected e4m3 or e5m2");
  if (!cast_policy_named(c.policy))
    throw bad_input(where + ".policy", fmt::format("\"{}\" is no policy, as nv_saturating is", c.policy));
  if (c.inputs.empty() || std::ssize(c.inputs) > kMostInputs)
    throw bad_input(where + ".inputs", fmt::format("expected 1 to {} codes", kMostInputs));
  if (!c.fault.empty() && find_cast_fault(c.fault) == nullptr)
    throw bad_input(where + ".fault", fmt::format("\"{}\" is no fault of casts", c.fault));
  const std::int64_t end = std::int64_t{1} << (8 * bytes_of(c.source));
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.inputs[i] >= end)
      throw bad_input(fmt::format("{}.inputs[{}]", where, i),
                      fmt::format("expected a code of {}", name_of(c.source)));
  }
}

constexpr CaseKind kKind = kind_of<CastOfInputs, random_cast, check>("cast");

// ---- The cast on a backend.

/// Codes of the inputs, or nothing where another process holds the rank.
std::vector<std::uint32_t> cast_by(Backend& backend, const CastCase& c) {
  const auto policy =
      std::ranges::find(kCastPolicies, c.policy, &NamedCastPolicy::name) - kCastPolicies.begin();
  const std::vector<std::uint32_t> inputs(c.inputs.begin(), c.inputs.end());
  constexpr std::uint32_t kUnwritten = 0xA5;
  const OpOperand operands[] = {
      on_one_rank(c.source, inputs),
      on_one_rank(c.destination, std::vector<std::uint32_t>(inputs.size(), kUnwritten))};
  const OpOperand codes = execute_op(backend, Cast{static_cast<std::int8_t>(policy)}, operands);
  return codes_of_bytes(c.destination, codes.ranks.front());
}

/// The same by the fault of the case.
std::vector<std::uint32_t> cast_by(const CastFault& fault, const CastCase& c) {
  std::vector<std::uint32_t> codes;
  for (const std::int64_t input : c.inputs)
    codes.push_back(fault.code(format_in(c.destination), *cast_policy_named(c.policy), widened(c, input)));
  return codes;
}

bool is_nan(std::uint32_t bits) {
  return (bits & 0x7fffffffu) > 0x7f800000u;
}
/// The three last runs of a policy are overflow, infinity and NaN.
bool overflows(const NearestCode& nearest, std::uint32_t bits) {
  return (bits & 0x7fffffffu) >= nearest.runs()[nearest.runs().size() - 3].first;
}

struct Seen {
  std::uint32_t bits;  ///< fp32
  std::uint8_t expected, actual;
};

std::string clause_of(const NearestCode& nearest, const Seen& seen) {
  if (is_nan(seen.bits)) return "F8";
  for (const FormatId middle : {FormatId::bf16, FormatId::f16}) {
    const std::uint32_t through = encode(format_of(middle), kIeee, seen.bits);
    if (nearest(std::bit_cast<std::uint32_t>(decode(format_of(middle), through))) == seen.actual)
      return "F12";
  }
  return overflows(nearest, seen.bits) ? "F7" : "F3";
}

Finding finding_of(const CastCase& c, const NearestCode& nearest, const Seen& seen) {
  const auto sighting = [&](std::uint8_t code) {
    return Sighting{static_cast<double>(decode(format_in(c.destination), code)), code, c.destination};
  };
  Finding finding{.clause = clause_of(nearest, seen)};
  finding.has_values = true;
  finding.expected = sighting(seen.expected);
  finding.actual = sighting(seen.actual);
  const Sighting source{static_cast<double>(std::bit_cast<float>(seen.bits)), seen.bits, DType::f32};
  finding.sentence = fmt::format("cast of {}, as {}, to {} by {}: expected {}, actual {}", to_text(source),
                                 name_of(c.source), name_of(c.destination), c.policy,
                                 to_text(finding.expected), to_text(finding.actual));
  return finding;
}

// The order of cast_situations().
constexpr std::size_t kFirstSource = 2, kFirstKind = 5, kFirstPolicy = 8;

std::vector<std::size_t> reached(const CastCase& c, const NearestCode& nearest) {
  const auto policy =
      std::ranges::find(kCastPolicies, c.policy, &NamedCastPolicy::name) - kCastPolicies.begin();
  std::vector<std::size_t> situations{c.destination == DType::e5m2 ? 1u : 0u,
                                      kFirstSource + static_cast<std::size_t>(c.source),
                                      kFirstPolicy + static_cast<std::size_t>(policy)};
  const auto any = [&](auto holds) {
    return std::ranges::any_of(c.inputs, [&](std::int64_t input) { return holds(widened(c, input)); });
  };
  if (any(is_nan)) situations.push_back(kFirstKind);
  if (any([&](std::uint32_t bits) { return !is_nan(bits) && overflows(nearest, bits); }))
    situations.push_back(kFirstKind + 1);
  const auto is_beside = [&](std::uint32_t bits) {
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    return std::ranges::any_of(nearest.runs(),
                               [&](const NearestCode::Run& run) { return magnitude == run.first; });
  };
  if (any(is_beside)) situations.push_back(kFirstKind + 2);
  return situations;
}

}  // namespace

const CaseKind& cast_kind() {
  return kKind;
}

std::string CastOfInputs::json() const {
  return json_of_case(kKind, value_);
}

std::string CastOfInputs::describe() const {
  std::string text = fmt::format("cast from {} to {} by {} of ", name_of(value_.source),
                                 name_of(value_.destination), value_.policy);
  if (value_.inputs.size() > 4) {
    text += fmt::format("{} inputs", value_.inputs.size());
  } else {
    for (std::size_t i = 0; i < value_.inputs.size(); ++i)
      text += fmt::format("{}{:#x}", i == 0 ? "" : ", ", value_.inputs[i]);
  }
  return value_.fault.empty() ? text : text + fmt::format(", with fault {} switched on", value_.fault);
}

std::vector<std::unique_ptr<Case>> CastOfInputs::smaller() const {
  std::vector<std::unique_ptr<Case>> all;
  const auto& inputs = value_.inputs;
  if (inputs.size() < 2) return all;
  const auto half = static_cast<std::ptrdiff_t>(inputs.size() / 2);
  for (const auto& [begin, end] :
       {std::pair{inputs.begin(), inputs.begin() + half}, std::pair{inputs.begin() + half, inputs.end()}}) {
    CastCase less = value_;
    less.inputs.assign(begin, end);
    all.push_back(std::make_unique<CastOfInputs>(std::move(less)));
  }
  return all;
}

const std::vector<std::string>& cast_situations() {
  static const std::vector<std::string> situations = [] {
    std::vector<std::string> all{"to e4m3",  "to e5m2", "from f32",    "from bf16",
                                 "from f16", "a NaN",   "an overflow", "the first number of a code"};
    for (const NamedCastPolicy& named : kCastPolicies) all.push_back(fmt::format("policy {}", named.name));
    return all;
  }();
  return situations;
}

JudgedCase judge_cast(Backend& backend, const Case& c) {
  const CastCase& value = static_cast<const CastOfInputs&>(c).value();
  const CastFault* fault = find_cast_fault(value.fault);
  const std::vector<std::uint32_t> actual =
      fault == nullptr ? cast_by(candidate_of(backend), value) : cast_by(*fault, value);
  const NearestCode nearest = nearest_of(value);
  JudgedCase judged{.findings = {}, .situations = reached(value, nearest)};
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const std::uint32_t bits = widened(value, value.inputs[i]);
    const auto expected = static_cast<std::uint8_t>(nearest(bits));
    if (expected == actual[i]) continue;
    Finding found = finding_of(value, nearest, {bits, expected, static_cast<std::uint8_t>(actual[i])});
    const bool is_known =
        std::ranges::any_of(judged.findings, [&](const Finding& f) { return f.clause == found.clause; });
    if (!is_known) judged.findings.push_back(std::move(found));
  }
  return judged;
}

}  // namespace shardcheck
