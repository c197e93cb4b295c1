// GEMM ops on several ranks against the profile: by our kernels and by cuBLASLt, every layout and scale, on
// views of every alignment. The law F66 (properties/gemm_law) asks for many more cases on one rank.
#include <cstdio>

#include "core/error.h"
#include "core/numerics/gemm.h"
#include "tests/backends/cuda/twins.h"

namespace shardcheck {
namespace {

using MatmulOnGpu = OnGpu;
constexpr auto kT = OperandLayout::transposed, kN = OperandLayout::plain;
constexpr std::int64_t kAlwaysEmulate = std::int64_t{1} << 62;

struct Case {
  Matmul op;
  DType a, b, d;
  int ranks = 2;
  std::int64_t margin = 0;  ///< elements before every view
};

CudaOptions with_threshold(std::int64_t emulate_below) {
  CudaOptions options = one_gpu();
  options.emulate_below = emulate_below;
  return options;
}

/// Finite codes of FP8, or numbers.
std::vector<std::byte> content(RandomNumbers& random, DType type, std::int64_t numel) {
  if (bytes_of(type) > 1) return random.bytes(type, numel, 4, Corners::none);
  std::vector<std::byte> bytes(static_cast<std::size_t>(numel));
  const std::uint64_t largest = type == DType::e4m3 ? 0x7E : 0x7B;
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random.below(largest + 1) | random.below(2) << 7);
  }
  return bytes;
}

void compare(Twins& twins, RandomNumbers& random, const Case& c) {
  Plan plan;
  plan.ranks = c.ranks;
  PlanBuilder build(plan);
  const auto view = [&](const char* name, DType type, std::int64_t numel) {
    return View{build.buffer(name, BufferRole::inputs, type, c.margin + numel), c.margin, numel};
  };
  const View a = view("A", c.a, c.op.m * c.op.k), b = view("B", c.b, c.op.n * c.op.k);
  const View scales_a =
      view("scales of A", DType::f32, scale_count(static_cast<ScaleMode>(c.op.scales_a), c.op.m, c.op.k));
  const View scales_b =
      view("scales of B", DType::f32, scale_count(static_cast<ScaleMode>(c.op.scales_b), c.op.n, c.op.k));
  const View d = view("D", c.d, c.op.m * c.op.n);
  build.op(c.op, {}, Stream::compute, all_ranks(plan)).on(a).on(b).on(scales_a).on(scales_b).on(d);
  for (std::size_t id = 0; id < plan.buffers.size(); ++id) {
    for (Rank rank : all_ranks(plan)) {
      const Buffer& buffer = plan.buffers[id];
      twins.write(plan, rank, {BufferId{static_cast<std::int32_t>(id)}, 0, buffer.numel},
                  content(random, buffer.dtype, buffer.numel));
    }
  }
  twins.expect_equal_after(plan, NanCodes::any);
  if (testing::Test::HasFailure()) ADD_FAILURE() << gemm_algorithms(twins.cuda()).back();
}

struct Kind {
  DType a, b;
  ScaleKind scales_a, scales_b;
};
constexpr Kind kKinds[] = {
    {DType::bf16, DType::bf16, ScaleKind::none, ScaleKind::none},
    {DType::f16, DType::f16, ScaleKind::none, ScaleKind::none},
    {DType::e4m3, DType::e4m3, ScaleKind::tensor, ScaleKind::tensor},
    {DType::e4m3, DType::e5m2, ScaleKind::outer_vector, ScaleKind::outer_vector},
    {DType::e5m2, DType::e4m3, ScaleKind::vector128, ScaleKind::vector128},
    {DType::e4m3, DType::e4m3, ScaleKind::vector128, ScaleKind::block128x128},
    {DType::e4m3, DType::e4m3, ScaleKind::block128x128, ScaleKind::vector128},
};

/// Sizes that no library takes: every layout, any alignment, more ranks than one launch holds.
TEST_F(MatmulOnGpu, EmulatedIsTheProfile) {
  Twins twins(with_threshold(kAlwaysEmulate), kHopper);
  RandomNumbers random(41);
  for (int i = 0; i < 140; ++i) {
    const Kind& kind = kKinds[i % std::size(kKinds)];
    const bool blocks = kind.scales_a == ScaleKind::vector128 || kind.scales_a == ScaleKind::block128x128;
    const DType outputs[] = {DType::f32, DType::bf16, DType::f16};
    Case c{.op = {.m = static_cast<std::int64_t>(random.below(i % 9 == 0 ? 300 : 40)),
                  .n = static_cast<std::int64_t>(1 + random.below(i % 11 == 0 ? 200 : 20)),
                  .k = static_cast<std::int64_t>(random.below(300)),
                  .a = random.below(2) == 0 ? kT : kN,
                  .b = random.below(2) == 0 ? kT : kN,
                  .scales_a = kind.scales_a,
                  .scales_b = kind.scales_b,
                  .accumulate = random.below(2) == 0},
           .a = kind.a,
           .b = kind.b,
           .d = outputs[random.below(3)],
           .ranks = static_cast<int>(1 + random.below(i % 20 == 0 ? 66 : 4)),
           .margin = static_cast<std::int64_t>(random.below(3))};
    if (!blocks) {
      c.op.fast_accumulation = bytes_of(c.a) == 1 && random.below(2) == 0;
      c.op.alpha = random.below(2) == 0 ? 1.0f : 0.7f;
    }
    compare(twins, random, c);
    if (HasFailure()) return;
  }
}

TEST_F(MatmulOnGpu, LibraryIsTheProfileOnEveryRank) {
  Twins twins(with_threshold(0), kHopper);
  RandomNumbers random(42);
  for (const Kind& kind : kKinds) {
    for (bool accumulate : {false, true}) {
      for (DType d : {DType::f32, DType::bf16}) {
        if (kind.a == DType::f16 && d == DType::bf16) continue;
        const Case c{.op = {.m = 128,
                            .n = 24,
                            .k = 384,
                            .scales_a = kind.scales_a,
                            .scales_b = kind.scales_b,
                            .accumulate = accumulate},
                     .a = kind.a,
                     .b = kind.b,
                     .d = d,
                     .ranks = 3};
        compare(twins, random, c);
        if (HasFailure()) return;
      }
    }
  }
  for (const std::string& line : gemm_algorithms(twins.cuda())) std::printf("%s\n", line.c_str());
}

TEST_F(MatmulOnGpu, WhatTheChipLacksIsEmulatedAndSaid) {
  Twins twins(with_threshold(0), kHopper);
  RandomNumbers random(43);
  compare(twins, random,
          {.op = {.m = 64,
                  .n = 16,
                  .k = 64,
                  .a = kN,
                  .b = kN,
                  .scales_a = ScaleKind::tensor,
                  .scales_b = ScaleKind::tensor},
           .a = DType::e4m3,
           .b = DType::e4m3,
           .d = DType::f32});
  const auto& lines = gemm_algorithms(twins.cuda());
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines.back().find("emulated (profile hopper): on this chip cuBLASLt multiplies FP8 in TN only"),
            std::string::npos)
      << lines.back();
}

TEST_F(MatmulOnGpu, WhatNobodyKnowsIsRefused) {
  const auto cuda = make_cuda_backend(one_gpu());
  Plan plan;
  PlanBuilder build(plan);
  const View a = build.whole(build.buffer("A", BufferRole::inputs, DType::e5m2, 256));
  const View scale = build.whole(build.buffer("scale", BufferRole::inputs, DType::f32, 1));
  const View d = build.whole(build.buffer("D", BufferRole::inputs, DType::f32, 256));
  build.op(Matmul{.m = 16, .n = 16, .k = 16, .scales_a = ScaleKind::tensor, .scales_b = ScaleKind::tensor},
           {}, Stream::compute, all_ranks(plan));
  build.on(a).on(a).on(scale).on(scale).on(d);
  for (View view : {a, scale, d}) {
    const auto size = static_cast<std::size_t>(view.numel * bytes_of(plan.buffer(view.buffer).dtype));
    cuda->write(plan, Rank{0}, view, std::vector<std::byte>(size));
  }
  try {
    cuda->execute(plan, OpIndex{0}, OpIndex{1});
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_STREQ(error.what(),
                 "GEMM e5m2 x e5m2 to f32: profile hopper has no rule for e5m2 x e5m2 operands with "
                 "promotion");
  }
}

}  // namespace
}  // namespace shardcheck
