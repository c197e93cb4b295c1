// Recorded GEMMs against the `hopper` profile: reads the JSON and its .bin, recomputes every output, compares
// bits. Every number of the file is checked before it is used, so damage is a sentence and never a wild read.
#include "core/numerics/gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/integers.h"
#include "core/numerics/decode.h"
#include "tools/shardcheck/conform/conform.h"

namespace shardcheck {
namespace {

using nlohmann::json;

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  if (!file || std::filesystem::is_directory(path, error)) throw bad_input(path.string(), "cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::byte> bytes(text.size());
  std::ranges::copy(std::as_bytes(std::span(text)), bytes.begin());
  return bytes;
}

json parse(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  json document = json::parse(text, text + bytes.size(), nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded())
    throw bad_input(path.string(), "is not JSON; expected an object with \"cases\"");
  return document;
}

/// Recordings are told from other JSON by the offsets of their first case.
bool holds_recorded_gemms(const json& document) {
  if (!document.is_object() || !document.contains("cases")) return false;
  const json& cases = document["cases"];
  return cases.is_array() && !cases.empty() && cases[0].is_object() && cases[0].contains("off_a") &&
         cases[0].contains("off_d");
}

/// One case of the file, with a place for its sentences.
class CaseReader {
 public:
  CaseReader(const json& value, std::string place) : value_(value), place_(std::move(place)) {
    if (!value.is_object()) fail("is not an object");
  }

  [[noreturn]] void fail(const std::string& sentence) const { throw bad_input(place_, sentence); }

  const json& field(const char* name) const {
    const auto found = value_.find(name);
    if (found == value_.end()) fail(fmt::format("has no field \"{}\"", name));
    return *found;
  }

  std::string text(const char* name) const {
    const json& found = field(name);
    if (!found.is_string()) fail(fmt::format("\"{}\" is {}, expected a string", name, shown(found)));
    return found.get<std::string>();
  }

  /// An integer of [lowest, 2^31): no size of a recorded GEMM, and no offset into its file, is larger.
  std::int64_t integer(const char* name, std::int64_t lowest) const {
    constexpr std::int64_t kEnd = std::int64_t{1} << 31;
    const json& found = field(name);
    const bool in_range =
        found.is_number_unsigned() ? found.get<std::uint64_t>() < kEnd : found.is_number_integer();
    if (!in_range || found.get<std::int64_t>() < lowest) {
      fail(fmt::format("\"{}\" is {}, expected an integer of at least {} and below 2^31", name, shown(found),
                       lowest));
    }
    return found.get<std::int64_t>();
  }

  float number(const char* name) const {
    const json& found = field(name);
    if (!found.is_number()) fail(fmt::format("\"{}\" is {}, expected a number", name, shown(found)));
    return found.get<float>();
  }

  bool boolean(const char* name) const {
    const json& found = field(name);
    if (!found.is_boolean()) fail(fmt::format("\"{}\" is {}, expected true or false", name, shown(found)));
    return found.get<bool>();
  }

  FormatId format(const char* name) const {
    std::string spelled = text(name);
    if (spelled.starts_with("f8_")) spelled = spelled.substr(3);
    const auto id = format_named(spelled);
    if (!id) fail(fmt::format("\"{}\" is \"{}\", expected bf16, f16, f8_e4m3 or f8_e5m2", name, text(name)));
    return *id;
  }

  DType output(const char* name) const {
    const auto type = dtype_named(text(name));
    if (!type) fail(fmt::format("\"{}\" is \"{}\", expected f32 or bf16", name, text(name)));
    return *type;
  }

  ScaleMode scale_mode(const char* name) const {
    if (field(name).is_null()) return ScaleMode::none;
    const std::string spelled = text(name);
    if (spelled == "tensor") return ScaleMode::tensor;
    if (spelled == "outer_vector") return ScaleMode::outer_vector;
    if (spelled == "vec128") return ScaleMode::vector128;
    if (spelled == "block128x128") return ScaleMode::block128x128;
    fail(fmt::format("\"{}\" is \"{}\", expected null, tensor, outer_vector, vec128 or block128x128", name,
                     spelled));
  }

 private:
  /// A value for a sentence; a long one (or one nested deeper than a printer recurses) only by its type.
  static std::string shown(const json& value) {
    return value.is_structured() ? std::string("an ") + value.type_name()
                                 : value.dump(-1, ' ', true, json::error_handler_t::replace);
  }

  const json& value_;
  std::string place_;
};

/// A case ready to compute.
struct RecordedGemm {
  std::string id;
  GemmProblem problem;
  std::vector<float> scales_a;
  std::vector<float> scales_b;
  std::span<const std::byte> c;
  std::span<const std::byte> d;
};

std::int64_t multiplied(const CaseReader& reader, std::int64_t a, std::int64_t b) {
  const auto result = checked_multiply(a, b);
  if (!result) reader.fail("its sizes overflow 64 bits");
  return *result;
}

std::span<const std::byte> slice(const CaseReader& reader, std::span<const std::byte> data, const char* name,
                                 std::int64_t length) {
  const std::int64_t offset = reader.integer(name, 0);
  const std::int64_t available = std::ssize(data);
  if (offset > available || length > available - offset) {
    reader.fail(fmt::format("\"{}\" = {} and {} bytes from there end outside the data file of {} bytes", name,
                            offset, length, available));
  }
  return data.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
}

OperandView operand(const CaseReader& reader, std::span<const std::byte> data, const char* format_name,
                    const char* offset_name, std::int64_t rows, std::int64_t k, bool k_contiguous) {
  const FormatId format = reader.format(format_name);
  const std::int64_t bytes = div_ceil(format_of(format).width(), 8);
  const std::int64_t length = multiplied(reader, multiplied(reader, rows, k), bytes);
  return {.format = format,
          .codes = slice(reader, data, offset_name, length),
          .row_stride = k_contiguous ? k : 1,
          .k_stride = k_contiguous ? 1 : rows};
}

std::vector<float> scales(const CaseReader& reader, std::span<const std::byte> data, const char* offset_name,
                          const char* length_name, std::int64_t needed) {
  const std::int64_t count = reader.integer(length_name, 0);
  if (count < needed) {
    reader.fail(fmt::format("\"{}\" is {}, but its scale mode needs {} scales", length_name, count, needed));
  }
  const auto bytes = slice(reader, data, offset_name, count * 4);
  std::vector<float> result(static_cast<std::size_t>(count));
  std::ranges::copy(bytes, std::as_writable_bytes(std::span(result)).begin());
  return result;
}

GemmBeta beta_of(const CaseReader& reader) {
  const float beta = reader.number("beta");
  if (beta != 0.0f && beta != 1.0f) reader.fail(fmt::format("\"beta\" is {}, expected 0 or 1", beta));
  return beta == 0.0f ? GemmBeta::zero : GemmBeta::one;
}

RecordedGemm read_case(const json& value, std::size_t index, const std::filesystem::path& path,
                       std::span<const std::byte> data) {
  const CaseReader reader(value, fmt::format("{}: /cases/{}", path.string(), index));
  const std::int64_t m = reader.integer("m", 1);
  const std::int64_t n = reader.integer("n", 1);
  const std::int64_t k = reader.integer("k", 1);
  const std::string transposition = reader.text("trans");
  if (transposition != "TN" && transposition != "NT" && transposition != "NN" && transposition != "TT") {
    reader.fail(fmt::format("\"trans\" is \"{}\", expected TN, NT, NN or TT", transposition));
  }
  RecordedGemm recorded{
      .id = fmt::format("{}", reader.integer("id", 0)),
      .problem = {.m = m,
                  .n = n,
                  .k = k,
                  .a = operand(reader, data, "a", "off_a", m, k, transposition[0] == 'T'),
                  .b = operand(reader, data, "b", "off_b", n, k, transposition[1] == 'N'),
                  .scale_mode_a = reader.scale_mode("scale_a"),
                  .scale_mode_b = reader.scale_mode("scale_b"),
                  .scales_a = {},
                  .scales_b = {},
                  .alpha = reader.number("alpha"),
                  .beta = beta_of(reader),
                  .output = reader.output("d"),
                  .fast_accumulation =
                      reader.boolean("fast_accum") ? FastAccumulation::on : FastAccumulation::off,
                  .split_k = static_cast<int>(reader.integer("split_k", 1))},
      .scales_a = {},
      .scales_b = {},
      .c = {},
      .d = {},
  };
  GemmProblem& problem = recorded.problem;
  recorded.scales_a = scales(reader, data, "off_sa", "len_sa", scale_count(problem.scale_mode_a, m, k));
  recorded.scales_b = scales(reader, data, "off_sb", "len_sb", scale_count(problem.scale_mode_b, n, k));
  problem.scales_a = recorded.scales_a;
  problem.scales_b = recorded.scales_b;
  const std::int64_t length = multiplied(reader, multiplied(reader, m, n), bytes_of(problem.output));
  recorded.c = slice(reader, data, "off_c", length);
  recorded.d = slice(reader, data, "off_d", length);
  return recorded;
}

std::uint32_t code_at(std::span<const std::byte> bytes, DType type, std::int64_t index) {
  std::uint32_t code = 0;
  const auto size = static_cast<std::size_t>(bytes_of(type));
  std::memcpy(&code, bytes.data() + static_cast<std::size_t>(index) * size, size);
  return code;
}

/// Bits agree, or both are NaN, whose code tensor-core does not fix.
bool agree(const Format& format, std::uint32_t expected, std::uint32_t actual) {
  return expected == actual || (format.is_nan(expected) && format.is_nan(actual));
}

/// The first disagreement of a case, and how many outputs disagree.
std::optional<std::string> first_disagreement(const RecordedGemm& recorded) {
  const GemmProblem& problem = recorded.problem;
  const Format& format = format_of(*format_id_of(problem.output));
  std::vector<std::byte> computed(recorded.d.size());
  gemm(kHopper, problem, recorded.c, computed);

  std::int64_t count = 0;
  std::string first;
  for (std::int64_t i = 0; i < problem.m * problem.n; ++i) {
    const std::uint32_t expected = code_at(computed, problem.output, i);
    const std::uint32_t actual = code_at(recorded.d, problem.output, i);
    if (agree(format, expected, actual)) continue;
    if (++count > 1) continue;
    const int digits = 2 * bytes_of(problem.output);
    first = fmt::format(
        "case {}, row {}, column {}: profile {} expects {} (0x{:0{}x}), recorded is {} (0x{:0{}x})",
        recorded.id, i % problem.m, i / problem.m, kHopper.name, decode(format, expected), expected, digits,
        decode(format, actual), actual, digits);
  }
  if (count == 0) return std::nullopt;
  return fmt::format("{}; {} of {} outputs differ", first, count, problem.m * problem.n);
}

}  // namespace

std::optional<ConformReport> conform_gemm(const std::filesystem::path& json_file) {
  const json document = parse(json_file);
  if (!holds_recorded_gemms(document)) return std::nullopt;
  const std::vector<std::byte> data = read_file(std::filesystem::path(json_file).replace_extension(".bin"));

  ConformReport report{.file = json_file.string(), .kind = "recorded GEMMs"};
  const json& cases = document["cases"];
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const RecordedGemm recorded = read_case(cases[i], i, json_file, data);
    ++report.cases;
    if (unsupported_reason(kHopper, recorded.problem)) {
      ++report.unsupported;
    } else if (auto sentence = first_disagreement(recorded)) {
      report.disagreements.push_back({recorded.id, *sentence});
    } else {
      ++report.agreements;
    }
  }
  return report;
}

}  // namespace shardcheck
