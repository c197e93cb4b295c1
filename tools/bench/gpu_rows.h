// What the rows of the GPU's benchmark share: one op as often as a sample needs, on buffers of random codes,
// and a line for each figure. Next: gpu_bench.cpp, gpu_block_ops.cpp.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "backends/cuda/bare_calls.h"
#include "backends/cuda/cuda_backend.h"
#include "core/plan/builder.h"

namespace shardcheck {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

inline void header() {
  fmt::print("{:<52} {:>16} {:>16} {:>8}\n", "what", "measured", "ceiling", "share");
}
inline void row(const std::string& what, const std::string& measured, const std::string& ceiling,
                double share) {
  fmt::print("{:<52} {:>16} {:>16} {:>7.1f}%\n", what, measured, ceiling, 100 * share);
  std::fflush(stdout);
}
inline void row(const std::string& what, const std::string& measured) {
  fmt::print("{:<52} {:>16}\n", what, measured);
  std::fflush(stdout);
}

/// A plan that allocates its buffers, and then has one op as often as a sample needs.
class Repeated {
 public:
  Repeated(Backend& backend, std::int32_t ranks) : backend_(backend) {
    plan_.ranks = ranks;
    for (std::int32_t i = 0; i < ranks; ++i) ranks_.push_back(Rank{i});
  }

  /// A buffer of every rank, of random codes.
  View buffer(DType type, std::int64_t numel) {
    const BufferId id =
        build_.buffer("b" + std::to_string(plan_.buffers.size()), BufferRole::inputs, type, numel);
    const std::int64_t piece = std::min(numel, std::int64_t{1} << 24);
    std::vector<std::byte> codes(static_cast<std::size_t>(piece * bytes_of(type)));
    random_codes(type, codes);
    for (Rank rank : ranks_) {
      for (std::int64_t at = 0; at < numel; at += piece) {
        const std::int64_t count = std::min(piece, numel - at);
        backend_.write(plan_, rank, {id, at, count},
                       std::span(codes).first(static_cast<std::size_t>(count * bytes_of(type))));
      }
    }
    return build_.whole(id);
  }
  View one_scale() {
    const BufferId id = build_.buffer("scale", BufferRole::inputs, DType::f32, 1);
    const float scale = 1.5f;
    for (Rank rank : ranks_) {
      backend_.write(plan_, rank, build_.whole(id), std::as_bytes(std::span(&scale, 1)));
    }
    return build_.whole(id);
  }

  /// Seconds of one op on these operands.
  double seconds(const Action& action, std::initializer_list<View> operands) {
    const auto first = static_cast<std::int32_t>(plan_.ops.size());
    for (int i = 0; i < kCallsASample; ++i) {
      build_.op(action, {}, Stream::compute, ranks_);
      for (const View& view : operands) build_.on(view);
    }
    const auto last = static_cast<std::int32_t>(plan_.ops.size());
    const View end{operands.begin()[operands.size() - 1].buffer, 0, 1};
    return seconds_of_a_call([&] {
      backend_.execute(plan_, OpIndex{first}, OpIndex{last});
      for (Rank rank : ranks_) await(rank, end);
    });
  }
  const Plan& plan() const { return plan_; }
  std::span<const Rank> ranks() const { return ranks_; }

 private:
  /// A read of one element waits for the GPU.
  void await(Rank rank, View one) {
    std::byte element[4];
    backend_.read(
        plan_, rank, one,
        std::span(element).first(static_cast<std::size_t>(bytes_of(plan_.buffer(one.buffer).dtype))));
  }

  Backend& backend_;
  Plan plan_;
  PlanBuilder build_{plan_};
  std::vector<Rank> ranks_;
};

inline std::string terabytes(double bytes, double seconds) {
  return fmt::format("{:.3f} TB/s", bytes / seconds * 1e-12);
}
inline CudaOptions one_gpu() {
  CudaOptions options;
  options.gpus = 1;
  return options;
}

/// Ops on blocks beside the device's copy rate, in bytes a second; gpu_block_ops.cpp.
void block_op_rows(double copy_rate);

}  // namespace shardcheck
