#include "tools/shardcheck/nearest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace shardcheck {
namespace {

std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Insertions, deletions and replacements that turn one word into the other (Levenshtein).
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string quoted(const std::vector<std::string>& names) {
  std::vector<std::string> words;
  for (const std::string& name : names) words.push_back(fmt::format("\"{}\"", name));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::vector<std::string> nearest(const UnknownName& name) {
  constexpr std::size_t kMostNames = 3;
  constexpr std::size_t kLongestWord = 100;  // nobody mistypes a longer one, and the search is quadratic
  if (name.word.size() > kLongestWord || name.word.empty()) return {};
  const std::string word = lowered(name.word);
  struct Candidate {
    std::size_t distance;
    std::string name;
  };
  std::vector<Candidate> candidates;
  for (const std::string& known : name.known) {
    const std::string other = lowered(known);
    const std::size_t edits = edits_between(word, other);
    const bool contained = word.size() >= 2 && other.find(word) != std::string::npos;
    if (contained || edits <= std::max<std::size_t>(1, word.size() / 3)) candidates.push_back({edits, known});
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::distance);
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates) {
    if (names.size() < kMostNames) names.push_back(candidate.name);
  }
  return names;
}

std::string unknown_name(const UnknownName& name) {
  constexpr std::size_t kFew = 12;
  constexpr std::size_t kShown = 80;
  const std::string shown = name.word.size() <= kShown ? name.word : name.word.substr(0, kShown) + "...";
  const std::string sentence = fmt::format("\"{}\" is not a known {}", shown, name.kind);
  const auto near = nearest(name);
  if (!near.empty()) return fmt::format("{}; did you mean {}?", sentence, quoted(near));
  if (name.known.size() <= kFew) return fmt::format("{}; known are {}", sentence, quoted(name.known));
  return sentence;
}

}  // namespace shardcheck
