// A field of a JSON text and where it stands: reads a value, or throws a sentence with its path, the value
// and what would be right. For the readers of scenarios (json.cpp) only, because it shows the library.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "sim/scenario/validate.h"

namespace shardcheck::json_field {

using nlohmann::json;
using Names = std::vector<std::string_view>;

/// A value as it stands in a sentence: ASCII only, on one line, short.
std::string shown(const json& value);

/// A key as it stands in a path.
std::string shown_key(const std::string& key);

/// The known name that is most like `name`; the first of several. `known` is not empty.
std::string_view nearest(std::string_view name, const Names& known);

/// A value of the text, and where it stands.
class Field {
 public:
  Field(const json& value, std::string path, const std::string& where)
      : value_(value), path_(std::move(path)), where_(where) {}

  [[noreturn]] void fail(const std::string& sentence) const {
    throw bad_input(path_.empty() ? where_ : where_ + ": " + path_, sentence);
  }
  [[noreturn]] void fail_type(std::string_view right) const {
    fail(fmt::format("{} is not {}", shown(value_), right));
  }

  bool is_object() const { return value_.is_object(); }
  bool is_truth() const { return value_.is_boolean(); }

  /// Every field of the object is one of the known ones.
  void expect_object(const Names& known) const {
    if (!value_.is_object()) fail_type(fmt::format("an object with the fields {}", fmt::join(known, ", ")));
    for (const auto& [key, value] : value_.items()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      fail(fmt::format("unknown field {}; the nearest known one is \"{}\" (known are {})", shown(json(key)),
                       nearest(key, known), fmt::join(known, ", ")));
    }
  }

  std::optional<Field> find(const char* name) const {
    const auto found = value_.find(name);
    if (found == value_.end()) return std::nullopt;
    return Field(*found, path_.empty() ? name : path_ + "." + name, where_);
  }
  Field at(const char* name) const {
    if (const auto field = find(name)) return *field;
    fail(fmt::format("the field \"{}\" is missing", name));
  }

  std::vector<Field> elements() const {
    if (!value_.is_array()) fail_type("a list");
    std::vector<Field> fields;
    for (std::size_t i = 0; i < value_.size(); ++i)
      fields.emplace_back(value_[i], fmt::format("{}[{}]", path_, i), where_);
    return fields;
  }

  std::string text() const {
    if (!value_.is_string()) fail_type("a text in quotes");
    return value_.get<std::string>();
  }
  bool truth() const {
    if (!value_.is_boolean()) fail_type("true or false");
    return value_.get<bool>();
  }
  std::int64_t integer(limits::Range range) const {
    expect_whole(fmt::format("{} to {}", range.low, range.high));
    const bool huge = value_.is_number_unsigned() && value_.get<std::uint64_t>() > INT64_MAX;
    if (huge || value_.get<std::int64_t>() < range.low || value_.get<std::int64_t>() > range.high)
      fail(fmt::format("{} is out of range; give {} to {}", shown(value_), range.low, range.high));
    return value_.get<std::int64_t>();
  }
  std::uint64_t unsigned_integer() const {
    const auto right = fmt::format("0 to {}", UINT64_MAX);
    expect_whole(right);
    if (!value_.is_number_unsigned()) fail(fmt::format("{} is out of range; give {}", shown(value_), right));
    return value_.get<std::uint64_t>();
  }
  /// The enumerator of that name, among those whose values are 0 to count - 1.
  template <class Enum>
  Enum one_of(int count) const {
    Names names;
    for (int i = 0; i < count; ++i) names.push_back(name_of(static_cast<Enum>(i)));
    const auto found = value_.is_string() ? std::ranges::find(names, text()) : names.end();
    if (found == names.end())
      fail(fmt::format("{} is unknown; known are {}", shown(value_), fmt::join(names, ", ")));
    return static_cast<Enum>(found - names.begin());
  }

 private:
  void expect_whole(std::string_view right) const {
    // A number without point and exponent that fits no 64 bits becomes a float, too.
    if (!value_.is_number_integer())
      fail_type(fmt::format("a whole number written in digits; give {}", right));
  }

  const json& value_;
  std::string path_;
  const std::string& where_;
};

// A missing field keeps its default.
inline void read(const Field& object, const char* name, limits::Range range, std::int32_t& to) {
  if (const auto field = object.find(name)) to = static_cast<std::int32_t>(field->integer(range));
}
inline void read(const Field& object, const char* name, limits::Range range, std::int64_t& to) {
  if (const auto field = object.find(name)) to = field->integer(range);
}
inline void read(const Field& object, const char* name, bool& to) {
  if (const auto field = object.find(name)) to = field->truth();
}
inline void read(const Field& object, const char* name, std::string& to) {
  if (const auto field = object.find(name)) to = field->text();
}
template <class Enum>
void read(const Field& object, const char* name, int count, Enum& to) {
  if (const auto field = object.find(name)) to = field->one_of<Enum>(count);
}

}  // namespace shardcheck::json_field
