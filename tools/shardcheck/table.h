// Table: rows of text in aligned columns, the last one wrapped to the terminal. A script splits the columns
// at two blanks.
#pragma once

#include <string>
#include <vector>

#include "tools/shardcheck/terminal.h"

namespace shardcheck {

class Table {
 public:
  /// The titles begin with '>' where the column is aligned to the right.
  explicit Table(std::vector<std::string> titles) : titles_(std::move(titles)) {}

  struct Cell {
    std::string text;
    Tone tone = Tone::plain;
    Cell(std::string text, Tone tone = Tone::plain) : text(std::move(text)), tone(tone) {}
    Cell(std::string_view text) : text(text) {}
    Cell(const char* text) : text(text) {}
  };
  void row(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }

  std::string text(const Terminal& terminal) const;

 private:
  std::vector<std::string> titles_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace shardcheck
