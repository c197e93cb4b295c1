// Terminal: whether a stream is one, how wide it is, and whether it shows colour. Text that wraps and tones
// that vanish where they are not wanted. Next: table.h, progress.h.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace shardcheck {

struct Terminal {
  bool is_terminal = false;
  bool has_colour = false;
  int width = 100;  ///< columns
};

/// std::cout and std::cerr are terminals when the system says so; any other stream is none. Colour needs a
/// terminal, no NO_COLOR and a TERM that is not "dumb". COLUMNS overrides the width.
Terminal terminal_of(const std::ostream& stream);

enum class Tone { plain, good, bad, warning, strong, faint };

/// The text in the tone, or as it is where the terminal shows no colour.
std::string paint(const Terminal& terminal, Tone tone, std::string_view text);

struct WrapOptions {
  int width = 100;
  int indent = 0;  ///< of every line but the first, which is taken to begin there already
};

/// The text with line breaks between words, so that no line is longer than the width where words allow.
std::string wrap(std::string_view text, const WrapOptions& options);

}  // namespace shardcheck
