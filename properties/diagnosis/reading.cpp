#include "properties/diagnosis/reading.h"

#include <bit>
#include <cstring>

#include "core/numerics/narrow.h"

namespace shardcheck {
namespace {

Sighting sighting(DType type, std::uint32_t bits) {
  Sighting seen{.bits = bits, .dtype = type};
  const auto code = static_cast<std::uint16_t>(bits);
  if (type == DType::f32) seen.value = static_cast<double>(std::bit_cast<float>(bits));
  if (type == DType::bf16) seen.value = static_cast<double>(bf16_to_f32(code));
  if (type == DType::f16) seen.value = static_cast<double>(f16_to_f32(code));
  return seen;
}

}  // namespace

Sighting sighting_of(double value, DType type) {
  const auto f = static_cast<float>(value);
  if (type == DType::bf16) return {value, f32_to_bf16(f), type};
  if (type == DType::f16) return {value, f32_to_f16(f), type};
  return {value, std::bit_cast<std::uint32_t>(f), type};
}

std::vector<Sighting> read_sightings(Backend& backend, const Plan& plan, Rank rank, View view) {
  const DType type = plan.buffer(view.buffer).dtype;
  const auto size = static_cast<std::size_t>(bytes_of(type));
  std::vector<std::byte> bytes(static_cast<std::size_t>(view.numel) * size);
  backend.read(plan, rank, view, bytes);
  std::vector<Sighting> seen;
  for (std::size_t i = 0; i < bytes.size(); i += size) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &bytes[i], size);
    seen.push_back(sighting(type, bits));
  }
  return seen;
}

}  // namespace shardcheck
