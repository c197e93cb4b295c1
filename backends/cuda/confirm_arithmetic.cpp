// Weight gradients through cuBLASLt against the profile `hopper` on the CPU.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/doctor.h"
#include "core/numerics/gemm.h"
#include "core/numerics/narrow.h"
#include "core/plan/builder.h"

namespace shardcheck {
namespace {

struct Case {
  DType operand, destination;
  std::int64_t tokens, rows, columns;
  bool accumulate;
};
constexpr std::array kCases = {
    Case{DType::bf16, DType::f32, 64, 128, 128, false},   Case{DType::bf16, DType::f32, 512, 256, 128, true},
    Case{DType::bf16, DType::bf16, 256, 128, 256, false}, Case{DType::bf16, DType::bf16, 256, 128, 256, true},
    Case{DType::f16, DType::f32, 40, 72, 128, false},     Case{DType::bf16, DType::f32, 1024, 128, 72, false},
};

/// Finite numbers of both signs over 24 binades: order, alignment and truncation all show. A Weyl sequence,
/// mixed.
std::vector<std::byte> numbers(DType type, std::int64_t count, std::uint64_t seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count * bytes_of(type)));
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t bits = seed * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(i + 1) * 0xD1342543DE82EF95u;
    bits = (bits ^ (bits >> 31)) * 0xBF58476D1CE4E5B9u;
    bits ^= bits >> 29;
    const auto exponent = static_cast<std::uint32_t>(115 + bits % 24);
    const auto f32 = static_cast<std::uint32_t>((bits >> 63) << 31) | exponent << 23 |
                     static_cast<std::uint32_t>((bits >> 32) & 0x7FFFFFu);
    const float value = std::bit_cast<float>(f32);
    std::byte* const to = bytes.data() + i * bytes_of(type);
    const std::uint16_t narrow = type == DType::bf16 ? f32_to_bf16(value) : f32_to_f16(value);
    if (type == DType::f32) {
      std::memcpy(to, &value, 4);
    } else {
      std::memcpy(to, &narrow, 2);
    }
  }
  return bytes;
}

/// Outputs of one case that differ.
std::int64_t differences(Backend& backend, const Case& c) {
  Plan plan;
  PlanBuilder build(plan);
  const BufferId dy = build.buffer("dy", BufferRole::inputs, c.operand, c.tokens * c.rows);
  const BufferId x = build.buffer("x", BufferRole::inputs, c.operand, c.tokens * c.columns);
  const BufferId d = build.buffer("main_grad", BufferRole::inputs, c.destination, c.rows * c.columns);
  const Rank rank{0};
  build.op(Gemm{c.tokens, c.rows, c.columns, c.accumulate}, {}, Stream::compute, std::span(&rank, 1));
  build.on(build.whole(dy)).on(build.whole(x)).on(build.whole(d));

  const auto dy_bytes = numbers(c.operand, c.tokens * c.rows, 1),
             x_bytes = numbers(c.operand, c.tokens * c.columns, 2);
  std::vector<std::byte> expected = numbers(c.destination, c.rows * c.columns, 3);
  std::vector<std::byte> found(expected.size());
  backend.write(plan, rank, build.whole(dy), dy_bytes);
  backend.write(plan, rank, build.whole(x), x_bytes);
  backend.write(plan, rank, build.whole(d), expected);
  backend.execute(plan, OpIndex{0}, OpIndex{1});
  backend.read(plan, rank, build.whole(d), found);
  wgrad(kHopper, c.operand, dy_bytes, x_bytes, c.tokens, c.rows, c.columns, c.accumulate, c.destination,
        expected);
  const auto size = static_cast<std::size_t>(bytes_of(c.destination));
  std::int64_t count = 0;
  for (std::size_t at = 0; at < found.size(); at += size) {
    count += std::memcmp(found.data() + at, expected.data() + at, size) != 0 ? 1 : 0;
  }
  return count;
}

}  // namespace

ArithmeticConfirmation confirm_arithmetic() {
  if (const std::string missing = cuda_missing(); !missing.empty()) return {false, {"cuda: " + missing}};
  CudaOptions options;
  options.gpus = 1;
  options.emulate_below = 0;
  const std::unique_ptr<Backend> backend = make_cuda_backend(options);
  ArithmeticConfirmation result{true, {}};
  bool any_by_library = false;
  for (const Case& c : kCases) {
    const std::int64_t count = differences(*backend, c);
    const std::string how = gemm_algorithms(*backend).back();
    any_by_library |= how.find("cuBLASLt algorithm") != std::string::npos;
    result.confirmed &= count == 0;
    result.lines.push_back(
        fmt::format("{} of {} outputs differ from the profile hopper. {}", count, c.rows * c.columns, how));
  }
  result.confirmed &= any_by_library;
  if (!any_by_library) result.lines.emplace_back("cuBLASLt computed none of them, so nothing is confirmed");
  return result;
}

}  // namespace shardcheck
