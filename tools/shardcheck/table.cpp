#include "tools/shardcheck/table.h"

#include <algorithm>

namespace shardcheck {
namespace {

constexpr std::size_t kGap = 2;
constexpr int kNarrowestLast = 24;  ///< columns that the last column gets even where the others are wide

std::string blanks(std::size_t count) {
  return std::string(count, ' ');
}

}  // namespace

std::string Table::text(const Terminal& terminal) const {
  const std::size_t columns = titles_.size();
  std::vector<bool> right(columns);
  std::vector<Cell> head;
  for (std::size_t c = 0; c < columns; ++c) {
    right[c] = titles_[c].starts_with('>');
    head.emplace_back(titles_[c].substr(right[c] ? 1 : 0), Tone::strong);
  }
  std::vector<std::size_t> widths(columns);
  for (std::size_t c = 0; c < columns; ++c) widths[c] = head[c].text.size();
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < columns; ++c) widths[c] = std::max(widths[c], row[c].text.size());
  }
  std::size_t indent = 0;
  for (std::size_t c = 0; c + 1 < columns; ++c) indent += widths[c] + kGap;
  const int width = std::max(terminal.width, static_cast<int>(indent) + kNarrowestLast);
  const auto line = [&](const std::vector<Cell>& cells) {
    std::string text;
    for (std::size_t c = 0; c < columns; ++c) {
      const bool is_last = c + 1 == columns;
      const std::string padding = blanks(widths[c] - cells[c].text.size());
      if (right[c]) text += padding;
      const std::string content =
          is_last && !right[c] ? wrap(cells[c].text, {.width = width, .indent = static_cast<int>(indent)})
                               : cells[c].text;
      text += paint(terminal, cells[c].tone, content);
      if (!is_last) text += (right[c] ? "" : padding) + blanks(kGap);
    }
    while (text.ends_with(' ')) text.pop_back();
    return text + "\n";
  };
  std::string text = line(head);
  for (const auto& row : rows_) text += line(row);
  return text;
}

}  // namespace shardcheck
