// OutputFile: where --json or --junit goes. "-" is standard output; what people read then goes to standard
// error, so that a script reads nothing else. A file appears whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "tools/shardcheck/session.h"

namespace shardcheck {

struct OutputFile {
  std::string path;  ///< "-", or empty when nothing was asked for
  bool is_wanted() const { return !path.empty(); }
  bool is_standard_output() const { return path == "-"; }
};

/// Throws Error when the file cannot be written, as far as this shows before there is anything to write: a
/// minute of work is not thrown away for a misspelt folder. `flag` is "--json".
void require_writable(const OutputFile& file, std::string_view flag);

/// Throws Error(machine_cannot).
void write(const OutputFile& file, Session& session, std::string_view text);

/// The stream for what people read.
std::ostream& text_stream(Session& session, const OutputFile& file);

}  // namespace shardcheck
