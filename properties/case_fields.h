// Structs as JSON and back, from one list of fields for both ways, for cases that are kept as files, and the
// kind of a case that is one such struct. For .cpp files only. A struct says its fields by FieldsOf, an
// enumeration its names by EnumNames; reading trusts nothing. Next: cast_law/cast_property.cpp, which uses
// it.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/checkpoint/json_guard.h"
#include "core/error.h"
#include "core/tensor/dtype.h"
#include "core/types.h"
#include "properties/case.h"
#include "properties/generate/draw.h"

namespace shardcheck::case_fields {

using checkpoint::JsonValue;
using nlohmann::ordered_json;

/// Specialise with `static constexpr std::string_view names[]`, in the order of the values.
template <class Enum>
struct EnumNames;
/// Specialise with `template <class F> static void list(F& field, Struct& s)`, which calls field(name,
/// member).
template <class Struct>
struct FieldsOf;

template <>
struct EnumNames<DType> {
  static constexpr std::string_view names[] = {"f32", "bf16", "f16", "e4m3", "e5m2", "u8"};
};

// ---- Writing.

template <class Number>
requires std::is_arithmetic_v<Number> ordered_json written(Number value) {
  return value;
}
inline ordered_json written(const std::string& value) {
  return value;
}
inline ordered_json written(ParamId value) {
  return value.value;
}
inline ordered_json written(Rank value) {
  return value.value;
}
template <class Enum>
requires std::is_enum_v<Enum> ordered_json written(Enum value) {
  return EnumNames<Enum>::names[static_cast<std::size_t>(value)];
}
template <class Struct>
requires std::is_aggregate_v<Struct> ordered_json written(const Struct& value);
template <class T>
ordered_json written(const std::optional<T>& value) {
  return value ? written(*value) : ordered_json();
}
template <class T>
ordered_json written(const std::vector<T>& values) {
  ordered_json items = ordered_json::array();
  for (const T& value : values) items.push_back(written(value));
  return items;
}

/// Writes every field.
struct Writer {
  ordered_json json = ordered_json::object();

  template <class T>
  void operator()(const char* name, const T& field) {
    json[name] = written(field);
  }
};

template <class Struct>
ordered_json all_fields(Struct value) {
  Writer writer;
  FieldsOf<Struct>::list(writer, value);
  return std::move(writer.json);
}

/// What differs from the defaults.
template <class Struct>
requires std::is_aggregate_v<Struct> ordered_json written(const Struct& value) {
  const ordered_json plain = all_fields(Struct{}), all = all_fields(value);
  ordered_json json = ordered_json::object();
  for (const auto& [name, field] : all.items()) {
    if (field != plain[name]) json[name] = field;
  }
  return json;
}

// ---- Reading.

/// A value with its place in the file.
struct Place {
  const JsonValue& json;
  std::string where;

  [[noreturn]] void refuse(const std::string& wanted) const { throw bad_input(where, "expected " + wanted); }
  Place of(std::string_view name, const JsonValue& member) const {
    return {member, fmt::format("{}.{}", where, name)};
  }
};

inline std::int64_t size_of(const Place& place, std::int64_t most) {
  if (!place.json.is(JsonValue::Kind::size) || place.json.size > most)
    place.refuse(fmt::format("a whole number from 0 to {}", most));
  return place.json.size;
}

inline constexpr std::int64_t kMost32 = std::numeric_limits<std::int32_t>::max();

inline void read(const Place& place, bool& value) {
  if (place.json.text != "true" && place.json.text != "false") place.refuse("true or false");
  value = place.json.text == "true";
}
inline void read(const Place& place, std::int64_t& value) {
  value = size_of(place, std::numeric_limits<std::int64_t>::max());
}
inline void read(const Place& place, std::int32_t& value) {
  value = static_cast<std::int32_t>(size_of(place, kMost32));
}
/// Any 64 bits: what does not fit 63 is kept as it was written.
inline void read(const Place& place, std::uint64_t& value) {
  const std::string digits =
      place.json.is(JsonValue::Kind::size) ? std::to_string(place.json.size) : place.json.text;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end.ec != std::errc() || end.ptr != digits.data() + digits.size())
    place.refuse("a whole number below 2^64");
}
inline void read(const Place& place, float& value) {
  const std::string digits =
      place.json.is(JsonValue::Kind::size) ? std::to_string(place.json.size) : place.json.text;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end.ec != std::errc() || end.ptr != digits.data() + digits.size() ||
      place.json.is(JsonValue::Kind::text))
    place.refuse("a number");
}
inline void read(const Place& place, ParamId& value) {
  value = ParamId{static_cast<std::int32_t>(size_of(place, kMost32))};
}
inline void read(const Place& place, Rank& value) {
  value = Rank{static_cast<std::int32_t>(size_of(place, kMost32))};
}
inline void read(const Place& place, std::string& value) {
  if (!place.json.is(JsonValue::Kind::text)) place.refuse("a text");
  value = place.json.text;
}
template <class Enum>
requires std::is_enum_v<Enum>
void read(const Place& place, Enum& value) {
  const std::span<const std::string_view> names = EnumNames<Enum>::names;
  const auto found = std::ranges::find(names, place.json.text);
  if (!place.json.is(JsonValue::Kind::text) || found == names.end())
    place.refuse(fmt::format("one of {}", fmt::join(names, ", ")));
  value = static_cast<Enum>(found - names.begin());
}
template <class T>
void read(const Place& place, std::optional<T>& value) {
  read(place, value.emplace());
}
template <class Struct>
requires std::is_aggregate_v<Struct>
void read(const Place& place, Struct& value);
template <class T>
void read(const Place& place, std::vector<T>& values) {
  if (!place.json.is(JsonValue::Kind::list)) place.refuse("a list");
  for (std::size_t i = 0; i < place.json.items.size(); ++i)
    read({place.json.items[i], fmt::format("{}[{}]", place.where, i)}, values.emplace_back());
}

/// Reads the members of an object and remembers which there may be.
struct Reader {
  const Place& place;
  std::set<std::string_view> known;

  template <class T>
  void operator()(std::string_view name, T& field) {
    known.insert(name);
    const auto& members = place.json.members;
    const auto found = std::ranges::find(members, name, &std::pair<std::string, JsonValue>::first);
    if (found != members.end()) read(place.of(name, found->second), field);
  }
  void refuse_unknown() const {
    for (const auto& [name, value] : place.json.members) {
      if (!known.contains(name))
        throw bad_input(place.where, fmt::format("{} is no field here; there are {}", checkpoint::shown(name),
                                                 fmt::join(known, ", ")));
    }
  }
};

template <class Struct>
requires std::is_aggregate_v<Struct>
void read(const Place& place, Struct& value) {
  if (!place.json.is(JsonValue::Kind::object)) place.refuse("an object");
  Reader reader{place, {}};
  FieldsOf<Struct>::list(reader, value);
  reader.refuse_unknown();
}

// ---- Kinds of cases that are one struct.

/// `Class` holds the struct: a Case made of it, with value(). `random` draws one from a Draw; `check` refuses
/// what nobody can judge, given the struct and the file's name, with Error(bad_input).
template <class Class, auto random, auto check>
struct StructKind {
  using Value = std::remove_cvref_t<decltype(std::declval<const Class&>().value())>;

  static std::unique_ptr<Case> draw(CaseNumber number) {
    Draw draw(number.seed, number.number);
    return std::make_unique<Class>(random(draw));
  }
  static std::unique_ptr<Case> read(const std::string& json, const std::string& where) {
    constexpr int kDepth = 5;
    const JsonValue root = checkpoint::parse_object(json, where, kDepth);
    const Place place{root, where};
    Value value;
    std::string kind;
    Reader reader{place, {}};
    reader("kind", kind);
    FieldsOf<Value>::list(reader, value);
    reader.refuse_unknown();
    check(value, where);
    return std::make_unique<Class>(std::move(value));
  }
};

template <class Class, auto random, auto check>
constexpr CaseKind kind_of(std::string_view name) {
  return {name, StructKind<Class, random, check>::draw, StructKind<Class, random, check>::read};
}

/// What `read` of the kind gives back.
template <class Value>
std::string json_of_case(const CaseKind& kind, const Value& value) {
  ordered_json json = {{"kind", kind.name}};
  json.update(written(value));
  return json.dump(1) + "\n";
}

}  // namespace shardcheck::case_fields
