#include "backends/cpu/collectives.h"

#include <algorithm>
#include <cstring>

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

void CollectiveUnit::run(const Communicate& communicate, const CollectiveRanges& all, const Fold& fold) {
  const auto size = static_cast<std::size_t>(communicate.group);
  SC_ASSERT(communicate.group > 0 && all.ranks.size() % size == 0, "the ranks are not whole groups");
  for (std::size_t first = 0; first < all.ranks.size(); first += size) {
    run_group(
        communicate,
        {all.ranks.subspan(first, size), all.inputs.subspan(first, size), all.outputs.subspan(first, size)},
        fold);
  }
}

void CollectiveUnit::run(const Communicate& communicate, const CollectiveRanges& all) {
  Rank last{0};
  for (Rank rank : all.ranks) last = std::max(last, rank);
  run(communicate, all, {.ranks = last.value + 1, .gpus = 1});
}

void CollectiveUnit::run_group(const Communicate& communicate, const CollectiveRanges& group,
                               const Fold& fold) {
  check(communicate, group);
  if (communicate.collective == Collective::all_gather) {
    gather(group);
  } else {
    reduce(communicate.reduction, group, fold);
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

void CollectiveUnit::reduce(Reduction reduction, const CollectiveRanges& group, const Fold& fold) {
  const std::int64_t numel = group.inputs[0].numel;
  const std::vector<PartialSum> parts = partial_sums(fold, group.ranks);
  sums_.resize(static_cast<std::size_t>(numel));
  partial_.resize(parts.size() > 1 ? static_cast<std::size_t>(numel) : 0);
  result_.resize(static_cast<std::size_t>(group.inputs[0].bytes()));

  with_element(group.inputs[0].dtype, [&](auto e) {
    using E = decltype(e);
    const auto accumulate = [&](const PartialSum& part, float* sums, auto addend) {
      for (std::size_t position : part.positions) {
        const auto* from = elements(group.inputs[position], e);
        if (position == part.positions.front()) {
          for (std::int64_t i = 0; i < numel; ++i) sums[i] = addend(from[i]);
        } else {
          for (std::int64_t i = 0; i < numel; ++i) {
            sums[i] = E::widen(rounded_sum<E, E>(sums[i], addend(from[i])));
          }
        }
      }
    };
    const auto accumulate_parts = [&](auto addend) {
      float *const sums = sums_.data(), *const partial = partial_.data();
      accumulate(parts.front(), sums, addend);
      for (std::size_t part = 1; part < parts.size(); ++part) {
        accumulate(parts[part], partial, addend);
        for (std::int64_t i = 0; i < numel; ++i) {
          sums[i] = E::widen(rounded_sum<E, E>(sums[i], partial[i]));
        }
      }
    };
    if (reduction == Reduction::sum) {
      accumulate_parts([](auto x) { return E::widen(x); });
    } else {
      with_product<E>(rounded_reciprocal<E>(group.ranks.size()), [&](auto product) {
        accumulate_parts([product](auto x) { return E::widen(product(E::widen(x))); });
      });
    }
    auto* to = reinterpret_cast<typename E::Stored*>(result_.data());
    for (std::int64_t i = 0; i < numel; ++i) to[i] = E::narrow(sums_[static_cast<std::size_t>(i)]);  // exact
  });
}

}  // namespace shardcheck::cpu
