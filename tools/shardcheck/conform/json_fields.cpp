#include "tools/shardcheck/conform/json_fields.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>

#include "core/error.h"

namespace shardcheck {
namespace {

using nlohmann::json;

/// False unless all of the text is digits that fit.
bool parse_hex(std::string_view digits, std::uint64_t& value) {
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return !digits.empty() && end.ec == std::errc() && end.ptr == digits.data() + digits.size();
}

bool append_hex(const json& value, int depth, std::vector<std::uint32_t>& list) {
  constexpr int kDeepest = 2;
  if (value.is_array()) {
    if (depth == kDeepest) return false;
    for (const json& item : value) {
      if (!append_hex(item, depth + 1, list)) return false;
    }
    return true;
  }
  std::uint64_t bits = 0;
  if (!value.is_string() || !parse_hex(value.get_ref<const std::string&>(), bits) || bits >> 32 != 0)
    return false;
  list.push_back(static_cast<std::uint32_t>(bits));
  return true;
}

}  // namespace

json json_document(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw bad_input(file.string(), "cannot be read");
  json document = json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded())
    throw bad_input(file.string(), "is not JSON; expected an object with \"cases\"");
  return document;
}

JsonFields::JsonFields(const json& value, std::string place) : value_(value), place_(std::move(place)) {
  if (!value.is_object()) throw bad_input(place_, "is not an object");
}

void JsonFields::refuse(std::string_view name, std::string_view wanted) const {
  const auto found = value_.find(name);
  if (found == value_.end())
    throw bad_input(place_, fmt::format("has no field \"{}\"; expected {}", name, wanted));
  const std::string shown = found->is_structured()
                                ? std::string("an ") + found->type_name()
                                : found->dump(-1, ' ', true, json::error_handler_t::replace);
  throw bad_input(place_, fmt::format("\"{}\" is {}, expected {}", name, shown, wanted));
}

const json& JsonFields::field(std::string_view name) const {
  const auto found = value_.find(name);
  if (found == value_.end()) throw bad_input(place_, fmt::format("has no field \"{}\"", name));
  return *found;
}

std::string JsonFields::text(std::string_view name) const {
  if (!field(name).is_string()) refuse(name, "a text");
  return field(name).get<std::string>();
}

bool JsonFields::boolean(std::string_view name) const {
  if (!field(name).is_boolean()) refuse(name, "true or false");
  return field(name).get<bool>();
}

double JsonFields::number(std::string_view name) const {
  if (!field(name).is_number()) refuse(name, "a number");
  return field(name).get<double>();
}

std::int64_t JsonFields::integer(std::string_view name, std::int64_t lowest) const {
  constexpr std::int64_t kEnd = std::int64_t{1} << 31;
  const json& found = field(name);
  const bool fits =
      found.is_number_unsigned() ? found.get<std::uint64_t>() < kEnd : found.is_number_integer();
  if (!fits || found.get<std::int64_t>() < lowest)
    refuse(name, fmt::format("a whole number of at least {} and below 2^31", lowest));
  return found.get<std::int64_t>();
}

std::uint64_t JsonFields::hex(std::string_view name) const {
  std::uint64_t value = 0;
  if (!field(name).is_string() || !parse_hex(field(name).get_ref<const std::string&>(), value))
    refuse(name, "a text of up to 16 hexadecimal digits");
  return value;
}

std::vector<std::uint8_t> JsonFields::bytes(std::string_view name) const {
  const std::string digits = text(name);
  std::vector<std::uint8_t> result;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    std::uint64_t value = 0;
    if (i + 2 > digits.size() || !parse_hex(std::string_view(digits).substr(i, 2), value))
      refuse(name, "pairs of hexadecimal digits");
    result.push_back(static_cast<std::uint8_t>(value));
  }
  return result;
}

std::vector<std::uint32_t> JsonFields::hex_list(std::string_view name) const {
  std::vector<std::uint32_t> list;
  if (!field(name).is_array() || !append_hex(field(name), 0, list))
    refuse(name, "a list of hexadecimal texts");
  return list;
}

std::vector<JsonFields> JsonFields::objects(std::string_view name) const {
  if (!field(name).is_array()) refuse(name, "a list");
  std::vector<JsonFields> result;
  for (std::size_t i = 0; i < field(name).size(); ++i)
    result.emplace_back(field(name)[i], fmt::format("{}/{}/{}", place_, name, i));
  return result;
}

}  // namespace shardcheck
