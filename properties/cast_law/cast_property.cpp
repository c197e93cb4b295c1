#include "properties/cast_law/cast_property.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "core/error.h"
#include "core/numerics/decode.h"
#include "core/numerics/encode.h"
#include "core/plan/builder.h"
#include "core/shadow.h"
#include "properties/case_fields.h"
#include "properties/cast_law/nearest_code.h"
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

/// Near a place where the code changes; a power of two and its neighbours; anything.
std::uint32_t draw_f32(Draw& draw, const NearestCode& nearest) {
  const std::uint32_t sign = draw.chance(50) ? 0x80000000u : 0;
  const auto step = static_cast<std::uint32_t>(draw.below(5) - 2);
  switch (draw.below(8)) {
    case 0: return draw.word();
    case 1: return sign | ((static_cast<std::uint32_t>(draw.below(255)) << 23) + step);
    case 2:
      return sign | draw.pick({0x7f800000u, 0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0x7f7fffffu, 1u, 0u});
    default: {
      const auto& runs = nearest.runs();
      const std::uint32_t first = runs[static_cast<std::size_t>(draw.below(std::ssize(runs)))].first;
      return sign | ((first + step) & 0x7fffffffu);
    }
  }
}

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
  const std::int64_t end = std::int64_t{1} << (8 * bytes_of(c.source));
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.inputs[i] >= end)
      throw bad_input(fmt::format("{}.inputs[{}]", where, i),
                      fmt::format("expected a code of {}", name_of(c.source)));
  }
}

std::unique_ptr<Case> draw_case(CaseNumber number) {
  Draw draw(number.seed, number.number);
  return std::make_unique<CastOfInputs>(random_cast(draw));
}

std::unique_ptr<Case> read_case(const std::string& json, const std::string& where) {
  constexpr int kDepth = 3;
  const JsonValue root = checkpoint::parse_object(json, where, kDepth);
  const Place place{root, where};
  CastCase c;
  std::string kind;
  Reader reader{place, {}};
  reader("kind", kind);
  FieldsOf<CastCase>::list(reader, c);
  reader.refuse_unknown();
  check(c, where);
  return std::make_unique<CastOfInputs>(std::move(c));
}

constexpr CaseKind kKind{"cast", draw_case, read_case};

// ---- The cast on a backend.

/// Codes of the inputs, or nothing where another process holds the rank.
std::vector<std::uint8_t> cast_by(Backend& backend, const CastCase& c) {
  Plan plan;
  PlanBuilder build(plan);
  const auto numel = std::ssize(c.inputs);
  const View source = build.whole(build.buffer("source", BufferRole::inputs, c.source, numel));
  const View codes = build.whole(build.buffer("codes", BufferRole::inputs, c.destination, numel));
  const auto policy =
      std::ranges::find(kCastPolicies, c.policy, &NamedCastPolicy::name) - kCastPolicies.begin();
  const Rank rank{0};
  build.op(Cast{static_cast<std::int8_t>(policy)}, {}, Stream::compute, std::span(&rank, 1))
      .on(source)
      .on(codes);

  const auto size = static_cast<std::size_t>(bytes_of(c.source));
  std::vector<std::byte> bytes(c.inputs.size() * size);
  for (std::size_t i = 0; i < c.inputs.size(); ++i) std::memcpy(bytes.data() + i * size, &c.inputs[i], size);
  constexpr std::uint8_t kUnwritten = 0xA5;
  std::vector<std::uint8_t> result(c.inputs.size(), kUnwritten);
  const bool is_here = backend.holds(plan, rank);
  if (is_here) {
    backend.write(plan, rank, source, bytes);
    backend.write(plan, rank, codes, std::as_bytes(std::span(result)));
  }
  backend.execute(plan, OpIndex{0}, OpIndex{1});
  if (!is_here) return {};
  backend.read(plan, rank, codes, std::as_writable_bytes(std::span(result)));
  return result;
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
  ordered_json json = {{"kind", "cast"}};
  json.update(written(value_));
  return json.dump(1) + "\n";
}

std::string CastOfInputs::describe() const {
  std::string text = fmt::format("cast from {} to {} by {} of ", name_of(value_.source),
                                 name_of(value_.destination), value_.policy);
  if (value_.inputs.size() > 4) return text + fmt::format("{} inputs", value_.inputs.size());
  for (std::size_t i = 0; i < value_.inputs.size(); ++i)
    text += fmt::format("{}{:#x}", i == 0 ? "" : ", ", value_.inputs[i]);
  return text;
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
  auto* shadow = dynamic_cast<Shadow*>(&backend);
  const std::vector<std::uint8_t> actual = cast_by(shadow == nullptr ? backend : shadow->candidate(), value);
  const NearestCode nearest = nearest_of(value);
  JudgedCase judged{.findings = {}, .situations = reached(value, nearest)};
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const std::uint32_t bits = widened(value, value.inputs[i]);
    const auto expected = static_cast<std::uint8_t>(nearest(bits));
    if (expected == actual[i]) continue;
    Finding found = finding_of(value, nearest, {bits, expected, actual[i]});
    const bool is_known =
        std::ranges::any_of(judged.findings, [&](const Finding& f) { return f.clause == found.clause; });
    if (!is_known) judged.findings.push_back(std::move(found));
  }
  return judged;
}

}  // namespace shardcheck
