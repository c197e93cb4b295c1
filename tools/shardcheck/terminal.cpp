#include "tools/shardcheck/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace shardcheck {
namespace {

constexpr int kNarrowest = 40, kWidest = 160;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int descriptor_of(const std::ostream& stream) {
  if (&stream == &std::cout) return STDOUT_FILENO;
  return &stream == &std::cerr ? STDERR_FILENO : -1;
}

int width_of(int descriptor) {
  int width = std::atoi(std::string(variable("COLUMNS")).c_str());
  winsize size = {};
  if (width <= 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return width <= 0 ? Terminal{}.width : std::clamp(width, kNarrowest, kWidest);
}

/// Columns that UTF-8 text takes, as long as every character takes one and a tone none.
int columns_of(std::string_view text) {
  int columns = 0;
  bool is_tone = false;
  for (const char c : text) {
    const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (c == '\x1b') is_tone = true;
    if (!is_tone && !continues) ++columns;
    if (c == 'm') is_tone = false;
  }
  return columns;
}

}  // namespace

Terminal terminal_of(const std::ostream& stream) {
  const int descriptor = descriptor_of(stream);
  if (descriptor < 0 || isatty(descriptor) == 0) return {};
  const bool has_colour = variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  return {.is_terminal = true, .has_colour = has_colour, .width = width_of(descriptor)};
}

std::string paint(const Terminal& terminal, Tone tone, std::string_view text) {
  constexpr std::string_view codes[] = {"", "32", "1;31", "33", "1", "2"};
  if (!terminal.has_colour || tone == Tone::plain) return std::string(text);
  std::string painted = "\x1b[";
  painted += codes[static_cast<int>(tone)];
  painted += 'm';
  painted += text;
  return painted + "\x1b[0m";
}

std::string wrap(std::string_view text, const WrapOptions& options) {
  std::string wrapped;
  int column = options.indent;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const bool is_first = column == options.indent;
    if (!is_first && column > options.width - 1 - columns_of(word)) {
      wrapped += '\n' + std::string(static_cast<std::size_t>(options.indent), ' ');
      column = options.indent;
    } else if (!is_first) {
      wrapped += ' ';
      ++column;
    }
    wrapped += word;
    column += columns_of(word);
  }
  return wrapped;
}

}  // namespace shardcheck
