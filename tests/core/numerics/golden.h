// Reading the golden files under tests/data: bytes, lines of comma-separated fields, hexadecimal fields.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace shardcheck::golden {

inline std::string path(const std::string& name) {
  return std::string(SHARDCHECK_TEST_DATA) + "/" + name;
}

inline std::vector<std::uint8_t> bytes(const std::string& name) {
  std::ifstream file(path(name), std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Rows after the header. A comma inside a label would be a second field; the golden files have quoted none.
inline std::vector<std::vector<std::string>> rows(const std::string& name) {
  std::ifstream file(path(name));
  EXPECT_TRUE(file) << name;
  std::vector<std::vector<std::string>> result;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::vector<std::string> fields(1);
    for (const char character : line) {
      if (character == ',') {
        fields.emplace_back();
      } else {
        fields.back() += character;
      }
    }
    result.push_back(fields);
  }
  EXPECT_FALSE(result.empty()) << name;
  return result;
}

inline std::uint32_t hex(const std::string& field) {
  return static_cast<std::uint32_t>(std::stoul(field, nullptr, 16));
}

}  // namespace shardcheck::golden
