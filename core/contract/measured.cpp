#include "core/contract/measured.h"

#include <algorithm>

namespace shardcheck {
namespace {

/// True when `next` goes on where `piece` ends, or lies over its end.
bool touches(const Measured& piece, const Measured& next) {
  Measured same = next;
  same.lo = piece.lo;
  same.hi = piece.hi;
  return piece.version >= 0 && same == piece && next.lo <= piece.hi;
}

}  // namespace

std::int32_t MeasuredSets::number_of(std::vector<Measured> pieces) {
  std::ranges::sort(pieces);
  std::vector<Measured> joined;
  for (const Measured& piece : pieces) {
    if (!joined.empty() && (joined.back() == piece || touches(joined.back(), piece)))
      joined.back().hi = std::max(joined.back().hi, piece.hi);
    else
      joined.push_back(piece);
  }
  const auto [found, is_new] = numbers_.try_emplace(joined, static_cast<std::int32_t>(sets_.size()));
  if (is_new) sets_.push_back(std::move(joined));
  return found->second;
}

std::int32_t MeasuredSets::with(std::int32_t set, const Measured& piece) {
  std::vector<Measured> pieces = sets_[static_cast<std::size_t>(set)];
  pieces.push_back(piece);
  return number_of(std::move(pieces));
}

std::int32_t MeasuredSets::joined(std::int32_t a, std::int32_t b) {
  if (a == b || b == kNone) return a;
  if (a == kNone) return b;
  std::vector<Measured> pieces = sets_[static_cast<std::size_t>(a)];
  const auto& others = sets_[static_cast<std::size_t>(b)];
  pieces.insert(pieces.end(), others.begin(), others.end());
  return number_of(std::move(pieces));
}

std::int32_t Scalings::number_of(const Scaling& scaling) {
  const auto [found, is_new] = numbers_.try_emplace(scaling, static_cast<std::int32_t>(rows_.size()));
  if (is_new) rows_.push_back(scaling);
  return found->second;
}

}  // namespace shardcheck
