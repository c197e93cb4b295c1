#include "properties/cast_law/digest.h"

#include <algorithm>

namespace shardcheck {
namespace {

using Wide = unsigned __int128;

/// The sum over x in [0, count) of floor((a * x + b) / m), mod 2^128: Euclid's algorithm on a lattice
/// (Graham, Knuth, Patashnik, Concrete Mathematics 3.26). count <= 2^32 and m <= 2^32 keep every product
/// below 2^128.
Wide floor_sum(Wide count, Wide m, Wide a, Wide b) {
  Wide sum = 0;
  while (count > 0) {
    sum += a / m * (count * (count - 1) / 2) + b / m * count;
    a %= m;
    b %= m;
    const Wide top = a * count + b;
    if (top < m) break;
    count = top / m;
    b = top % m;
    const Wide old = m;
    m = a;
    a = old;
  }
  return sum;
}

}  // namespace

std::uint64_t sum_of_weights(std::uint64_t end) {
  constexpr Wide kFactor = 0x9E3779B1u, kStart = 0x7F4A7C15u, kModulus = Wide{1} << 32;
  const Wide count = end;
  if (count == 0) return 0;
  const Wide whole = kFactor * (count * (count - 1) / 2) + kStart * count;
  return static_cast<std::uint64_t>(whole - kModulus * floor_sum(count, kModulus, kFactor, kStart));
}

std::uint64_t cast_digest(const NearestCode& codes) {
  return cast_digest(codes, {0, std::uint64_t{1} << 32});
}

std::uint64_t cast_digest(const NearestCode& codes, InputRange range) {
  std::uint64_t digest = 0;
  for (std::uint64_t negative : {0u, 1u}) {
    if (negative == 1 && !codes.has_negative_sources()) break;
    const std::uint64_t sign = negative << 31;
    const auto& runs = codes.runs();
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::uint64_t next = i + 1 < runs.size() ? runs[i + 1].first : std::uint64_t{1} << 31;
      const std::uint64_t begin = std::max(sign + runs[i].first, range.begin);
      const std::uint64_t end = std::min(sign + next, range.end);
      if (begin >= end) continue;
      digest += (sum_of_weights(end) - sum_of_weights(begin)) * (runs[i].code[negative] + 1u);
    }
  }
  return digest;
}

}  // namespace shardcheck
