// Casts, quantisation and its inverse on the GPU against the reference: every pair of types and policy, on
// views of every alignment, with distinct neighbours.
#include "core/numerics/cast_policy.h"
#include "core/numerics/decode.h"
#include "tests/backends/cuda/twins.h"

namespace shardcheck {
namespace {

using CastsOnGpu = OnGpu;
constexpr DType kFloats[] = {DType::f32, DType::bf16, DType::f16};
constexpr DType kFp8[] = {DType::e4m3, DType::e5m2};

/// Bytes of `type`: numbers and corners, or any codes of FP8.
std::vector<std::byte> content(RandomNumbers& random, DType type, std::int64_t numel) {
  if (bytes_of(type) > 1) return random.bytes(type, numel, 12, Corners::all);
  std::vector<std::byte> bytes(static_cast<std::size_t>(numel));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  return bytes;
}

/// `append` adds the op to a plan with the given views.
struct Views {
  View source, scale, destination;
};
template <class Append>
void compare(int cases, DType source, DType destination, Append append) {
  RandomNumbers random(static_cast<std::uint64_t>(source) * 16 + static_cast<std::uint64_t>(destination));
  Twins twins(one_gpu(), kHopper);
  for (int i = 0; i < cases; ++i) {
    const auto numel = static_cast<std::int64_t>(1 + random.below(i % 4 == 0 ? 200'000 : 300));
    const auto margin = static_cast<std::int64_t>(i % 3 == 0 ? 0 : random.below(20));
    Plan plan;
    plan.ranks = 1 + static_cast<int>(random.below(i % 7 == 0 ? 70 : 4));
    if (numel > 1000) plan.ranks = 2;
    PlanBuilder build(plan);
    const BufferId from = build.buffer("from", BufferRole::inputs, source, margin + numel);
    const BufferId scale = build.buffer("scale", BufferRole::inputs, DType::f32, 1);
    const BufferId to = build.buffer("to", BufferRole::inputs, destination, margin + numel + 1);
    append(build, all_ranks(plan), Views{{from, margin, numel}, {scale, 0, 1}, {to, margin, numel}});
    for (Rank rank : all_ranks(plan)) {
      twins.write(plan, rank, build.whole(from), content(random, source, margin + numel));
      twins.write(plan, rank, build.whole(to), content(random, destination, margin + numel + 1));
      twins.write(plan, rank, build.whole(scale), random.bytes(DType::f32, 1, 8, Corners::none));
    }
    twins.expect_equal_after(plan, NanCodes::compared);
    if (testing::Test::HasFailure()) return;
  }
}

TEST_F(CastsOnGpu, CastByEveryPolicy) {
  for (std::size_t policy = 0; policy < kCastPolicies.size(); ++policy) {
    const auto append = [&](PlanBuilder& build, const std::vector<Rank>& ranks, const Views& views) {
      build.op(Cast{static_cast<std::int8_t>(policy)}, {}, Stream::compute, ranks)
          .on(views.source)
          .on(views.destination);
    };
    for (DType fp8 : kFp8) {
      for (DType source : {DType::f32, DType::bf16, DType::f16, DType::e4m3, DType::e5m2}) {
        compare(12, source, fp8, append);
      }
    }
  }
}

TEST_F(CastsOnGpu, CastOutOfFp8) {
  for (DType fp8 : kFp8) {
    for (DType destination : kFloats) {
      compare(16, fp8, destination,
              [](PlanBuilder& build, const std::vector<Rank>& ranks, const Views& views) {
                build.op(Cast{0}, {}, Stream::reduce, ranks).on(views.source).on(views.destination);
              });
    }
  }
}

TEST_F(CastsOnGpu, Quantise) {
  for (std::int8_t policy : {0, 1, 2}) {
    for (DType fp8 : kFp8) {
      for (DType source : kFloats) {
        compare(14, source, fp8, [&](PlanBuilder& build, const std::vector<Rank>& ranks, const Views& views) {
          build.op(Quantize{policy}, {}, Stream::compute, ranks)
              .on(views.source)
              .on(views.scale)
              .on(views.destination);
        });
      }
    }
  }
}

TEST_F(CastsOnGpu, Dequantise) {
  for (DType fp8 : kFp8) {
    for (DType destination : kFloats) {
      compare(14, fp8, destination,
              [](PlanBuilder& build, const std::vector<Rank>& ranks, const Views& views) {
                build.op(Dequantize{}, {}, Stream::compute, ranks)
                    .on(views.source)
                    .on(views.scale)
                    .on(views.destination);
              });
    }
  }
}

}  // namespace
}  // namespace shardcheck
