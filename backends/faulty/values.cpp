#include "backends/faulty/values.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/assert.h"
#include "core/numerics/narrow.h"

namespace shardcheck::faulty {
namespace {

std::uint32_t encode(double value, DType type) {
  const auto single = static_cast<float>(value);
  switch (type) {
    case DType::f32: return std::bit_cast<std::uint32_t>(single);
    case DType::bf16: return f32_to_bf16(single);
    case DType::f16: return f32_to_f16(single);
    default: SC_ASSERT(false, "numeric faults change floats only");
  }
  return 0;
}

double decode(std::uint32_t code, DType type) {
  switch (type) {
    case DType::f32: return std::bit_cast<float>(code);
    case DType::bf16: return bf16_to_f32(static_cast<std::uint16_t>(code));
    case DType::f16: return f16_to_f32(static_cast<std::uint16_t>(code));
    default: SC_ASSERT(false, "numeric faults change floats only");
  }
  return 0;
}

}  // namespace

double rounded(double value, DType type, Direction direction) {
  const std::uint32_t code = encode(value, type);
  const double nearest = decode(code, type);
  const bool too_far = direction == Direction::toward_zero && std::abs(nearest) > std::abs(value);
  return too_far ? decode(code - 1, type) : nearest;  // codes are sign and magnitude: one less is toward zero
}

std::vector<double> load(Backend& backend, const Plan& plan, Rank rank, View view) {
  const DType type = plan.buffer(view.buffer).dtype;
  const auto size = static_cast<std::size_t>(bytes_of(type));
  std::vector<std::byte> bytes(static_cast<std::size_t>(view.numel) * size);
  backend.read(plan, rank, view, bytes);
  std::vector<double> values;
  for (std::size_t i = 0; i < bytes.size(); i += size) {
    std::uint32_t code = 0;
    std::memcpy(&code, &bytes[i], size);  // little-endian, as every format of the project
    values.push_back(decode(code, type));
  }
  return values;
}

void store(Backend& backend, const Plan& plan, Rank rank, View view, const std::vector<double>& values) {
  const DType type = plan.buffer(view.buffer).dtype;
  const auto size = static_cast<std::size_t>(bytes_of(type));
  std::vector<std::byte> bytes(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t code = encode(values[i], type);
    std::memcpy(&bytes[i * size], &code, size);
  }
  backend.write(plan, rank, view, bytes);
}

}  // namespace shardcheck::faulty
