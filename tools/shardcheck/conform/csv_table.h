// A recorded table: comma-separated fields under a header. Every field is checked where it is read, so damage
// is a sentence with its line. For the readers of this folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace shardcheck {

class CsvTable {
 public:
  /// Reads the header alone, by which a reader knows its files. Throws bad_input where that cannot be read.
  explicit CsvTable(const std::filesystem::path& file);
  /// Reads the rows. Throws bad_input where a line has not one field a column.
  void read_rows();

  const std::vector<std::string>& columns() const { return columns_; }
  std::size_t rows() const { return rows_.size(); }
  const std::string& text(std::size_t row, std::size_t column) const { return rows_[row][column]; }

  /// Hexadecimal digits without prefix, at most 32 bits. Throws bad_input.
  std::uint32_t hex(std::size_t row, std::size_t column) const;
  /// A whole number of at most 32 bits. Throws bad_input.
  std::uint32_t number(std::size_t row, std::size_t column) const;

  [[noreturn]] void refuse(std::size_t row, std::size_t column, std::string_view wanted) const;

 private:
  std::uint32_t parsed(std::size_t row, std::size_t column, int base) const;

  std::string file_;
  std::ifstream stream_;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace shardcheck
