#include "tools/shardcheck/conform/csv_table.h"

#include <fmt/format.h>

#include <charconv>

#include "core/error.h"

namespace shardcheck {
namespace {

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == ',') {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace

CsvTable::CsvTable(const std::filesystem::path& file)
    : file_(file.string()), stream_(file, std::ios::binary) {
  if (!stream_) throw bad_input(file_, "cannot be read");
  std::string line;
  std::getline(stream_, line);
  columns_ = fields_of(line);
}

void CsvTable::read_rows() {
  std::string line;
  while (std::getline(stream_, line)) {
    rows_.push_back(fields_of(line));
    if (rows_.back().size() != columns_.size())
      throw bad_input(fmt::format("{}: line {}", file_, rows_.size() + 1),
                      fmt::format("has {} fields, expected {}", rows_.back().size(), columns_.size()));
  }
}

void CsvTable::refuse(std::size_t row, std::size_t column, std::string_view wanted) const {
  throw bad_input(fmt::format("{}: line {}", file_, row + 2),
                  fmt::format("{} is \"{}\", expected {}", columns_[column], text(row, column), wanted));
}

std::uint32_t CsvTable::parsed(std::size_t row, std::size_t column, int base) const {
  const std::string& field = text(row, column);
  std::uint32_t value = 0;
  const auto end = std::from_chars(field.data(), field.data() + field.size(), value, base);
  if (field.empty() || end.ec != std::errc() || end.ptr != field.data() + field.size())
    refuse(row, column, base == 16 ? "up to eight hexadecimal digits" : "a whole number below 2^32");
  return value;
}

std::uint32_t CsvTable::hex(std::size_t row, std::size_t column) const {
  return parsed(row, column, 16);
}

std::uint32_t CsvTable::number(std::size_t row, std::size_t column) const {
  return parsed(row, column, 10);
}

}  // namespace shardcheck
