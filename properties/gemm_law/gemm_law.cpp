#include "properties/gemm_law/gemm_law.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/numerics/gemm.h"
#include "core/numerics/same_code.h"
#include "properties/gemm_law/execute.h"

namespace shardcheck {
namespace {

GemmProblem problem_of(const GemmCase& c, const GemmInputs& inputs) {
  const bool a_by_k = c.op.a == OperandLayout::transposed, b_by_k = c.op.b == OperandLayout::plain;
  const auto view = [&](DType type, std::span<const std::byte> codes, std::int64_t rows, bool by_k) {
    return OperandView{*format_id_of(type), codes, by_k ? c.op.k : 1, by_k ? 1 : rows};
  };
  return {
      .m = c.op.m,
      .n = c.op.n,
      .k = c.op.k,
      .a = view(c.a, inputs.a, c.op.m, a_by_k),
      .b = view(c.b, inputs.b, c.op.n, b_by_k),
      .scale_mode_a = static_cast<ScaleMode>(c.op.scales_a),
      .scale_mode_b = static_cast<ScaleMode>(c.op.scales_b),
      .scales_a = inputs.scales_a,
      .scales_b = inputs.scales_b,
      .alpha = c.op.alpha,
      .beta = c.op.accumulate ? GemmBeta::one : GemmBeta::zero,
      .output = c.d,
      .fast_accumulation = c.op.fast_accumulation ? FastAccumulation::on : FastAccumulation::off,
      .split_k = 1,
  };
}

Sighting sighting(DType type, std::span<const std::byte> bytes, std::int64_t at) {
  const std::uint32_t code = code_at(type, bytes, at);
  return {value_of_code(type, code), code, type};
}

Finding finding_of(const ArithmeticProfile& profile, const GemmCase& c, const BytesPair& outputs) {
  const Differing found = differing(c.d, outputs);
  Finding finding;
  finding.clause = "F66";
  name_op(finding, plan_of(c), OpIndex{0});
  finding.rank = 0;
  finding.element = found.first;
  finding.has_values = true;
  finding.expected = sighting(c.d, outputs.expected, found.first);
  finding.actual = sighting(c.d, outputs.actual, found.first);
  finding.sentence = fmt::format(
      "GEMM {}: row {}, column {}: profile {} expects {}, actual {}; {} of {} outputs differ. The row of the "
      "model: {}",
      describe(c), found.first % c.op.m, found.first / c.op.m, profile.name, to_text(finding.expected),
      to_text(finding.actual), found.count, c.op.m * c.op.n, model_row(profile, c));
  return finding;
}

}  // namespace

std::optional<std::string> unsupported_reason(const ArithmeticProfile& profile, const GemmCase& c) {
  return unsupported_reason(profile, problem_of(c, {}));
}

std::vector<std::byte> gemm_by_profile(const ArithmeticProfile& profile, const GemmCase& c,
                                       const GemmInputs& inputs) {
  std::vector<std::byte> d = inputs.c;
  gemm(profile, problem_of(c, inputs), d, d);
  return d;
}

std::vector<Finding> gemm_equals_profile(Backend& candidate, const GemmCase& c) {
  const BackendInfo info = candidate.info();
  const ArithmeticProfile* profile = profile_named(info.profile);
  if (profile == nullptr) {
    throw Error(ErrorKind::machine_cannot,
                fmt::format("{}: the arithmetic of this machine's GEMMs has no profile (\"{}\"), so that F66 "
                            "says nothing about it",
                            info.name, info.profile));
  }
  return gemm_equals_profile(candidate, c, *profile);
}

std::vector<Finding> gemm_equals_profile(Backend& candidate, const GemmCase& c,
                                         const ArithmeticProfile& profile) {
  const GemmInputs inputs = inputs_of(c);
  const std::vector<std::byte> actual = execute_gemm(candidate, c, inputs);
  if (actual.empty()) return {};  // another process has it
  const std::vector<std::byte> expected = gemm_by_profile(profile, c, inputs);
  const BytesPair outputs{expected, actual};
  if (differing(c.d, outputs).count == 0) return {};
  return {finding_of(profile, c, outputs)};
}

}  // namespace shardcheck
