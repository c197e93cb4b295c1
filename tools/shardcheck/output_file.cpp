#include "tools/shardcheck/output_file.h"

#include <unistd.h>

#include <filesystem>
#include <ostream>

#include "core/error.h"
#include "core/files.h"

namespace shardcheck {

void require_writable(const OutputFile& file, std::string_view flag) {
  if (!file.is_wanted() || file.is_standard_output()) return;
  namespace fs = std::filesystem;
  const fs::path path(file.path);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string where = std::string(flag) + " " + file.path;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw bad_input(where, "is a folder; give the name of a file");
  if (!fs::is_directory(folder, ignored))
    throw bad_input(where, "there is no folder " + folder.string() + "; create it first");
  const bool is_device = fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
  if (::access(is_device ? path.c_str() : folder.c_str(), W_OK) != 0)
    throw Error(ErrorKind::machine_cannot, where + ": not writable for this user");
}

void write(const OutputFile& file, Session& session, std::string_view text) {
  if (!file.is_wanted()) return;
  if (file.is_standard_output()) {
    session.out << text << std::flush;
    return;
  }
  write_text_atomically(file.path, text);
}

std::ostream& text_stream(Session& session, const OutputFile& file) {
  return file.is_standard_output() ? session.err : session.out;
}

}  // namespace shardcheck
