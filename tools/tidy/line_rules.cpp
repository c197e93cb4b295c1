#include "tools/tidy/line_rules.h"

#include <algorithm>
#include <cctype>

namespace shardcheck::tidy {
namespace {

constexpr std::ptrdiff_t kLongestLine = 120;

// These words stand in two pieces, so that this file does not break the rule that it states. The equality
// macros for floats belong here: GoogleTest lets them differ by four units in the last place.
constexpr std::string_view kToleranceWords[] = {
    // NOLINTNEXTLINE(bugprone-suspicious-missing-comma)
    "EXPECT_"
    "NEAR",
    "ASSERT_"
    "NEAR",
    "EXPECT_"
    "FLOAT_EQ",
    "ASSERT_"
    "FLOAT_EQ",
    "EXPECT_"
    "DOUBLE_EQ",
    "ASSERT_"
    "DOUBLE_EQ",
    "rt"
    "ol",
    "at"
    "ol",
};
constexpr std::string_view kMachineFolders[] = {
    "/home"
    "/",
    "/root"
    "/",
    "/work"
    "/",
    "/tmp"
    "/"};

bool is_cxx(std::string_view path) {
  return is_header(path) || is_translation_unit(path);
}

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
bool is_identifier(char c) {
  return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string_view without_comment(std::string_view line) {
  return line.substr(0, line.find("//"));
}

bool has_word(std::string_view line, std::string_view word) {
  for (auto at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const auto end = at + word.size();
    const bool begins = at == 0 || !is_identifier(line[at - 1]);
    const bool ends = end == line.size() || !is_identifier(line[end]);
    if (begins && ends) return true;
  }
  return false;
}

/// True when `c` before a '/' makes it a part of a longer path.
bool continues_path(char c) {
  return is_identifier(c) || c == '}' || c == '.' || c == '/' || c == '-';
}

/// True when an absolute path into `folder` stands on the line; "build/work/x" and "${prefix}/tmp/x" are
/// none.
bool has_path_into(std::string_view line, std::string_view folder) {
  for (auto at = line.find(folder); at != std::string_view::npos; at = line.find(folder, at + 1)) {
    const auto end = at + folder.size();
    const bool absolute = at == 0 || !continues_path(line[at - 1]);
    if (absolute && end < line.size() && is_letter(line[end])) return true;
  }
  return false;
}

/// Bytes that begin a UTF-8 character.
std::ptrdiff_t characters_of(std::string_view line) {
  return std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

/// The lines for which forbidden(line) holds, in the files for which concerned(path) holds.
template <class Concerned, class Forbidden>
Offences lines_where(const Tree& tree, Concerned concerned, Forbidden forbidden) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (!concerned(std::string_view(file.path))) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (!forbidden(std::string_view(file.lines[i]))) continue;
      offences.push_back({file.path, static_cast<int>(i) + 1, file.lines[i]});
    }
  }
  return offences;
}

}  // namespace

Offences long_lines(const Tree& tree) {
  return lines_where(tree, is_cxx, [](std::string_view line) { return characters_of(line) > kLongestLine; });
}

Offences using_namespace_in_headers(const Tree& tree) {
  return lines_where(tree, is_header, [](std::string_view line) {
    return has_word(without_comment(line), "using namespace");
  });
}

Offences tolerances(const Tree& tree) {
  return lines_where(tree, is_cxx, [](std::string_view line) {
    return std::ranges::any_of(kToleranceWords,
                               [&](auto word) { return has_word(without_comment(line), word); });
  });
}

Offences machine_paths(const Tree& tree) {
  const auto concerned = [](std::string_view path) { return !path.ends_with(".md"); };
  return lines_where(tree, concerned, [](std::string_view line) {
    return std::ranges::any_of(kMachineFolders, [&](auto folder) { return has_path_into(line, folder); });
  });
}

}  // namespace shardcheck::tidy
