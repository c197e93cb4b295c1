#include "sim/scenario/json_text.h"

#include <fmt/format.h>

#include "core/error.h"

namespace shardcheck {
namespace {

/// Bytes of the UTF-8 character at the begin of the text, or 0 where there is none.
std::size_t utf8_length(std::string_view text) {
  // The lead byte decides the length, and the range of the second byte excludes overlong forms (E0, F0),
  // surrogates (ED) and values past U+10FFFF (F4).
  struct Lead {
    unsigned char first, last;
    std::size_t length;
    unsigned char second_first, second_last;
  };
  constexpr Lead leads[] = {
      {0x00, 0x7F, 1, 0x80, 0xBF}, {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF},
      {0xE1, 0xEC, 3, 0x80, 0xBF}, {0xED, 0xED, 3, 0x80, 0x9F}, {0xEE, 0xEF, 3, 0x80, 0xBF},
      {0xF0, 0xF0, 4, 0x90, 0xBF}, {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
  };
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (const Lead& lead : leads) {
    if (byte(0) < lead.first || byte(0) > lead.last) continue;
    if (lead.length > text.size()) return 0;
    if (lead.length > 1 && (byte(1) < lead.second_first || byte(1) > lead.second_last)) return 0;
    for (std::size_t i = 2; i < lead.length; ++i) {
      if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
    }
    return lead.length;
  }
  return 0;
}

void check_is_text(std::string_view text, const std::string& where) {
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\0')
      throw bad_input(where, fmt::format("byte {} is NUL, so this is no text; give a JSON file", at));
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0)
      throw bad_input(where, fmt::format("byte {} (0x{:02x}) is not UTF-8; save the file as UTF-8", at,
                                         static_cast<unsigned char>(text[at])));
    at += length;
  }
}

void check_depth(std::string_view text, const std::string& where) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == ']' || c == '}') --depth;
    if ((c == '[' || c == '{') && ++depth > kMaxJsonDepth)
      throw bad_input(where, fmt::format("brackets nest deeper than {} at byte {}; a scenario nests 4 deep",
                                         kMaxJsonDepth, at));
  }
}

}  // namespace

void check_json_text(std::string_view text, const std::string& where) {
  if (std::ssize(text) > kMaxJsonBytes)
    throw bad_input(where,
                    fmt::format("the text has {} bytes; at most {} are read", text.size(), kMaxJsonBytes));
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw bad_input(where, "the file is empty; give a scenario as a JSON object");
  check_is_text(text, where);
  check_depth(text, where);
}

}  // namespace shardcheck
