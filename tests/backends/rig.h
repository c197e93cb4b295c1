// Rig: a plan of a few ops and a backend to run it on, with buffers given and read as codes.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/registry.h"
#include "core/plan/builder.h"
#include "tests/backends/oracle.h"

namespace shardcheck::test {

inline std::vector<Rank> ranks_upto(std::int32_t count) {
  std::vector<Rank> ranks;
  for (std::int32_t i = 0; i < count; ++i) ranks.push_back(Rank{i});
  return ranks;
}

class Rig {
 public:
  Rig(const std::string& spec, const std::string& profile, std::int32_t ranks)
      : backend_(make_backend(spec, {.profile = profile})) {
    plan.ranks = ranks;
  }

  /// A buffer that exists from the start.
  View buffer(DType type, std::int64_t numel) {
    return builder.whole(builder.buffer("b", BufferRole::inputs, type, numel));
  }

  /// Appends an op on all ranks; operands follow with .on().
  PlanBuilder& op(Action action) { return builder.op(action, {}, Stream::compute, ranks_upto(plan.ranks)); }

  void write(std::int32_t rank, View view, const Codes& codes) {
    const auto size = static_cast<std::size_t>(bytes_of(plan.buffer(view.buffer).dtype));
    std::vector<std::byte> bytes(codes.size() * size);
    for (std::size_t i = 0; i < codes.size(); ++i) std::memcpy(&bytes[i * size], &codes[i], size);
    backend_->write(plan, Rank{rank}, view, bytes);
  }

  Codes read(std::int32_t rank, View view) {
    const auto size = static_cast<std::size_t>(bytes_of(plan.buffer(view.buffer).dtype));
    std::vector<std::byte> bytes(static_cast<std::size_t>(view.numel) * size);
    backend_->read(plan, Rank{rank}, view, bytes);
    Codes codes(static_cast<std::size_t>(view.numel));
    for (std::size_t i = 0; i < codes.size(); ++i) std::memcpy(&codes[i], &bytes[i * size], size);
    return codes;
  }

  void run() { backend_->execute(plan, OpIndex{0}, OpIndex{static_cast<std::int32_t>(plan.ops.size())}); }

  Backend& backend() { return *backend_; }

  Plan plan;
  PlanBuilder builder{plan};

 private:
  std::unique_ptr<Backend> backend_;
};

/// `numel` codes drawn by `draw(type, random)`.
template <class Draw>
Codes random_codes(DType type, std::int64_t numel, std::mt19937_64& random, Draw draw) {
  Codes codes;
  for (std::int64_t i = 0; i < numel; ++i) codes.push_back(draw(type, random));
  return codes;
}

}  // namespace shardcheck::test
