#include "properties/scale_law/amax_laws.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace shardcheck {
namespace {

using namespace recipe;

enum class Order { whole, in_order, reversed };

/// Amaxes of the list, as one piece or as two.
std::vector<float> measured(const ScaleSubject& s, AmaxNan nan, std::span<const float> values, Order order) {
  std::vector<float> amaxes(static_cast<std::size_t>(s.blocks.count()));
  const auto cut = static_cast<std::size_t>(s.c.cut);
  const Piece first{0, values.first(cut)}, second{s.c.cut, values.subspan(cut)};
  switch (order) {
    case Order::whole: s.machine.take_amaxes(s.recipe, s.blocks, nan, {0, values}, amaxes); break;
    case Order::in_order:
      s.machine.take_amaxes(s.recipe, s.blocks, nan, first, amaxes);
      s.machine.take_amaxes(s.recipe, s.blocks, nan, second, amaxes);
      break;
    case Order::reversed:
      s.machine.take_amaxes(s.recipe, s.blocks, nan, second, amaxes);
      s.machine.take_amaxes(s.recipe, s.blocks, nan, first, amaxes);
      break;
  }
  return amaxes;
}

constexpr Order kOrders[] = {Order::whole, Order::in_order, Order::reversed};
constexpr std::string_view kWords[] = {"in one piece", "in two pieces", "in two pieces, the second first"};

}  // namespace

ScaleVerdict measures_the_largest(const ScaleSubject& s) {
  std::vector<float> values(s.matrix.values.begin(), s.matrix.values.end()), negated = values;
  for (float& value : values) value = std::isnan(value) ? 0.0f : value;
  for (std::size_t i = 0; i < values.size(); ++i) negated[i] = -values[i];
  const std::vector<float> expected = s.exact_amaxes();
  for (const std::span<const float> numbers :
       {std::span<const float>(values), std::span<const float>(negated)}) {
    for (const Order order : kOrders) {
      const std::vector<float> actual = measured(s, s.recipe.amax_nan, numbers, order);
      for (std::size_t b = 0; b < expected.size(); ++b) {
        if (!is_same_number(expected[b], actual[b]))
          return fmt::format("the amax of block {}, {}{}, is {} and not {}", b,
                             kWords[static_cast<int>(order)],
                             numbers.data() == negated.data() ? ", negated" : "", actual[b], expected[b]);
      }
    }
  }
  return std::nullopt;
}

ScaleVerdict treats_nan_alike(const ScaleSubject& s) {
  std::vector<float> values(s.matrix.values.begin(), s.matrix.values.end());
  for (float& value : values) value = std::isnan(value) ? 1.0f : value;
  const std::size_t last = values.size() - 1;
  for (const std::size_t place : {std::size_t{0}, last, std::min(static_cast<std::size_t>(s.c.cut), last)}) {
    const float kept = std::exchange(values[place], 0.0f);
    const std::vector<float> without = measured(s, AmaxNan::drop, values, Order::whole);
    values[place] = std::numeric_limits<float>::quiet_NaN();
    for (const AmaxNan nan : {AmaxNan::drop, AmaxNan::propagate}) {
      std::vector<float> expected = without;
      if (nan == AmaxNan::propagate) expected[s.block_of(place)] = values[place];
      for (const Order order : kOrders) {
        const std::vector<float> actual = measured(s, nan, values, order);
        const float amax = actual[s.block_of(place)];
        if (!is_same_list(expected, actual))
          return fmt::format("with a NaN at element {}, {}, its block's amax is {}; the policy {}s NaN",
                             place, kWords[static_cast<int>(order)], amax,
                             nan == AmaxNan::drop ? "drop" : "propagate");
      }
    }
    values[place] = kept;
  }
  return std::nullopt;
}

}  // namespace shardcheck
