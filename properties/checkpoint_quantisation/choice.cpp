#include "properties/checkpoint_quantisation/choice.h"

#include <algorithm>
#include <optional>

namespace shardcheck::verify {
namespace {

using namespace recipe;

constexpr std::size_t kSampled = 16;        ///< pairs of a kind
constexpr std::int64_t kSampledRows = 256;  ///< of each, where the recipe does not look at the whole

std::string kind_of(const std::vector<Candidate>& candidates) {
  std::string kind;
  for (const Candidate& candidate : candidates) kind += std::string(candidate.recipe->name) + " ";
  return kind;
}

bool looks_at_the_whole(const Recipe& recipe) {
  return recipe.formula == ScaleFormula::two_level || recipe.block.along == 0 || recipe.block.across == 0;
}

/// Share of the sampled blocks that hold.
double share_of(const Pair& pair, const Candidate& candidate, const checkpoint::TensorFiles* source,
                const SweepOptions& options) {
  const auto* tensor = source == nullptr ? nullptr : source->find(pair.source_name());
  const bool has_source = tensor != nullptr && is_source_of(candidate, pair, *tensor);
  const Subject subject(pair, candidate, has_source ? std::optional(*tensor) : std::nullopt);
  const std::int64_t all = pair.extent.rows;
  const std::int64_t rows = looks_at_the_whole(*candidate.recipe) ? all : std::min(all, kSampledRows);
  const SweepOptions quiet{options.threads, options.stop, {}};
  const Sweep sweep =
      has_source ? sweep_against_source(subject, quiet, rows) : sweep_alone(subject, quiet, rows);
  return 1 - static_cast<double>(sweep.broken_blocks) /
                 static_cast<double>(std::max<std::int64_t>(sweep.blocks, 1));
}

}  // namespace

Choice::Choice(const std::vector<Pair>& pairs, const checkpoint::TensorFiles* source,
               const SweepOptions& options) {
  std::map<std::string, std::vector<const Pair*>> kinds;
  for (const Pair& pair : pairs) kinds[kind_of(candidates_of(pair))].push_back(&pair);
  for (const auto& [kind, members] : kinds) {
    const std::vector<Candidate> candidates = candidates_of(*members.front());
    if (candidates.empty()) continue;
    std::vector<double> shares(candidates.size());
    const std::size_t count = candidates.size() == 1 ? 0 : std::min(members.size(), kSampled);
    for (std::size_t i = 0; i < count; ++i) {
      const Pair& pair = *members[i * members.size() / count];
      const std::vector<Candidate> of_pair = candidates_of(pair);
      for (std::size_t c = 0; c < of_pair.size(); ++c)
        shares[c] += share_of(pair, of_pair[c], source, options);
    }
    const auto best = static_cast<std::size_t>(std::ranges::max_element(shares) - shares.begin());
    Vote vote{candidates[best].recipe, {}};
    for (std::size_t c = best + 1; c < candidates.size(); ++c) {
      if (shares[c] == shares[best]) vote.equals.push_back(candidates[c].recipe->name);
    }
    votes_.emplace(kind, std::move(vote));
  }
}

std::optional<Candidate> Choice::of(const Pair& pair) const {
  const auto found = votes_.find(kind_of(candidates_of(pair)));
  return found == votes_.end() ? std::nullopt : candidate_of(*found->second.best, pair);
}

std::vector<std::string_view> Choice::equals_of(const Pair& pair) const {
  const auto found = votes_.find(kind_of(candidates_of(pair)));
  return found == votes_.end() ? std::vector<std::string_view>{} : found->second.equals;
}

}  // namespace shardcheck::verify
