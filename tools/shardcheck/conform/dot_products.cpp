// Recorded dot products of FP8 codes (fp8 9, gemm_accumulator): the correctly rounded one, and those of the
// Hopper accumulator with and without promotion.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "core/numerics/gemm.h"
#include "tools/shardcheck/conform/conform.h"
#include "tools/shardcheck/conform/json_fields.h"
#include "tools/shardcheck/conform/recorded_cast.h"

namespace shardcheck {
namespace {

struct Operand {
  FormatId format;
  std::vector<std::uint8_t> codes;
};

Operand operand(const JsonFields& entry, const std::string& name, std::int64_t k) {
  const auto format = recorded_format(entry.text(name + "_format"));
  if (!format || format_of(*format).width() != 8) entry.refuse(name + "_format", "e4m3fn or e5m2");
  Operand result{*format, entry.bytes(name)};
  if (std::ssize(result.codes) != k) entry.refuse(name, fmt::format("{} codes", k));
  return result;
}

struct Column {
  const char* name;
  const ArithmeticProfile& profile;
  FastAccumulation fast;
};
constexpr Column kColumns[] = {{"ideal_rn_fp32_bits", kIdeal, FastAccumulation::off},
                               {"promote128_fp32_bits", kHopper, FastAccumulation::off},
                               {"no_promotion_fp32_bits", kHopper, FastAccumulation::on}};

}  // namespace

std::optional<ConformReport> conform_dot_products(const std::filesystem::path& json_file) {
  const nlohmann::json document = json_document(json_file);
  if (!document.is_object() || !document.contains("model") || !document.contains("cases"))
    return std::nullopt;
  ConformReport report{.file = json_file.string(), .kind = "recorded dot products"};
  for (const JsonFields& entry : JsonFields(document, json_file.string() + ": ").objects("cases")) {
    const std::int64_t k = entry.integer("k", 1);
    const Operand a = operand(entry, "a", k), b = operand(entry, "b", k);
    for (const Column& column : kColumns) {
      const std::uint32_t recorded = entry.hex32(column.name);
      const GemmProblem problem{.m = 1,
                                .n = 1,
                                .k = k,
                                .a = {a.format, std::as_bytes(std::span(a.codes)), k, 1},
                                .b = {b.format, std::as_bytes(std::span(b.codes)), k, 1},
                                .scale_mode_a = ScaleMode::none,
                                .scale_mode_b = ScaleMode::none,
                                .alpha = 1,
                                .beta = GemmBeta::zero,
                                .output = DType::f32,
                                .fast_accumulation = column.fast,
                                .split_k = 1};
      ++report.cases;
      if (unsupported_reason(column.profile, problem)) {
        ++report.unsupported;
        continue;
      }
      std::array<std::byte, 4> bytes{};
      gemm(column.profile, problem, {}, bytes);
      const auto computed = std::bit_cast<std::uint32_t>(bytes);
      if (computed == recorded) {
        ++report.agreements;
      } else {
        report.disagreements.push_back({fmt::format("{} {}", entry.text("name"), column.name),
                                        fmt::format("recorded 0x{:08x}, profile {} gives 0x{:08x}", recorded,
                                                    column.profile.name, computed)});
      }
    }
  }
  return report;
}

}  // namespace shardcheck
