// Draw: a tiny source of decisions. One seed gives one sequence, on every machine and thread; the sequence is
// the Philox stream of that seed, read word by word. Next: random_scenario.h spends it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>

#include "core/assert.h"
#include "core/numerics/philox.h"

namespace shardcheck {

/// A line of a table to pick from: it comes up `weight` times in the sum of all weights.
template <class T>
struct Weighted {
  T value;
  std::int32_t weight = 1;
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  std::uint32_t word() {
    if (position_ % 4 == 0) words_ = philox(seed_, stream_, position_ / 4);
    return words_[position_++ % 4];
  }

  /// Uniform in [0, n) up to n / 2^32, which no test of a decision can see.
  std::int64_t below(std::int64_t n) {
    SC_ASSERT(n > 0 && n <= std::int64_t{1} << 31, "nothing to draw from");
    return static_cast<std::int64_t>((static_cast<std::uint64_t>(word()) * static_cast<std::uint64_t>(n)) >>
                                     32);
  }
  std::int32_t below(std::int32_t n) { return static_cast<std::int32_t>(below(std::int64_t{n})); }

  bool chance(std::int32_t percent) { return below(100) < percent; }

  /// Each of the values with the same probability.
  template <class T>
  T pick(std::initializer_list<T> values) {
    return *std::next(values.begin(), below(static_cast<std::int64_t>(values.size())));
  }

  template <class T, std::size_t n>
  T pick(const Weighted<T> (&table)[n]) {
    std::int32_t sum = 0;
    for (const Weighted<T>& line : table) sum += line.weight;
    std::int32_t rest = below(sum);
    for (const Weighted<T>& line : table) {
      rest -= line.weight;
      if (rest < 0) return line.value;
    }
    return table[n - 1].value;
  }

 private:
  std::uint64_t seed_, stream_, position_ = 0;
  std::array<std::uint32_t, 4> words_{};
};

}  // namespace shardcheck
