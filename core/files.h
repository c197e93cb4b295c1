// Files: reading a text of bounded size, and writing one so that nobody ever sees half of it. Both turn what
// the system says into an Error that names the path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace shardcheck {

/// The bytes of a file or pipe. Throws Error(bad_input) with the system's reason when it cannot be read, or
/// with the limit when it holds more than `max_bytes`; no more than that is ever read.
std::string read_text(const std::filesystem::path& path, std::int64_t max_bytes);

/// Writes beside `path` and renames, so that `path` holds its old content or all of `text`, and nothing is
/// left behind on failure. A pipe or a device is written in place. Throws Error(machine_cannot) with the path
/// and the system's reason.
void write_text_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace shardcheck
