// Compiled with -O3 (CMakeLists.txt), so that the loops are vectors on every build.
#include "core/numerics/widen.h"

#include <cstdint>
#include <cstring>

#include "core/assert.h"
#include "core/numerics/narrow.h"

namespace shardcheck {
namespace {

template <float (*widened)(std::uint16_t)>
void widen_16(const std::byte* stored, std::span<float> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint16_t code = 0;
    std::memcpy(&code, stored + 2 * i, sizeof(code));
    numbers[i] = widened(code);
  }
}

}  // namespace

void widen(DType type, std::span<const std::byte> stored, std::span<float> numbers) {
  SC_ASSERT(stored.size() == numbers.size() * static_cast<std::size_t>(bytes_of(type)),
            "not as many stored numbers");
  switch (type) {
    case DType::f32: std::memcpy(numbers.data(), stored.data(), stored.size()); return;
    case DType::bf16: return widen_16<bf16_to_f32>(stored.data(), numbers);
    case DType::f16: return widen_16<f16_to_f32>(stored.data(), numbers);
    default: assertion_failed("type", "the type is not one that is rounded from");
  }
}

}  // namespace shardcheck
