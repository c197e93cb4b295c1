#include "tools/shardcheck/fp8/explanation.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/assert.h"
#include "properties/cast_law/policy_ranges.h"

namespace shardcheck::fp8 {
namespace {

/// A bit a candidate that a pair excludes.
using Excluded = std::vector<bool>;

std::string parts_text(const CastPolicy& policy) {
  return fmt::format(
      "{}, finite overflow {}, infinity {}, NaN {} {} its sign",
      policy.rounding == Rounding::nearest_even ? "nearest even" : "toward zero",
      policy.finite_overflow == FiniteOverflow::saturate ? "saturates" : "to infinity or NaN",
      policy.infinity == InfinityRule::as_overflow ? "likewise" : "to infinity or NaN",
      policy.nan_code == NanCode::all_ones_or_max ? "all ones (or the largest)" : "quiet (or zero)",
      policy.nan_sign == NanSign::keep ? "with" : "without");
}

std::size_t count_of(const Excluded& set) {
  return static_cast<std::size_t>(std::ranges::count(set, true));
}

Excluded joined(Excluded a, const Excluded& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] || b[i];
  return a;
}

/// Pairs that exclude different sets of candidates, the first of each; sets within another one's are left
/// out.
struct Evidence {
  std::size_t pair;
  Excluded excluded;
};

std::vector<Evidence> strongest(std::vector<Evidence> all) {
  std::ranges::stable_sort(all, std::greater{}, [](const Evidence& each) { return count_of(each.excluded); });
  std::vector<Evidence> kept;
  for (const Evidence& each : all) {
    const bool is_within = std::ranges::any_of(
        kept, [&](const Evidence& other) { return joined(other.excluded, each.excluded) == other.excluded; });
    if (!is_within) kept.push_back(each);
  }
  return kept;
}

/// Chooses `count` pieces that exclude everything together, or says that there are none. The last piece that
/// is needed is the one without which the first remaining candidate stands.
bool covers(std::span<const Evidence> pieces, std::size_t count, const Excluded& so_far,
            std::vector<std::size_t>& chosen) {
  const auto standing = std::ranges::find(so_far, false);
  if (standing == so_far.end()) return true;
  if (count == 0) return false;
  const auto candidate = static_cast<std::size_t>(standing - so_far.begin());
  for (const Evidence& piece : pieces) {
    if (!piece.excluded[candidate]) continue;
    chosen.push_back(piece.pair);
    if (covers(pieces, count - 1, joined(so_far, piece.excluded), chosen)) return true;
    chosen.pop_back();
  }
  return false;
}

std::vector<std::size_t> fewest(const std::vector<Evidence>& pieces, std::size_t candidates) {
  for (std::size_t count = 1; count <= candidates; ++count) {
    std::vector<std::size_t> chosen;
    if (covers(pieces, count, Excluded(candidates, false), chosen)) {
      std::ranges::sort(chosen);
      return chosen;
    }
  }
  assertion_failed("pieces", "every candidate is excluded by some pair");
}

}  // namespace

std::vector<NamedCast> possible_casts(FormatId format) {
  std::vector<NamedCast> casts = named_casts(format);
  if (format == FormatId::e8m0) return casts;
  for (std::uint32_t parts = 0; parts < 32; ++parts) {
    const auto part = [&](std::uint32_t index) { return parts >> index & 1; };
    const CastPolicy policy{static_cast<Rounding>(part(4)), static_cast<FiniteOverflow>(part(3)),
                            static_cast<InfinityRule>(part(2)), static_cast<NanCode>(part(1)),
                            static_cast<NanSign>(part(0))};
    const bool has_name =
        std::ranges::any_of(kCastPolicies, [&](const auto& named) { return named.policy == policy; });
    if (!has_name) casts.push_back({format, parts_text(policy), policy});
  }
  return casts;
}

Explanation explain(std::span<const NamedCast> candidates, std::span<const ObservedCast> observed) {
  std::vector<Evidence> evidence;
  Excluded all(candidates.size(), false);
  for (std::size_t pair = 0; pair < observed.size(); ++pair) {
    Excluded excluded(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto& [bits, code] = observed[pair];
      excluded[i] = !candidates[i].takes(bits) || candidates[i].code_of(bits) != code;
    }
    all = joined(std::move(all), excluded);
    const bool is_new = std::ranges::find(evidence, excluded, &Evidence::excluded) == evidence.end();
    if (count_of(excluded) > 0 && is_new) evidence.push_back({pair, std::move(excluded)});
  }
  Explanation explanation;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!all[i]) explanation.explaining.push_back(candidates[i]);
  }
  if (explanation.explaining.empty())
    explanation.contradiction = fewest(strongest(evidence), candidates.size());
  return explanation;
}

std::optional<std::uint32_t> input_that_tells(const NamedCast& first, const NamedCast& second) {
  const auto ranges = ranges_that_differ(NearestCode(first), NearestCode(second));
  if (ranges.empty()) return std::nullopt;
  return ranges.front().first;
}

}  // namespace shardcheck::fp8
