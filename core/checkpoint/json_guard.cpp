#include "core/checkpoint/json_guard.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/integers.h"

namespace shardcheck::checkpoint {
namespace {

using nlohmann::json;

std::string as_written(const json& value) {
  return value.dump(-1, ' ', true, json::error_handler_t::replace);
}

/// Recursion is as deep as the nesting, which the parser has bounded.
JsonValue value_of(json& from) {
  using enum JsonValue::Kind;
  JsonValue value;
  if (from.is_object()) {
    value.kind = object;
    for (auto& [name, inner] : from.items()) value.members.emplace_back(name, value_of(inner));
  } else if (from.is_array()) {
    value.kind = list;
    for (json& inner : from) value.items.push_back(value_of(inner));
  } else if (from.is_string()) {
    value.kind = text;
    value.text = std::move(from.get_ref<std::string&>());
  } else if (from.is_number_unsigned() && from.get<std::uint64_t>() <= INT64_MAX) {
    value.kind = size;
    value.size = from.get<std::int64_t>();
  } else {
    value.text = as_written(from);
  }
  from = nullptr;  // a long header is not held twice
  return value;
}

}  // namespace

std::string shown(std::string_view name) {
  constexpr std::size_t kMost = 80;
  std::string text = as_written(json(name.substr(0, kMost)));
  if (name.size() > kMost) text += "...";
  return text;
}

JsonValue parse_object(std::string_view text, const std::string& where, int most_depth) {
  std::vector<std::set<std::string>> names;  // of the objects that are open
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > most_depth) {
      throw bad_input(where, "the JSON nests deeper than " + std::to_string(most_depth) + " levels");
    }
    if (event == json::parse_event_t::object_start) names.emplace_back();
    if (event == json::parse_event_t::object_end) names.pop_back();
    if (event == json::parse_event_t::key && !names.back().insert(value.get<std::string>()).second) {
      throw bad_input(where, "the name " + shown(value.get<std::string>()) + " occurs twice");
    }
    return true;
  };
  json parsed;
  try {
    parsed = json::parse(text, watch);
  } catch (const json::exception& error) {
    const auto* place = dynamic_cast<const json::parse_error*>(&error);
    throw bad_input(where, place == nullptr
                               ? std::string("the JSON holds a number that nothing can hold")
                               : "the JSON cannot be read at byte " + std::to_string(place->byte));
  }
  if (!parsed.is_object()) throw bad_input(where, "the JSON is not an object");
  return value_of(parsed);
}

const JsonValue& member(const JsonValue& object, std::string_view name, const std::string& where) {
  if (!object.is(JsonValue::Kind::object)) throw bad_input(where, "it must be an object");
  const auto found = std::ranges::find(object.members, name, &std::pair<std::string, JsonValue>::first);
  if (found == object.members.end()) throw bad_input(where, "the field " + std::string(name) + " is missing");
  return found->second;
}

std::int64_t size_in(const JsonValue& value, const std::string& where) {
  if (value.is(JsonValue::Kind::size)) return value.size;
  const bool structured = value.is(JsonValue::Kind::object) || value.is(JsonValue::Kind::list);
  throw bad_input(where,
                  (structured ? "a structure" : shown(value.text)) + " is not an integer from 0 to 2^63 - 1");
}

const std::string& text_in(const JsonValue& value, const std::string& where) {
  if (!value.is(JsonValue::Kind::text)) throw bad_input(where, "it must be a string");
  return value.text;
}

Extents extents_in(const JsonValue& value, const std::string& where) {
  if (!value.is(JsonValue::Kind::list)) throw bad_input(where, "it must be a list of extents");
  Extents extents;
  bool overflows = false;
  for (const JsonValue& item : value.items) {
    extents.shape.push_back(size_in(item, where));
    const auto product = checked_multiply(extents.numel, extents.shape.back());
    overflows = overflows || !product;
    extents.numel = product.value_or(0);
  }
  if (std::ranges::find(extents.shape, 0) != extents.shape.end()) {
    extents.numel = 0;
  } else if (overflows) {
    throw bad_input(where, "its extents multiply to more than 2^63 - 1 elements");
  }
  return extents;
}

}  // namespace shardcheck::checkpoint
