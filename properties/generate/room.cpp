#include "properties/generate/room.h"

#include <algorithm>
#include <bit>

#include "core/integers.h"
#include "sim/scenario/provenance_coding.h"

namespace shardcheck {
namespace {

bool is_power_of_two(std::int64_t n) {
  return std::has_single_bit(static_cast<std::uint64_t>(n));
}

bool make_room_for(Scenario& s, std::int32_t parameter, std::int64_t spare) {
  constexpr std::int64_t kMostLanes = 40, kMostElements = 800;
  const UseCounts uses = use_counts(s, parameter);
  ScenarioParameter& p = s.parameters[static_cast<std::size_t>(parameter)];
  if (!p.trainable || uses.all == 0 || p.numel() == 0 || provenance_coding(s, parameter, uses)) return true;
  const std::int64_t lanes =
      div_ceil(provenance_contributions(s, parameter, uses), provenance_digits(s, parameter, uses));
  if (lanes > kMostLanes) return false;
  const bool lengthens_rows = p.shape.size() == 1 || p.columns() < p.rows_of_group();
  p.shape[lengthens_rows ? 0 : 1] = (lanes + spare) * (lengthens_rows ? p.groups : 1);
  return p.numel() <= kMostElements;
}

}  // namespace

void make_tokens_exact(Scenario& s) {
  const std::int64_t sum = tokens_of_step(s);
  const auto wanted = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(sum)));
  if (wanted == sum) return;
  const std::int64_t more = wanted - sum;
  const auto of_microbatch = std::ranges::find(s.token_counts, std::int32_t{-1},
                                               &TokenCount::parameter);  // routed ones do not count
  if (of_microbatch == s.token_counts.end())
    s.token_counts.push_back({0, 0, s.tokens + more});
  else
    of_microbatch->tokens += more;
}

bool has_exact_scale(const Scenario& s) {
  return is_power_of_two(s.loss == Loss::mean ? s.ranks : tokens_of_step(s));
}

bool has_room(const Scenario& s) {
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
    const ScenarioParameter& parameter = s.parameters[static_cast<std::size_t>(p)];
    const UseCounts uses = use_counts(s, p);
    if (parameter.trainable && uses.all > 0 && parameter.numel() > 0 && !provenance_coding(s, p, uses))
      return false;
  }
  return true;
}

bool make_room(Scenario& s, std::int64_t spare) {
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
    if (!make_room_for(s, p, spare)) return false;
  }
  return true;
}

}  // namespace shardcheck
