#include "tests/backends/cuda/twins.h"

#include <fmt/format.h>

#include "backends/cpu/cpu_backend.h"

namespace shardcheck {
namespace {

bool is_nan(DType type, std::uint32_t code) {
  switch (type) {
    case DType::f32: return (code & 0x7FFFFFFFu) > 0x7F800000u;
    case DType::bf16: return (code & 0x7FFFu) > 0x7F80u;
    case DType::f16: return (code & 0x7FFFu) > 0x7C00u;
    default: return false;
  }
}

std::uint32_t code_at(const std::vector<std::byte>& bytes, std::size_t at, int size) {
  std::uint32_t code = 0;
  std::memcpy(&code, bytes.data() + at, static_cast<std::size_t>(size));
  return code;
}

}  // namespace

CudaOptions one_gpu() {
  CudaOptions options;
  options.gpus = 1;
  return options;
}

std::vector<Rank> all_ranks(const Plan& plan) {
  std::vector<Rank> ranks;
  for (std::int32_t i = 0; i < plan.ranks; ++i) ranks.push_back(Rank{i});
  return ranks;
}

Twins::Twins(const CudaOptions& options, const ArithmeticProfile& profile)
    : cuda_(make_cuda_backend(options)), reference_(make_cpu_backend(profile)) {}

void Twins::write_all(const Plan& plan, RandomNumbers& random, int binades, Corners corners) {
  for (std::size_t id = 0; id < plan.buffers.size(); ++id) {
    const Buffer& buffer = plan.buffers[id];
    const View whole{BufferId{static_cast<std::int32_t>(id)}, 0, buffer.numel};
    for (Rank rank : all_ranks(plan)) {
      const auto bytes = random.bytes(buffer.dtype, buffer.numel, binades, corners);
      write(plan, rank, whole, bytes);
    }
  }
}

void Twins::write(const Plan& plan, Rank rank, View view, const std::vector<std::byte>& bytes) {
  cuda_->write(plan, rank, view, bytes);
  reference_->write(plan, rank, view, bytes);
}

void Twins::execute(const Plan& plan, OpIndex first, OpIndex last) {
  cuda_->execute(plan, first, last);
  reference_->execute(plan, first, last);
}

void Twins::expect_equal_after(const Plan& plan, NanCodes nan_codes) {
  const OpIndex end{static_cast<std::int32_t>(plan.ops.size())};
  execute(plan, OpIndex{0}, end);
  expect_equal(plan, nan_codes);
}

void Twins::expect_equal(const Plan& plan, NanCodes nan_codes) {
  for (std::size_t id = 0; id < plan.buffers.size(); ++id) {
    const Buffer& buffer = plan.buffers[id];
    const int size = bytes_of(buffer.dtype);
    const View whole{BufferId{static_cast<std::int32_t>(id)}, 0, buffer.numel};
    for (Rank rank : all_ranks(plan)) {
      std::vector<std::byte> found(static_cast<std::size_t>(buffer.numel * size)), expected(found.size());
      cuda_->read(plan, rank, whole, found);
      reference_->read(plan, rank, whole, expected);
      if (found == expected) continue;
      for (std::size_t at = 0; at < found.size(); at += static_cast<std::size_t>(size)) {
        const std::uint32_t f = code_at(found, at, size), e = code_at(expected, at, size);
        if (f == e) continue;
        if (nan_codes == NanCodes::any && is_nan(buffer.dtype, f) && is_nan(buffer.dtype, e)) continue;
        FAIL() << fmt::format("{} ({}) on rank {}, element {}: GPU {:#x}, reference {:#x}\n  last op: {}",
                              buffer.name, name_of(buffer.dtype), rank.value,
                              at / static_cast<std::size_t>(size), f, e,
                              plan.ops.empty() ? "none" : describe(plan, plan.ops.back()));
      }
    }
  }
}

}  // namespace shardcheck
