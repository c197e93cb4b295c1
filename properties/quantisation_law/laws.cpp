#include "properties/quantisation_law/laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "core/assert.h"
#include "core/numerics/decode.h"
#include "properties/quantisation_law/plan_laws.h"

namespace shardcheck {
namespace {

using namespace recipe;
using Findings = std::vector<Finding>;

/// Where a run differs from what it should be.
struct Spot {
  std::size_t rank, weight;
  std::int64_t element = -1;
  std::string sentence;
};

Finding finding(std::string_view clause, const ShardedCall& call, const Spot& spot) {
  Finding found{.clause = std::string(clause), .sentence = spot.sentence};
  found.rank = static_cast<std::int32_t>(spot.rank);
  found.parameter = static_cast<std::int32_t>(spot.weight);
  found.parameter_name = call.weights[spot.weight].name;
  found.element = spot.element;
  return found;
}

/// Calls visit(rank, weight) for every rank that holds the weight, until it returns a spot.
template <class Visit>
std::optional<Spot> first_spot(const ShardedCall& call, Visit visit) {
  for (std::size_t weight = 0; weight < call.weights.size(); ++weight) {
    for (std::size_t rank = 0; rank < call.weights[weight].owned.size(); ++rank) {
      if (auto spot = visit(rank, weight)) return spot;
    }
  }
  return std::nullopt;
}

bool is_same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}
bool is_same(const BlockScale& a, const BlockScale& b) {
  return a.stored == b.stored && is_same(a.factor, b.factor) && is_same(a.inverse, b.inverse);
}

Matrix matrix_of(const ShardedWeight& weight, const std::vector<float>& values) {
  return {weight.extent, values};
}

/// The copies of a weight quantised whole, by the same recipe.
std::vector<QuantizedCopy> whole_copies(const ShardedCall& call, const ShardedWeight& weight) {
  const std::vector<float> values = rounded_to(call.model_type, weight.master);
  std::vector<QuantizedCopy> copies;
  for (const Direction direction : {Direction::row, Direction::column})
    copies.push_back(
        quantize(*call.recipe, {direction, call.elements, call.given_scale}, matrix_of(weight, values)));
  return copies;
}

/// Element of the source at a place of the stored codes.
std::int64_t element_at(const QuantizedCopy& copy, std::int64_t place) {
  if (copy.stored == copy.source && copy.direction == Direction::row) return place;
  if (copy.stored != copy.source.transposed()) return place;
  return place % copy.stored.columns * copy.source.columns + place / copy.stored.columns;
}

std::optional<Spot> differing_copy(const QuantizedCopy& expected, const QuantizedCopy& actual) {
  const char* direction = expected.direction == Direction::row ? "row" : "column";
  if (actual.codes.size() != expected.codes.size())
    return Spot{0, 0, -1, fmt::format("the {} copy does not exist", direction)};
  if (actual.scales.bytes != expected.scales.bytes) {
    const auto place =
        std::ranges::mismatch(expected.scales.bytes, actual.scales.bytes).in1 - expected.scales.bytes.begin();
    return Spot{0, 0, -1, fmt::format("the {} copy's scales differ from byte {} on", direction, place)};
  }
  if (!is_same(actual.tensor_inverse, expected.tensor_inverse))
    return Spot{
        0, 0, -1,
        fmt::format("the scale of the tensor is {}, not {}", actual.tensor_inverse, expected.tensor_inverse)};
  const auto [right, wrong] = std::ranges::mismatch(expected.codes, actual.codes);
  if (right == expected.codes.end()) return std::nullopt;
  const std::int64_t element = element_at(expected, right - expected.codes.begin());
  return Spot{0, 0, element,
              fmt::format("the {} copy has code 0x{:02x} at element {}, not 0x{:02x}", direction, *wrong,
                          element, *right)};
}

bool has_special(const ShardedWeight& weight) {
  return std::ranges::any_of(weight.master, [](float value) { return !std::isfinite(value); });
}

/// F40; F44 where a NaN or infinity is among the numbers.
void judge_copies(const ShardedCall& call, const ShardedOutcome& outcome, Findings& findings) {
  for (std::size_t weight = 0; weight < call.weights.size(); ++weight) {
    const std::vector<QuantizedCopy> expected = whole_copies(call, call.weights[weight]);
    for (std::size_t rank = 0; rank < call.weights[weight].owned.size(); ++rank) {
      for (std::size_t d = 0; d < expected.size(); ++d) {
        auto spot = differing_copy(expected[d], outcome.ranks[rank][weight].copies[d]);
        if (!spot) continue;
        spot->rank = rank;
        spot->weight = weight;
        spot->sentence = fmt::format("{} on rank {}: {}", call.weights[weight].name, rank, spot->sentence);
        findings.push_back(finding(has_special(call.weights[weight]) ? "F44" : "F40", call, *spot));
        return;
      }
    }
  }
}

/// F41: scales are those of rank 0.
std::optional<Spot> differing_scales(const ShardedCall& call, const ShardedOutcome& outcome) {
  return first_spot(call, [&](std::size_t rank, std::size_t weight) -> std::optional<Spot> {
    const auto& first = outcome.ranks[0][weight].scales;
    const auto& other = outcome.ranks[rank][weight].scales;
    for (std::size_t d = 0; d < first.size(); ++d) {
      for (std::size_t block = 0; block < first[d].blocks.size(); ++block) {
        if (is_same(first[d].blocks[block], other[d].blocks[block])) continue;
        return Spot{rank, weight, -1,
                    fmt::format("{}, block {}: rank 0 scales by {}, rank {} by {}", call.weights[weight].name,
                                block, first[d].blocks[block].factor, rank, other[d].blocks[block].factor)};
      }
    }
    return std::nullopt;
  });
}

/// F43: a rank without a piece contributes 0.
std::optional<Spot> contribution_of_nothing(const ShardedCall& call, const ShardedOutcome& outcome) {
  return first_spot(call, [&](std::size_t rank, std::size_t weight) -> std::optional<Spot> {
    if (!call.weights[weight].owned[rank].empty()) return std::nullopt;
    const auto& amaxes = outcome.ranks[rank][weight].own_amaxes;
    const auto found = std::ranges::find_if(amaxes, [](float amax) { return !is_same(amax, 0.0f); });
    if (found == amaxes.end()) return std::nullopt;
    return Spot{rank, weight, -1,
                fmt::format("rank {} owns nothing of {} and contributes an amax of {}", rank,
                            call.weights[weight].name, *found)};
  });
}

/// What a rank measures of a weight when its pieces are those values.
std::vector<float> own_amaxes(const ShardedCall& call, const ShardedWeight& weight, std::size_t rank,
                              const std::vector<float>& values) {
  std::vector<float> all;
  for (const Direction direction : quantised_directions(*call.recipe)) {
    const Blocks blocks = blocks_of(call.recipe->block, direction, weight.extent);
    std::vector<float> amaxes(static_cast<std::size_t>(blocks.count()));
    for (const layout::Range& range : weight.owned[rank])
      take_amaxes(blocks, call.recipe->amax_nan,
                  {range.lo, std::span(values).subspan(static_cast<std::size_t>(range.lo),
                                                       static_cast<std::size_t>(range.numel()))},
                  amaxes);
    all.insert(all.end(), amaxes.begin(), amaxes.end());
  }
  return all;
}

/// Whether what a rank cast of its pieces is what those values give with its own scales.
bool casts_are_of(const ShardedCall& call, const ShardedWeight& weight, std::size_t rank,
                  const WeightOutcome& outcome, const std::vector<float>& values) {
  const auto directions = quantised_directions(*call.recipe);
  for (std::size_t d = 0; d < directions.size(); ++d) {
    const Blocks blocks = blocks_of(call.recipe->block, directions[d], weight.extent);
    for (const layout::Range& range : weight.owned[rank]) {
      const auto lo = static_cast<std::size_t>(range.lo), count = static_cast<std::size_t>(range.numel());
      std::vector<std::uint8_t> codes(count);
      cast_piece(*call.recipe, call.elements, blocks, outcome.scales[d],
                 {range.lo, std::span(values).subspan(lo, count)}, codes);
      if (!std::equal(codes.begin(), codes.end(), outcome.cast_codes[d].begin() + range.lo)) return false;
    }
  }
  return true;
}

bool is_same_list(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, [](float x, float y) { return is_same(x, y); });
}

/// F47: what was measured and cast is the master after the declared rounding. It is another rounding's when
/// it is not the declared one's and another one explains it.
std::optional<Spot> another_rounding(const ShardedCall& call, const ShardedOutcome& outcome) {
  const std::optional<FormatId> others[] = {std::nullopt, FormatId::bf16, FormatId::f16};
  return first_spot(call, [&](std::size_t rank, std::size_t index) -> std::optional<Spot> {
    const ShardedWeight& weight = call.weights[index];
    const WeightOutcome& seen = outcome.ranks[rank][index];
    const auto is_measured = [&](const std::vector<float>& values) {
      return is_same_list(seen.own_amaxes, own_amaxes(call, weight, rank, values));
    };
    const auto is_cast = [&](const std::vector<float>& values) {
      return casts_are_of(call, weight, rank, seen, values);
    };
    const auto declared = rounded_to(call.model_type, weight.master);
    const bool measured = is_measured(declared), cast = is_cast(declared);
    for (const auto& other : others) {
      if ((measured && cast) || other == call.model_type) continue;
      const auto values = rounded_to(other, weight.master);
      const bool explains_cast = !cast && is_cast(values);
      if (!explains_cast && (measured || !is_measured(values))) continue;
      return Spot{
          rank, index, -1,
          fmt::format("rank {} {} {} {}, and the call says {}", rank, explains_cast ? "casts" : "measures",
                      weight.name,
                      other ? fmt::format("rounded to {}", format_of(*other).name) : std::string("unrounded"),
                      call.model_type ? fmt::format("rounded to {}", format_of(*call.model_type).name)
                                      : std::string("unrounded"))};
    }
    return std::nullopt;
  });
}

/// F42: what a rank has not cast is as it was.
std::optional<Spot> overwritten(const ShardedCall& call, const ShardedOutcome& outcome) {
  return first_spot(call, [&](std::size_t rank, std::size_t weight) -> std::optional<Spot> {
    const auto& owned = call.weights[weight].owned[rank];
    for (const auto& codes : outcome.ranks[rank][weight].cast_codes) {
      for (std::int64_t e = 0; e < std::ssize(codes); ++e) {
        if (codes[static_cast<std::size_t>(e)] == kCanary) continue;
        if (std::ranges::any_of(owned, [&](const layout::Range& r) { return r.lo <= e && e < r.hi; }))
          continue;
        return Spot{rank, weight, e,
                    fmt::format("rank {} overwrites element {} of {}, which it does not own", rank, e,
                                call.weights[weight].name)};
      }
    }
    return std::nullopt;
  });
}

struct Ran {
  ShardedPlan plan;
  ShardedOutcome outcome;
};
Ran ran(const ShardedCall& call, CorruptPlan corrupt) {
  Ran result{plan_sharded(call), {}};
  if (corrupt != nullptr) corrupt(call, result.plan);
  result.outcome = run_sharded(call, result.plan);
  return result;
}

/// F49: the same call in other batches.
void judge_batching(const ShardedCall& call, CorruptPlan corrupt, const ShardedOutcome& outcome,
                    Findings& findings) {
  if (call.weights.size() < 2) return;
  ShardedCall other = call;
  other.weights_at_once = call.weights_at_once == 1 ? 0 : 1;
  const Ran again = ran(other, corrupt);
  if (again.outcome.stuck_at) return;
  const auto spot = first_spot(call, [&](std::size_t rank, std::size_t weight) -> std::optional<Spot> {
    for (std::size_t d = 0; d < 2; ++d) {
      auto found =
          differing_copy(outcome.ranks[rank][weight].copies[d], again.outcome.ranks[rank][weight].copies[d]);
      if (!found) continue;
      found->rank = rank;
      found->weight = weight;
      found->sentence = fmt::format(
          "{} on rank {}, {} weights at once instead of {}: {}", call.weights[weight].name, rank,
          other.weights_at_once == 0 ? "all" : "1",
          call.weights_at_once == 0 ? "all" : fmt::format("{}", call.weights_at_once), found->sentence);
      return found;
    }
    return std::nullopt;
  });
  if (spot) findings.push_back(finding("F49", call, *spot));
}

Finding stuck(const std::vector<std::size_t>& waiting) {
  std::string places;
  for (std::size_t rank = 0; rank < waiting.size(); ++rank)
    places += fmt::format("{}{} at step {}", rank == 0 ? "rank " : ", rank ", rank, waiting[rank]);
  return {.clause = "F45", .sentence = "no collective has all of its ranks: " + places};
}

}  // namespace

std::vector<Finding> judge_sharded(const ShardedCall& call, CorruptPlan corrupt) {
  Findings findings;
  const Ran run = ran(call, corrupt);
  judge_plan(call, run.plan, findings);
  if (run.outcome.stuck_at) {
    if (findings.empty()) findings.push_back(stuck(*run.outcome.stuck_at));
    return findings;
  }
  const auto add = [&](std::string_view clause, const std::optional<Spot>& spot) {
    const bool is_known = std::ranges::any_of(findings, [&](const Finding& f) { return f.clause == clause; });
    if (spot && !is_known) findings.push_back(finding(clause, call, *spot));
  };
  add("F42", overwritten(call, run.outcome));
  add("F43", contribution_of_nothing(call, run.outcome));
  add("F41", differing_scales(call, run.outcome));
  add("F47", another_rounding(call, run.outcome));
  judge_copies(call, run.outcome, findings);
  judge_batching(call, corrupt, run.outcome, findings);
  return findings;
}

}  // namespace shardcheck
