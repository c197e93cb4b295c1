// One object of a recorded JSON file, with its place for sentences: every field is checked where it is read.
// For the readers of this folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace shardcheck {

/// The document of a file. Throws bad_input where it is not JSON.
nlohmann::json json_document(const std::filesystem::path& file);

class JsonFields {
 public:
  /// `place` begins every sentence: "cases.json: /cases/3". Throws bad_input where the value is no object.
  JsonFields(const nlohmann::json& value, std::string place);

  bool has(std::string_view name) const { return value_.contains(name); }
  const nlohmann::json& object() const { return value_; }
  const nlohmann::json& field(std::string_view name) const;
  std::string text(std::string_view name) const;
  bool boolean(std::string_view name) const;
  double number(std::string_view name) const;
  /// A whole number of [lowest, 2^31).
  std::int64_t integer(std::string_view name, std::int64_t lowest) const;
  /// Up to 16 hexadecimal digits in a text.
  std::uint64_t hex(std::string_view name) const;
  std::uint32_t hex32(std::string_view name) const { return static_cast<std::uint32_t>(hex(name)); }
  /// Bytes as pairs of hexadecimal digits in a text.
  std::vector<std::uint8_t> bytes(std::string_view name) const;
  /// A list of hexadecimal texts; lists within it are taken one after the other.
  std::vector<std::uint32_t> hex_list(std::string_view name) const;
  /// The objects of a list.
  std::vector<JsonFields> objects(std::string_view name) const;

  [[noreturn]] void refuse(std::string_view name, std::string_view wanted) const;
  const std::string& place() const { return place_; }

 private:
  const nlohmann::json& value_;
  std::string place_;
};

}  // namespace shardcheck
