#include "backends/cpu/casts.h"

#include <array>
#include <cstring>

#include "backends/cpu/element.h"
#include "core/assert.h"
#include "core/numerics/decode.h"
#include "core/numerics/encode.h"

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

/// Calls visit(index, value as fp32) for every element.
template <class Visit>
void for_each_value(const Range& range, Visit visit) {
  if (is_fp8(range.dtype)) {
    const std::array<float, 256> values = values_of(range.dtype);
    for (std::int64_t i = 0; i < range.numel; ++i) visit(i, values[static_cast<std::uint8_t>(range.data[i])]);
    return;
  }
  with_element(range.dtype, [&](auto e) {
    using E = decltype(e);
    const auto* from = reinterpret_cast<const typename E::Stored*>(range.data);
    for (std::int64_t i = 0; i < range.numel; ++i) visit(i, E::widen(from[i]));
  });
}

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

/// Calls store(index, value) to put an fp32 value into a range of f32, bf16 or f16, one rounding.
template <class Body>
void with_store(const Range& range, Body body) {
  with_element(range.dtype, [&](auto e) {
    using E = decltype(e);
    auto* to = reinterpret_cast<typename E::Stored*>(range.data);
    body([to](std::int64_t i, float value) {
      to[i] = E::narrow(value == value ? value : std::bit_cast<float>(0x7FC00000u));
    });
  });
}

void encode_into(const Range& destination, std::int64_t i, const Format& format, const CastPolicy& policy,
                 float value) {
  destination.data[i] = static_cast<std::byte>(encode(format, policy, bits_of(value)));
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
    const Format& format = fp8_format(destination.dtype);
    for_each_value(source, [&](std::int64_t i, float x) { encode_into(destination, i, format, policy, x); });
    return;
  }
  with_store(destination, [&](auto store) { for_each_value(source, store); });
}

void quantize(const ScaledRanges& ranges, const CastPolicy& policy) {
  check(ranges.source, ranges.destination);
  SC_ASSERT(!is_fp8(ranges.source.dtype), "quantisation starts from f32, bf16 or f16");
  const Format& format = fp8_format(ranges.destination.dtype);
  const float scale = scale_in(ranges.scale);
  for_each_value(ranges.source, [&](std::int64_t i, float x) {
    encode_into(ranges.destination, i, format, policy, x * scale);
  });
}

void dequantize(const ScaledRanges& ranges) {
  check(ranges.source, ranges.destination);
  SC_ASSERT(is_fp8(ranges.source.dtype), "dequantisation starts from FP8");
  const float scale = scale_in(ranges.scale);
  with_store(ranges.destination, [&](auto store) {
    for_each_value(ranges.source, [&](std::int64_t i, float x) { store(i, x * scale); });
  });
}

}  // namespace shardcheck::cpu
