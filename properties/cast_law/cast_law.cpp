#include "properties/cast_law/cast_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/numerics/decode.h"
#include "core/plan/builder.h"
#include "properties/cast_law/digest.h"

namespace shardcheck {
namespace {

constexpr std::uint64_t kAllInputs = std::uint64_t{1} << 32;
constexpr std::int64_t kInputsAtOnce = std::int64_t{1} << 22;

const Format& format_in(DType type) {
  return format_of(*format_id_of(type));
}

struct Question {
  DType destination;
  std::int8_t policy;

  const NamedCastPolicy& named() const { return kCastPolicies[static_cast<std::size_t>(policy)]; }
  NearestCode codes() const { return {format_in(destination), named().policy}; }
};

std::vector<Question> all_questions() {
  std::vector<Question> questions;
  for (DType destination : {DType::e4m3, DType::e5m2}) {
    for (std::size_t policy = 0; policy < kCastPolicies.size(); ++policy) {
      questions.push_back({destination, static_cast<std::int8_t>(policy)});
    }
  }
  return questions;
}

/// Which law speaks of the input.
std::string clause_of(const Question& question, std::uint32_t input) {
  const std::uint32_t magnitude = input & 0x7FFFFFFFu;
  const auto& runs = question.codes().runs();
  const std::uint32_t overflows_from = runs[runs.size() - 3].first;
  if (magnitude > 0x7F800000u) return "F8";
  return magnitude >= overflows_from ? "F7" : "F3";
}

struct Seen {
  std::uint32_t input;
  std::uint8_t expected, actual;
};

Finding finding_of(const Question& question, const Seen& seen, const std::string& how_many) {
  Finding finding;
  const Format& format = format_in(question.destination);
  const auto sighting = [&](std::uint8_t code) {
    return Sighting{decode(format, code), code, question.destination};
  };
  const Sighting source{std::bit_cast<float>(seen.input), seen.input, DType::f32};
  finding.clause = clause_of(question, seen.input);
  finding.has_values = true;
  finding.expected = sighting(seen.expected);
  finding.actual = sighting(seen.actual);
  finding.sentence =
      fmt::format("cast of {} to {} by {}: expected {}, actual {}; {}", to_text(source), format.name,
                  question.named().name, to_text(finding.expected), to_text(finding.actual), how_many);
  return finding;
}

/// Thresholds and their neighbours on both sides of zero.
std::vector<std::uint32_t> corners_of(const NearestCode& codes) {
  std::vector<std::uint32_t> corners;
  for (const NearestCode::Run& run : codes.runs()) {
    for (int step = -2; step <= 2; ++step) {
      const std::uint32_t magnitude = (run.first + static_cast<std::uint32_t>(step)) & 0x7FFFFFFFu;
      corners.push_back(magnitude);
      corners.push_back(magnitude | 0x80000000u);
    }
  }
  return corners;
}

/// Casts `inputs` on the backend.
std::vector<std::uint8_t> cast_by(Backend& candidate, const Question& question,
                                  std::span<const std::uint32_t> inputs) {
  Plan plan;
  PlanBuilder build(plan);
  const auto numel = std::ssize(inputs);
  const View source = build.whole(build.buffer("source", BufferRole::inputs, DType::f32, numel));
  const View codes = build.whole(build.buffer("codes", BufferRole::inputs, question.destination, numel));
  const Rank rank{0};
  build.op(Cast{question.policy}, {}, Stream::compute, std::span(&rank, 1)).on(source).on(codes);
  std::vector<std::uint8_t> result(inputs.size(), 0xA5);
  candidate.write(plan, rank, source, std::as_bytes(inputs));
  candidate.write(plan, rank, codes, std::as_bytes(std::span(result)));
  candidate.execute(plan, OpIndex{0}, OpIndex{1});
  candidate.read(plan, rank, codes, std::as_writable_bytes(std::span(result)));
  return result;
}

/// Differences of one question, gathered over many executions.
struct Differences {
  const Question& question;
  const NearestCode codes;
  std::int64_t inputs = 0, count = 0;
  Seen first{};

  void look_at(Backend& candidate, std::span<const std::uint32_t> chosen) {
    const std::vector<std::uint8_t> actual = cast_by(candidate, question, chosen);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::uint8_t expected = codes(chosen[i]);
      if (expected == actual[i]) continue;
      if (count++ == 0) first = {chosen[i], expected, actual[i]};
    }
    inputs += std::ssize(chosen);
  }
};

}  // namespace

std::vector<Finding> all_fp32_casts(Backend& candidate, CastInputs inputs) {
  SC_ASSERT(inputs.stride > 0, "a stride is positive");
  std::vector<Finding> findings;
  for (const Question& question : all_questions()) {
    Differences differences{question, question.codes()};
    differences.look_at(candidate, corners_of(differences.codes));
    std::vector<std::uint32_t> chosen;
    for (std::uint64_t input = 0; input < kAllInputs; input += inputs.stride) {
      chosen.push_back(static_cast<std::uint32_t>(input));
      if (std::ssize(chosen) < kInputsAtOnce && input + inputs.stride < kAllInputs) continue;
      differences.look_at(candidate, chosen);
      chosen.clear();
    }
    if (differences.count == 0) continue;
    findings.push_back(
        finding_of(question, differences.first,
                   fmt::format("{} of {} inputs differ", differences.count, differences.inputs)));
  }
  return findings;
}

std::vector<Finding> all_fp32_casts(const CastSweeper& sweep) {
  std::vector<Finding> findings;
  for (const Question& question : all_questions()) {
    const SweptCasts swept = sweep(question.destination, question.policy);
    if (swept.differences != 0) {
      findings.push_back(finding_of(question, {swept.input, swept.expected, swept.actual},
                                    fmt::format("{} of 2^32 inputs differ", swept.differences)));
      continue;
    }
    const std::uint64_t expected = cast_digest(question.codes());
    if (swept.digest == expected) continue;
    Finding finding;
    finding.clause = "F3";
    finding.sentence = fmt::format(
        "casts of all fp32 numbers to {} by {}: the machine saw no difference from its own rule, but the "
        "digest of its codes is {:#018x} where the definition's is {:#018x}",
        name_of(question.destination), question.named().name, swept.digest, expected);
    findings.push_back(finding);
  }
  return findings;
}

}  // namespace shardcheck
