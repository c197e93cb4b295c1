#include "backends/cpu/casts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

#include "backends/cpu/element.h"
#include "core/assert.h"
#include "core/numerics/decode.h"
#include "core/numerics/fast_cast.h"

namespace shardcheck::cpu {
namespace {

bool is_fp8(DType type) {
  return type == DType::e4m3 || type == DType::e5m2;
}

const Format& fp8_format(DType type) {
  SC_ASSERT(is_fp8(type), "an FP8 operand has another type");
  return format_of(*format_id_of(type));
}

/// The value of every code of an FP8 type.
std::array<float, 256> values_of(DType type) {
  std::array<float, 256> values{};
  for (std::uint32_t code = 0; code < 256; ++code) values[code] = decode(fp8_format(type), code);
  return values;
}

constexpr std::int64_t kChunk = 2048;  ///< numbers at once: they stay in the first cache

/// Calls visit(index of the first, values as fp32) for every chunk; the visitor may change the values.
template <class Visit>
void for_each_chunk(const Range& range, Visit visit) {
  std::array<float, kChunk> values;
  const auto chunks = [&](auto widened) {
    for (std::int64_t begin = 0; begin < range.numel; begin += kChunk) {
      const std::int64_t count = std::min(kChunk, range.numel - begin);
      for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = widened(begin + i);
      visit(begin, std::span(values).first(static_cast<std::size_t>(count)));
    }
  };
  if (is_fp8(range.dtype)) {
    const std::array<float, 256> value_of = values_of(range.dtype);
    return chunks([&](std::int64_t i) { return value_of[static_cast<std::uint8_t>(range.data[i])]; });
  }
  with_element(range.dtype, [&](auto e) {
    using E = decltype(e);
    const auto* from = reinterpret_cast<const typename E::Stored*>(range.data);
    chunks([from](std::int64_t i) { return E::widen(from[i]); });
  });
}

/// Stores chunks of fp32 values into a range of f32, bf16 or f16, one rounding each.
template <class Body>
void with_store(const Range& range, Body body) {
  with_element(range.dtype, [&](auto e) {
    using E = decltype(e);
    auto* to = reinterpret_cast<typename E::Stored*>(range.data);
    body([to](std::int64_t begin, std::span<const float> values) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float value = values[i];
        to[begin + static_cast<std::int64_t>(i)] =
            E::narrow(value == value ? value : std::bit_cast<float>(0x7FC00000u));
      }
    });
  });
}

/// The codes of a chunk.
void store_codes(const Range& destination, const FastCast& cast, std::int64_t begin,
                 std::span<const float> values) {
  cast(values, std::span(reinterpret_cast<std::uint8_t*>(destination.data) + begin, values.size()));
}

float scale_in(const Range& range) {
  SC_ASSERT(range.dtype == DType::f32 && range.numel == 1, "a scale is one fp32 number");
  float scale;
  std::memcpy(&scale, range.data, sizeof scale);
  return scale;
}

void check(const Range& source, const Range& destination) {
  SC_ASSERT(source.numel == destination.numel, "source and destination differ in size");
  SC_ASSERT(!source.overlaps(destination) || source.data == destination.data,
            "a cast overlaps its source without being in its place");
  SC_ASSERT(!source.overlaps(destination) || source.dtype == destination.dtype ||
                bytes_of(source.dtype) == bytes_of(destination.dtype),
            "a cast in place changes the size of an element");
}

}  // namespace

void cast(const SourceTo& ranges, const CastPolicy& policy) {
  const auto& [source, destination] = ranges;
  check(source, destination);
  SC_ASSERT(is_fp8(source.dtype) || is_fp8(destination.dtype), "a cast has FP8 on neither side: use Copy");
  if (is_fp8(destination.dtype)) {
    const FastCast encode(fp8_format(destination.dtype), policy);
    for_each_chunk(source, [&](std::int64_t begin, std::span<const float> values) {
      store_codes(destination, encode, begin, values);
    });
    return;
  }
  with_store(destination, [&](auto store) { for_each_chunk(source, store); });
}

void quantize(const ScaledRanges& ranges, const CastPolicy& policy) {
  check(ranges.source, ranges.destination);
  SC_ASSERT(!is_fp8(ranges.source.dtype), "quantisation starts from f32, bf16 or f16");
  const FastCast encode(fp8_format(ranges.destination.dtype), policy);
  const float scale = scale_in(ranges.scale);
  for_each_chunk(ranges.source, [&](std::int64_t begin, std::span<float> values) {
    for (float& value : values) value *= scale;
    store_codes(ranges.destination, encode, begin, values);
  });
}

void dequantize(const ScaledRanges& ranges) {
  check(ranges.source, ranges.destination);
  SC_ASSERT(is_fp8(ranges.source.dtype), "dequantisation starts from FP8");
  const float scale = scale_in(ranges.scale);
  with_store(ranges.destination, [&](auto store) {
    for_each_chunk(ranges.source, [&](std::int64_t begin, std::span<float> values) {
      for (float& value : values) value *= scale;
      store(begin, values);
    });
  });
}

}  // namespace shardcheck::cpu
