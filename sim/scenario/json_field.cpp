#include "sim/scenario/json_field.h"

#include <numeric>

namespace shardcheck::json_field {
namespace {

constexpr std::size_t kLongestExcerpt = 60;

/// Insertions, deletions and replacements of a letter that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string shown(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  const std::string text = value.dump(-1, ' ', true);
  return text.size() <= kLongestExcerpt ? text : text.substr(0, kLongestExcerpt) + "...";
}

std::string shown_key(const std::string& key) {
  const std::string quoted = shown(json(key));
  return quoted.ends_with('"') ? quoted.substr(1, quoted.size() - 2) : quoted.substr(1);
}

std::string_view nearest(std::string_view name, const Names& known) {
  const std::string_view begin = name.substr(0, limits::kMaxNameBytes);
  return *std::ranges::min_element(
      known, {}, [&](std::string_view candidate) { return edit_distance(begin, candidate); });
}

}  // namespace shardcheck::json_field
