// JSON from outside as a value that was checked while it was read: no name twice in one object, no deep
// nesting, no number but sizes. Its readers say which file, tensor and field is wrong. Next: safetensors.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardcheck::checkpoint {

/// A name as a sentence shows it: quoted, escaped, and cut after 80 characters.
std::string shown(std::string_view name);

struct JsonValue {
  enum class Kind : std::uint8_t { object, list, text, size, other };
  Kind kind = Kind::other;
  std::vector<std::pair<std::string, JsonValue>> members;  ///< of an object, ascending by name
  std::vector<JsonValue> items;                            ///< of a list
  std::string text;       ///< of a text, unquoted; of anything that is none of the kinds, as it was written
  std::int64_t size = 0;  ///< an integer in [0, 2^63)

  bool is(Kind wanted) const { return kind == wanted; }
};

/// Parses an object. Throws Error(bad_input) when the text is no JSON object, names a key twice in one
/// object, or nests deeper than `most_depth`; `where` is the file.
JsonValue parse_object(std::string_view text, const std::string& where, int most_depth);

/// A member. Throws when the value is no object or lacks it; `where` names file and tensor.
const JsonValue& member(const JsonValue& object, std::string_view name, const std::string& where);

/// An integer in [0, 2^63). Throws Error naming `where`.
std::int64_t size_in(const JsonValue& value, const std::string& where);

/// A string. Throws Error naming `where`.
const std::string& text_in(const JsonValue& value, const std::string& where);

/// Extents and their product.
struct Extents {
  std::vector<std::int64_t> shape;
  std::int64_t numel = 1;
};

/// A list of extents whose product fits 63 bits. Throws Error naming `where`.
Extents extents_in(const JsonValue& value, const std::string& where);

}  // namespace shardcheck::checkpoint
