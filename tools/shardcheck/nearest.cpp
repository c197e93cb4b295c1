#include "tools/shardcheck/nearest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace shardcheck {
namespace {

std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other (Damerau).
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> edits(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = edits[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      edits[i][j] = std::min({replaced, edits[i - 1][j] + 1, edits[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
    }
  }
  return edits[a.size()][b.size()];
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
  const std::string all = name.all.empty() ? "" : fmt::format("`{}` lists them", name.all);
  if (!near.empty())
    return fmt::format("{}; did you mean {}?{}{}", sentence, quoted(near), all.empty() ? "" : " ", all);
  if (name.known.size() <= kFew) return fmt::format("{}; known are {}", sentence, quoted(name.known));
  return all.empty() ? sentence : fmt::format("{}; {}", sentence, all);
}

}  // namespace shardcheck
