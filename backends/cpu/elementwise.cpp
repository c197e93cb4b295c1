#include "backends/cpu/elementwise.h"

#include <cstring>

#include "backends/cpu/element.h"
#include "backends/cpu/rounded.h"
#include "core/assert.h"

namespace shardcheck::cpu {
namespace {

template <class E>
typename E::Stored* elements(const Range& range, E) {
  return reinterpret_cast<typename E::Stored*>(range.data);
}

void check(const SourceTo& ranges) {
  SC_ASSERT(ranges.source.numel == ranges.destination.numel, "source and destination differ in size");
}

/// Calls visit(source element type, destination element type).
template <class Visit>
void with_elements(const SourceTo& ranges, Visit visit) {
  with_element(ranges.source.dtype, [&](auto source) {
    with_element(ranges.destination.dtype, [&](auto destination) { visit(source, destination); });
  });
}

}  // namespace

void fill(const Range& range, float value) {
  if (bytes_of(range.dtype) == 1) {
    SC_ASSERT(value == 0, "one-byte elements are filled with zero only: a value needs a cast policy");
    std::memset(range.data, 0, static_cast<std::size_t>(range.numel));
    return;
  }
  with_element(range.dtype, [&](auto e) {
    using E = decltype(e);
    std::fill_n(elements(range, e), range.numel, E::narrow(value));
  });
}

void copy(const SourceTo& ranges) {
  check(ranges);
  if (ranges.source.numel == 0) return;
  if (ranges.source.dtype == ranges.destination.dtype) {
    std::memmove(ranges.destination.data, ranges.source.data,
                 static_cast<std::size_t>(ranges.source.bytes()));
    return;
  }
  with_elements(ranges, [&](auto s, auto d) {
    using S = decltype(s);
    using D = decltype(d);
    const auto* from = elements(ranges.source, s);
    auto* to = elements(ranges.destination, d);
    for (std::int64_t i = 0; i < ranges.source.numel; ++i) to[i] = D::narrow(S::widen(from[i]));
  });
}

void add(const SourceTo& ranges) {
  check(ranges);
  with_elements(ranges, [&](auto s, auto d) {
    using S = decltype(s);
    using D = decltype(d);
    const auto* from = elements(ranges.source, s);
    auto* to = elements(ranges.destination, d);
    for (std::int64_t i = 0; i < ranges.source.numel; ++i) {
      to[i] = rounded_sum<D, S>(D::widen(to[i]), S::widen(from[i]));
    }
  });
}

void scale(const Range& range, float factor) {
  with_element(range.dtype, [&](auto e) {
    using E = decltype(e);
    auto* to = elements(range, e);
    with_product<E>(factor, [&](auto product) {
      for (std::int64_t i = 0; i < range.numel; ++i) to[i] = product(E::widen(to[i]));
    });
  });
}

void sgd_step(const SourceTo& ranges, float rate) {
  check(ranges);
  SC_ASSERT(ranges.destination.dtype == DType::f32, "master weights are fp32");
  auto* weights = elements(ranges.destination, F32{});
  with_element(ranges.source.dtype, [&](auto s) {
    using S = decltype(s);
    const auto* gradient = elements(ranges.source, s);
    for (std::int64_t i = 0; i < ranges.source.numel; ++i) {
      const float step = rate * S::widen(gradient[i]);
      weights[i] = weights[i] - step;
    }
  });
}

}  // namespace shardcheck::cpu
