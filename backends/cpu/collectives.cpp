#include "backends/cpu/collectives.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backends/cpu/element.h"
#include "backends/cpu/rounded.h"
#include "core/assert.h"

namespace shardcheck::cpu {
namespace {

template <class E>
const typename E::Stored* elements(const Range& range, E) {
  return reinterpret_cast<const typename E::Stored*>(range.data);
}

/// 1/R rounded once to E, as fp32. In double first: 1/R is no nearer than 2^-9 / R (relatively) to a midpoint
/// of a 16-bit type that it does not hit, and double's error is 2^-53.
template <class E>
float rounded_reciprocal(std::size_t count) {
  const double reciprocal = 1.0 / static_cast<double>(count);
  if constexpr (Narrow<E>) {
    return E::widen(narrow_once<E>(reciprocal));
  } else {
    return 1.0f / static_cast<float>(count);
  }
}

void check(const Communicate& communicate, const CollectiveRanges& group) {
  const auto parts = static_cast<std::int64_t>(group.ranks.size());
  const std::int64_t input = group.inputs[0].numel, output = group.outputs[0].numel;
  switch (communicate.collective) {
    case Collective::all_reduce: SC_ASSERT(input == output, "an all-reduce changes the size"); break;
    case Collective::reduce_scatter:
      SC_ASSERT(input == output * parts, "a part is not 1/group of the input");
      break;
    case Collective::all_gather:
      SC_ASSERT(input * parts == output, "an output is not group times the input");
      break;
  }
  for (std::size_t i = 0; i < group.ranks.size(); ++i) {
    SC_ASSERT(group.inputs[i].numel == input && group.outputs[i].numel == output,
              "sizes differ between ranks");
    SC_ASSERT(
        group.inputs[i].dtype == group.inputs[0].dtype && group.outputs[i].dtype == group.inputs[0].dtype,
        "types differ within a collective");
  }
}

}  // namespace

void CollectiveUnit::run(const Communicate& communicate, const CollectiveRanges& all) {
  const auto size = static_cast<std::size_t>(communicate.group);
  SC_ASSERT(communicate.group > 0 && all.ranks.size() % size == 0, "the ranks are not whole groups");
  for (std::size_t first = 0; first < all.ranks.size(); first += size) {
    run_group(communicate, {all.ranks.subspan(first, size), all.inputs.subspan(first, size),
                            all.outputs.subspan(first, size)});
  }
}

void CollectiveUnit::run_group(const Communicate& communicate, const CollectiveRanges& group) {
  check(communicate, group);
  if (communicate.collective == Collective::all_gather) {
    gather(group);
  } else {
    reduce(communicate.reduction, group);
  }
  const bool scatters = communicate.collective == Collective::reduce_scatter;
  const auto bytes = static_cast<std::size_t>(group.outputs[0].bytes());
  for (std::size_t i = 0; i < group.ranks.size(); ++i) {
    std::memcpy(group.outputs[i].data, result_.data() + (scatters ? i * bytes : 0), bytes);
  }
}

void CollectiveUnit::gather(const CollectiveRanges& group) {
  const auto bytes = static_cast<std::size_t>(group.inputs[0].bytes());
  result_.resize(bytes * group.ranks.size());
  for (std::size_t i = 0; i < group.ranks.size(); ++i) {
    std::memcpy(result_.data() + i * bytes, group.inputs[i].data, bytes);
  }
}

void CollectiveUnit::reduce(Reduction reduction, const CollectiveRanges& group) {
  const std::int64_t numel = group.inputs[0].numel;
  order_.resize(group.ranks.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::sort(order_.begin(), order_.end(),
            [&](std::size_t a, std::size_t b) { return group.ranks[a] < group.ranks[b]; });
  sums_.resize(static_cast<std::size_t>(numel));
  result_.resize(static_cast<std::size_t>(group.inputs[0].bytes()));

  with_element(group.inputs[0].dtype, [&](auto e) {
    using E = decltype(e);
    float* const sums = sums_.data();
    const auto accumulate = [&](auto addend) {
      for (std::size_t position : order_) {
        const auto* from = elements(group.inputs[position], e);
        if (position == order_.front()) {
          for (std::int64_t i = 0; i < numel; ++i) sums[i] = addend(from[i]);
        } else {
          for (std::int64_t i = 0; i < numel; ++i) {
            sums[i] = E::widen(rounded_sum<E, E>(sums[i], addend(from[i])));
          }
        }
      }
    };
    if (reduction == Reduction::sum) {
      accumulate([](auto x) { return E::widen(x); });
    } else {
      with_product<E>(rounded_reciprocal<E>(order_.size()), [&](auto product) {
        accumulate([product](auto x) { return E::widen(product(E::widen(x))); });
      });
    }
    auto* to = reinterpret_cast<typename E::Stored*>(result_.data());
    for (std::int64_t i = 0; i < numel; ++i) to[i] = E::narrow(sums[i]);  // exact: a value of E already
  });
}

}  // namespace shardcheck::cpu
