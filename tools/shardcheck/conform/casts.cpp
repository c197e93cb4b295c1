// Recorded casts (fp8 9): tables with one input a line, and planes of 65,536 bytes with one byte for every
// 16-bit input, which are recognised by their name (bf16_to_..., fp16_to_...) and size.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>

#include "core/error.h"
#include "core/numerics/cast_chain.h"
#include "core/numerics/decode.h"
#include "tools/shardcheck/conform/conform.h"
#include "tools/shardcheck/conform/csv_table.h"
#include "tools/shardcheck/conform/recorded_cast.h"

namespace shardcheck {
namespace {

/// Counts a case: it agrees when nothing disagreed.
void close_case(ConformReport& report, Disagreement found) {
  ++report.cases;
  if (found.sentence.empty()) {
    ++report.agreements;
  } else {
    report.disagreements.push_back(std::move(found));
  }
}

struct Codes {
  std::uint32_t recorded, computed;
};
/// Appends a sentence where the two differ.
void compare(std::string& sentence, std::string_view what, Codes codes) {
  if (codes.recorded == codes.computed) return;
  sentence += fmt::format("{}{}: recorded 0x{:02x}, computed 0x{:02x}", sentence.empty() ? "" : "; ", what,
                          codes.recorded, codes.computed);
}

/// fp32 bits of a 16-bit input.
std::uint32_t widened(FormatId source, std::uint32_t code) {
  return std::bit_cast<std::uint32_t>(decode(format_of(source), code));
}

/// Inputs in column `first - 1`, one cast a column from `first` on.
std::optional<ConformReport> cast_table(const CsvTable& table, std::size_t first, FormatId source) {
  ConformReport report{.kind = "recorded casts"};
  std::vector<RecordedCast> casts;
  for (std::size_t c = first; c < table.columns().size(); ++c) {
    const auto cast = recorded_cast(table.columns()[c]);
    if (!cast)
      throw bad_input("a table of casts", fmt::format("column \"{}\" names no cast", table.columns()[c]));
    casts.push_back(*cast);
  }
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Disagreement found{table.text(row, 0), ""};
    const std::uint32_t input = table.hex(row, first - 1);
    if (source != FormatId::f32 && input > 0xffff) table.refuse(row, first - 1, "four hexadecimal digits");
    const std::uint32_t bits = widened(source, input);
    for (std::size_t c = 0; c < casts.size(); ++c)
      compare(found.sentence, table.columns()[first + c],
              {table.hex(row, first + c), casts[c].code_of(bits)});
    close_case(report, std::move(found));
  }
  return report;
}

/// fp32_bits, format, via, direct_byte, double_rounded_byte.
std::optional<ConformReport> double_roundings(const CsvTable& table) {
  ConformReport report{.kind = "recorded double roundings"};
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto last = recorded_format(table.text(row, 1));
    if (!last) table.refuse(row, 1, "a format");
    const auto middle = format_named(table.text(row, 2) == "fp16" ? "f16" : table.text(row, 2));
    if (!middle) table.refuse(row, 2, "bf16 or fp16");
    const CastStep steps[] = {{*middle, kIeee}, {*last, kNvSaturating}};
    const std::uint32_t input = table.hex(row, 0);
    Disagreement found{fmt::format("{} to {}", table.text(row, 0), table.text(row, 1)), ""};
    compare(found.sentence, "direct", {table.hex(row, 3), encode_through(std::span(steps).last(1), input)});
    compare(found.sentence, "through " + table.text(row, 2),
            {table.hex(row, 4), encode_through(steps, input)});
    close_case(report, std::move(found));
  }
  return report;
}

/// The exact value of a code as the tables write it: "-3/512", "448", "-0", "+inf", "nan".
std::string exact_text(const Format& format, std::uint32_t code) {
  const float value = decode(format, code);
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "+inf";
  if (value == 0) return std::signbit(value) ? "-0" : "0";
  // Every number of these formats is an integer times 2^-17.
  constexpr std::int64_t kDenominator = std::int64_t{1} << 17;
  const auto numerator = static_cast<std::int64_t>(std::ldexp(static_cast<double>(value), 17));
  const std::int64_t divisor = std::gcd(numerator, kDenominator);
  if (divisor == kDenominator) return fmt::format("{}", numerator / divisor);
  return fmt::format("{}/{}", numerator / divisor, kDenominator / divisor);
}

/// code, then one format a column; "e8m0_exponent" holds an exponent. An empty field is a code that the
/// format does not have.
std::optional<ConformReport> decoded_codes(const CsvTable& table) {
  ConformReport report{.kind = "recorded values of codes"};
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::uint32_t code = table.hex(row, 0);
    Disagreement found{table.text(row, 0), ""};
    for (std::size_t c = 1; c < table.columns().size(); ++c) {
      const std::string& recorded = table.text(row, c);
      if (recorded.empty()) continue;
      const bool exponent = table.columns()[c] == "e8m0_exponent";
      const auto id = exponent ? FormatId::e8m0 : recorded_format(table.columns()[c]);
      if (!id)
        throw bad_input("a table of codes", fmt::format("column \"{}\" names no format", table.columns()[c]));
      const Format& format = format_of(*id);
      if (code >= format.code_count()) table.refuse(row, c, "an empty field: the format has no such code");
      const std::string computed = exponent && !format.is_nan(code)
                                       ? fmt::format("{}", std::ilogb(decode(format, code)))
                                       : exact_text(format, code);
      if (computed != recorded)
        found.sentence +=
            fmt::format("{} recorded {}, computed {}; ", table.columns()[c], recorded, computed);
    }
    close_case(report, std::move(found));
  }
  return report;
}

struct Planes {
  std::string_view name;
  FormatId source;
  std::array<std::string_view, 7> casts;  ///< empty past the last plane
};
constexpr Planes kPlanes[] = {
    {"bf16_to_fp8", FormatId::bf16, {"e4m3_sat", "e4m3_nosat", "e5m2_sat", "e5m2_nosat"}},
    {"bf16_to_other",
     FormatId::bf16,
     {"e4m3fnuz_sat", "e5m2fnuz_sat", "e2m1", "e3m2", "e2m3", "e8m0_rp_sat", "e8m0_rz_sat"}},
    {"fp16_to_fp8", FormatId::f16, {"e4m3_sat", "e4m3_nosat", "e5m2_sat", "e5m2_nosat"}},
};
constexpr std::size_t kInputs = 65536;

ConformReport compared_planes(const Planes& planes, const std::string& bytes) {
  ConformReport report{.kind = "recorded casts of all 16-bit numbers"};
  for (std::size_t plane = 0; plane * kInputs < bytes.size(); ++plane) {
    const RecordedCast cast = *recorded_cast(planes.casts[plane]);
    for (std::uint32_t input = 0; input < kInputs; ++input) {
      Disagreement found{fmt::format("{} {:04x}", planes.casts[plane], input), ""};
      const auto recorded = static_cast<std::uint8_t>(bytes[plane * kInputs + input]);
      compare(found.sentence, "code", {recorded, cast.code_of(widened(planes.source, input))});
      close_case(report, std::move(found));
    }
  }
  return report;
}

}  // namespace

std::optional<ConformReport> conform_casts(const std::filesystem::path& csv_file) {
  CsvTable table(csv_file);
  const auto& columns = table.columns();
  const auto begins = [&](std::initializer_list<std::string_view> names) {
    return columns.size() > names.size() && std::equal(names.begin(), names.end(), columns.begin());
  };
  std::optional<ConformReport> (*compared)(const CsvTable&) = nullptr;
  if (begins({"bf16", "e4m3_sat"}))
    compared = [](const CsvTable& t) { return cast_table(t, 1, FormatId::bf16); };
  if (begins({"label", "fp32_bits"}))
    compared = [](const CsvTable& t) { return cast_table(t, 2, FormatId::f32); };
  if (begins({"fp32_bits", "rp_satfinite"}))
    compared = [](const CsvTable& t) { return cast_table(t, 1, FormatId::f32); };
  if (begins({"fp32_bits", "format", "via"})) compared = double_roundings;
  if (begins({"code", "e4m3fn"})) compared = decoded_codes;
  if (compared == nullptr) return std::nullopt;
  table.read_rows();
  auto report = compared(table);
  report->file = csv_file.string();
  return report;
}

std::optional<ConformReport> conform_cast_planes(const std::filesystem::path& bin_file) {
  for (const Planes& planes : kPlanes) {
    if (bin_file.stem() != planes.name) continue;
    std::ifstream file(bin_file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    std::size_t wanted = 0;
    for (const std::string_view cast : planes.casts) wanted += cast.empty() ? 0 : kInputs;
    if (bytes.size() != wanted)
      throw bad_input(bin_file.string(), fmt::format("has {} bytes, expected {} planes of 65536",
                                                     bytes.size(), wanted / kInputs));
    ConformReport report = compared_planes(planes, bytes);
    report.file = bin_file.string();
    return report;
  }
  return std::nullopt;
}

}  // namespace shardcheck
