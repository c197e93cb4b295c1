#include "properties/checkpoint_quantisation/explanation.h"

#include <algorithm>
#include <map>

#include "properties/checkpoint_quantisation/code_guesses.h"
#include "properties/checkpoint_quantisation/lone_guesses.h"
#include "properties/checkpoint_quantisation/place_guesses.h"
#include "properties/checkpoint_quantisation/scale_guesses.h"

namespace shardcheck::verify {
namespace {

constexpr std::string_view kUnexplained = "not explained by any guess";
constexpr std::size_t kMostAlternatives = 2;

std::vector<Guess> guesses_at(const Evidence& evidence, const Specimen& specimen) {
  if (!evidence.has_source()) return lone_guesses(evidence, specimen);
  // Places first: a transposed grid also has, at every place, the scale of another block.
  std::vector<Guess> guesses = place_guesses(evidence, specimen);
  for (const auto& more : {scale_guesses(evidence, specimen), code_guesses(evidence, specimen)})
    guesses.insert(guesses.end(), more.begin(), more.end());
  return guesses.empty() ? last_guesses(evidence, specimen) : guesses;
}

/// A sentence and the specimens that it explains.
struct Claim {
  std::string_view clause;
  std::string sentence;
  std::size_t rank = 0;  ///< likelier ones have smaller ones
  std::map<std::size_t, std::string> specimens;
};

std::vector<Claim> claims_of(const std::vector<std::vector<Guess>>& guesses) {
  std::vector<Claim> claims;
  for (std::size_t s = 0; s < guesses.size(); ++s) {
    for (std::size_t rank = 0; rank < guesses[s].size(); ++rank) {
      const Guess& guess = guesses[s][rank];
      auto found = std::ranges::find(claims, guess.sentence, &Claim::sentence);
      if (found == claims.end())
        found = claims.insert(claims.end(), {guess.clause, guess.sentence, rank, {}});
      found->rank = std::min(found->rank, rank);
      found->specimens.emplace(s, guess.detail);
    }
  }
  return claims;
}

/// Those of a claim's specimens that are still to be explained.
std::vector<std::size_t> open_of(const Claim& claim, const std::vector<bool>& is_explained) {
  std::vector<std::size_t> open;
  for (const auto& [s, detail] : claim.specimens) {
    if (!is_explained[s]) open.push_back(s);
  }
  return open;
}

Kind kind_of(const Claim& claim, const std::vector<std::size_t>& specimens) {
  Kind kind{std::string(claim.clause), claim.sentence, std::ssize(specimens), {}, {}, {}};
  for (const std::size_t s : specimens) {
    if (kind.examples.size() == kMostExamples) break;
    kind.examples.push_back(s);
    kind.details.push_back(claim.specimens.at(s));
  }
  return kind;
}

}  // namespace

Explanation explain(const Evidence& evidence) {
  std::vector<std::vector<Guess>> guesses;
  for (const Specimen& specimen : evidence.specimens) guesses.push_back(guesses_at(evidence, specimen));
  std::vector<Claim> claims = claims_of(guesses);
  Explanation explanation{{}, std::ssize(guesses), evidence.has_whole()};
  std::vector<bool> is_explained(guesses.size());
  while (true) {
    const Claim* best = nullptr;
    std::vector<std::size_t> most;
    for (const Claim& claim : claims) {
      const auto open = open_of(claim, is_explained);
      const bool is_better = open.size() > most.size() ||
                             (!most.empty() && open.size() == most.size() && claim.rank < best->rank);
      if (!is_better) continue;
      best = &claim;
      most = open;
    }
    if (best == nullptr) break;
    Kind kind = kind_of(*best, most);
    for (const Claim& claim : claims) {
      if (&claim != best && kind.alternatives.size() < kMostAlternatives &&
          open_of(claim, is_explained) == most)
        kind.alternatives.push_back(claim.sentence);
    }
    for (const std::size_t s : most) is_explained[s] = true;
    explanation.kinds.push_back(std::move(kind));
  }
  Claim rest{"", std::string(kUnexplained), 0, {}};
  for (std::size_t s = 0; s < guesses.size(); ++s) {
    if (!is_explained[s]) rest.specimens.emplace(s, "");
  }
  const auto open = open_of(rest, is_explained);
  if (!open.empty()) {
    rest.clause = evidence.specimens[open.front()].broken.clause;
    explanation.kinds.push_back(kind_of(rest, open));
  }
  return explanation;
}

}  // namespace shardcheck::verify
