// conform_layouts: reads a file of recorded layouts line by line, recomputes each output and compares every
// field. Nothing of the file is trusted: whatever is damaged becomes bad input that names file, line and
// field.
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/error.h"
#include "tools/shardcheck/conform/conform.h"
#include "tools/shardcheck/conform/layouts_difference.h"
#include "tools/shardcheck/conform/layouts_input.h"
#include "tools/shardcheck/conform/layouts_recompute.h"

namespace shardcheck {
namespace {

using nlohmann::json;

// Recorded lines nest 7 deep; nothing else recurses on what a file contains.
constexpr int kDeepest = 64;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw bad_input(path.string(), "cannot be read; give a file of recorded layouts");
  }
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (content.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw bad_input(path.string(), "is empty; a file of recorded layouts has one JSON object a line");
  }
  if (content.find('\0') != std::string::npos) {
    throw bad_input(path.string(), "is binary; a file of recorded layouts is text, one JSON object a line");
  }
  return content;
}

bool nests_too_deep(std::string_view line) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{')) {
      if (++depth > kDeepest) return true;
    } else if (!quoted && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return false;
}

json parse(std::string_view line, const std::string& where) try {
  if (nests_too_deep(line)) throw bad_input(where, fmt::format("brackets nest deeper than {}", kDeepest));
  return json::parse(line);
} catch (const json::exception& problem) {
  throw bad_input(where, fmt::format("is not a JSON value ({}); is the line truncated?", problem.what()));
}

/// Whether the first line says that the file holds recorded layouts, or at least meant to.
bool is_recorded_layouts(const std::filesystem::path& path, std::string_view first) {
  const bool claims = path.extension() == ".jsonl" || first.find("\"layout\"") != std::string_view::npos;
  if (nests_too_deep(first)) return true;  // parse() says so
  const json value = json::parse(first, nullptr, false);
  if (value.is_discarded()) return claims;
  return value.is_object() && value.contains("layout");
}

void check_line(std::string_view line, const std::string& where, ConformReport& report) try {
  const json value = parse(line, where);
  const conform::RecordedLayout recorded = conform::read_recorded_layout(value, where);
  ++report.cases;
  if (!conform::recomputes(recorded.layout)) {
    ++report.unsupported;
    return;
  }
  const auto difference = conform::first_difference(
      {.recorded = recorded.output.value(), .recomputed = conform::recompute(recorded)});
  if (difference) {
    report.disagreements.push_back({recorded.id, *difference});
  } else {
    ++report.agreements;
  }
} catch (const Error& error) {
  const std::string_view sentence = error.what();
  if (sentence.starts_with(where)) throw;
  throw bad_input(where, std::string(sentence));
}

}  // namespace

std::optional<ConformReport> conform_layouts(const std::filesystem::path& jsonl_file) {
  const std::string content = read_file(jsonl_file);
  ConformReport report{.file = jsonl_file.string(), .kind = "recorded layouts"};
  bool known = false;
  std::int64_t number = 0;
  for (std::string_view rest = content; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (!known && !is_recorded_layouts(jsonl_file, line)) return std::nullopt;
    known = true;
    check_line(line, fmt::format("{}:{}", jsonl_file.string(), number), report);
  }
  return report;
}

}  // namespace shardcheck
