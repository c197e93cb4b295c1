// What is checked of a JSON text before a JSON library sees it: its size, that it is text, and how deep its
// brackets nest, because the library would allocate or recurse without a limit. Next: json.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardcheck {

/// A scenario of all 45,395 tensors of DeepSeek-V3 has about 8 MiB. The value that the library builds can be
/// 20 times larger than the text.
inline constexpr std::int64_t kMaxJsonBytes = std::int64_t{16} << 20;

/// A scenario nests 4 deep (`parameters[0].shape[0]`).
inline constexpr int kMaxJsonDepth = 16;

/// Throws bad_input, with the position in bytes, unless the text is not empty, small enough, free of NUL
/// bytes, UTF-8 (RFC 3629: no overlong form, no surrogate) and shallow enough. `where` is the file.
void check_json_text(std::string_view text, const std::string& where);

}  // namespace shardcheck
