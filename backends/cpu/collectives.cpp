#include "backends/cpu/collectives.h"

#include <algorithm>
#include <array>

#include "backends/cpu/element.h"
#include "backends/cpu/on_threads.h"
#include "backends/cpu/rounded.h"
#include "core/assert.h"
#include "core/integers.h"

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

/// Elements that are summed over all ranks before the next ones: the sums stay in the first cache.
constexpr std::int64_t kStretch = 4096;

struct Stretch {
  const CollectiveRanges& group;
  const std::vector<PartialSum>& parts;
  std::int64_t begin, end;
};

/// Elements [begin, end) of the reduction in `to`. Every partial sum is a value of E.
template <class E, class Addend>
void sum_stretch(const Stretch& stretch, Addend addend, typename E::Stored* to) {
  const std::int64_t numel = stretch.end - stretch.begin;
  std::array<float, kStretch> sums, partial;
  const auto accumulate = [&](const PartialSum& part, float* into) {
    for (std::size_t position : part.positions) {
      const auto* from = elements(stretch.group.inputs[position], E{}) + stretch.begin;
      if (position == part.positions.front()) {
        for (std::int64_t i = 0; i < numel; ++i) into[i] = addend(from[i]);
      } else {
        for (std::int64_t i = 0; i < numel; ++i) {
          into[i] = E::widen(rounded_sum<E, E>(into[i], addend(from[i])));
        }
      }
    }
  };
  accumulate(stretch.parts.front(), sums.data());
  for (std::size_t part = 1; part < stretch.parts.size(); ++part) {
    accumulate(stretch.parts[part], partial.data());
    for (std::int64_t i = 0; i < numel; ++i) {
      sums[static_cast<std::size_t>(i)] = E::widen(
          rounded_sum<E, E>(sums[static_cast<std::size_t>(i)], partial[static_cast<std::size_t>(i)]));
    }
  }
  for (std::int64_t i = 0; i < numel; ++i) {
    to[stretch.begin + i] = E::narrow(sums[static_cast<std::size_t>(i)]);  // exact
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
  const auto ranks = std::ssize(group.ranks);
  on_threads({ranks, ranks * group.outputs[0].bytes()}, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    std::copy_n(result_.data() + (scatters ? at * bytes : 0), bytes, group.outputs[at].data);
  });
}

void CollectiveUnit::gather(const CollectiveRanges& group) {
  const auto bytes = static_cast<std::size_t>(group.inputs[0].bytes());
  result_.resize(bytes * group.ranks.size());
  for (std::size_t i = 0; i < group.ranks.size(); ++i) {
    std::copy_n(group.inputs[i].data, bytes, result_.data() + i * bytes);
  }
}

/// The order of a maximum says nothing, so neither does the fold.
void CollectiveUnit::largest(const CollectiveRanges& group) {
  SC_ASSERT(group.inputs[0].dtype == DType::f32, "a maximum is of fp32 numbers");
  result_.assign(static_cast<std::size_t>(group.inputs[0].bytes()), std::byte{0});
  auto* const to = reinterpret_cast<float*>(result_.data());
  for (std::int64_t i = 0; i < group.inputs[0].numel; ++i) {
    float most = reinterpret_cast<const float*>(group.inputs[0].data)[i];
    for (const Range& input : group.inputs.subspan(1)) {
      const float other = reinterpret_cast<const float*>(input.data)[i];
      if (most != most || other > most) most = other;
    }
    to[i] = most;
  }
}

void CollectiveUnit::reduce(Reduction reduction, const CollectiveRanges& group, const Fold& fold) {
  if (reduction == Reduction::maximum) return largest(group);
  const std::int64_t numel = group.inputs[0].numel;
  const std::vector<PartialSum> parts = partial_sums(fold, group.ranks);
  result_.resize(static_cast<std::size_t>(group.inputs[0].bytes()));
  with_element(group.inputs[0].dtype, [&](auto e) {
    using E = decltype(e);
    auto* const to = reinterpret_cast<typename E::Stored*>(result_.data());
    const auto add_up = [&](auto addend) {
      const Pieces stretches{div_ceil(numel, kStretch),
                             group.inputs[0].bytes() * static_cast<std::int64_t>(group.ranks.size())};
      on_threads(stretches, [&](std::int64_t stretch) {
        const std::int64_t begin = stretch * kStretch;
        sum_stretch<E>({group, parts, begin, std::min(begin + kStretch, numel)}, addend, to);
      });
    };
    if (reduction == Reduction::sum) {
      add_up([](auto x) { return E::widen(x); });
    } else {
      with_product<E>(rounded_reciprocal<E>(group.ranks.size()), [&](auto product) {
        add_up([product](auto x) { return E::widen(product(E::widen(x))); });
      });
    }
  });
}

}  // namespace shardcheck::cpu
