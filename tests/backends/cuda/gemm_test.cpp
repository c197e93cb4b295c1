// Weight gradients against the profile: our kernels on tiny and unaligned shapes, cuBLASLt on the rest, and
// fp32.
#include <cstdio>

#include "tests/backends/cuda/twins.h"

namespace shardcheck {
namespace {

using GemmOnGpu = OnGpu;

struct Case {
  DType operand, destination;
  std::int64_t tokens, rows, columns;
  int ranks = 2;
  std::int64_t margin = 0;  ///< elements before every view
};

Plan plan_of(const Case& c, bool accumulate) {
  Plan plan;
  plan.ranks = c.ranks;
  PlanBuilder build(plan);
  const BufferId dy = build.buffer("dy", BufferRole::inputs, c.operand, c.margin + c.tokens * c.rows);
  const BufferId x = build.buffer("x", BufferRole::inputs, c.operand, c.margin + c.tokens * c.columns);
  const BufferId d =
      build.buffer("main_grad", BufferRole::inputs, c.destination, c.margin + c.rows * c.columns);
  build.op(Gemm{c.tokens, c.rows, c.columns, accumulate}, {}, Stream::compute, all_ranks(plan));
  build.on({dy, c.margin, c.tokens * c.rows}).on({x, c.margin, c.tokens * c.columns});
  build.on({d, c.margin, c.rows * c.columns});
  return plan;
}

void compare(Twins& twins, RandomNumbers& random, const Case& c, int binades, Corners corners) {
  for (bool accumulate : {false, true}) {
    const Plan plan = plan_of(c, accumulate);
    twins.write_all(plan, random, binades, corners);
    twins.expect_equal_after(plan, NanCodes::any);
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << gemm_algorithms(twins.cuda()).back();
      return;
    }
  }
}

CudaOptions with_threshold(std::int64_t emulate_below) {
  CudaOptions options = one_gpu();
  options.emulate_below = emulate_below;
  return options;
}
constexpr std::int64_t kAlwaysEmulate = std::int64_t{1} << 62;

TEST_F(GemmOnGpu, EmulatedIsTheProfile) {
  Twins twins(with_threshold(kAlwaysEmulate), kHopper);
  RandomNumbers random(21);
  for (int i = 0; i < 150; ++i) {
    const DType operand = i % 2 == 0 ? DType::bf16 : DType::f16;
    const DType destinations[] = {DType::f32, DType::bf16, DType::f16};
    const Case c{operand,
                 destinations[random.below(3)],
                 static_cast<std::int64_t>(random.below(70)),
                 static_cast<std::int64_t>(1 + random.below(40)),
                 static_cast<std::int64_t>(1 + random.below(70)),
                 static_cast<int>(1 + random.below(i % 10 == 0 ? 66 : 8)),
                 static_cast<std::int64_t>(random.below(3))};
    compare(twins, random, c, i % 3 == 0 ? 10 : 3, i % 5 == 0 ? Corners::all : Corners::finite);
    if (HasFailure()) return;
  }
}

TEST_F(GemmOnGpu, LibraryIsTheProfile) {
  Twins twins(with_threshold(0), kHopper);
  RandomNumbers random(22);
  for (const Case& c :
       {Case{DType::bf16, DType::f32, 64, 128, 128}, Case{DType::bf16, DType::f32, 1024, 128, 256},
        Case{DType::bf16, DType::bf16, 256, 128, 128}, Case{DType::f16, DType::f32, 64, 128, 128},
        Case{DType::f16, DType::f16, 512, 128, 128}, Case{DType::bf16, DType::f32, 24, 72, 72},
        Case{DType::bf16, DType::f32, 40, 256, 72}, Case{DType::bf16, DType::f32, 1, 128, 128},
        Case{DType::bf16, DType::f32, 17, 64, 64}, Case{DType::bf16, DType::f32, 128, 8, 8},
        Case{DType::bf16, DType::f32, 128, 16, 1024}, Case{DType::bf16, DType::f32, 128, 1024, 16},
        Case{DType::bf16, DType::f32, 33, 25, 40}}) {
    compare(twins, random, c, 8, Corners::none);
  }
  for (const std::string& line : gemm_algorithms(twins.cuda())) std::printf("%s\n", line.c_str());
}

/// Large enough that the reference is slow, so the two ways of the GPU are compared with each other.
TEST_F(GemmOnGpu, LibraryIsTheEmulationOnLargerShapes) {
  RandomNumbers random(23);
  for (const Case& c :
       {Case{DType::bf16, DType::f32, 2048, 1024, 1024, 1}, Case{DType::bf16, DType::f32, 8192, 512, 512, 1},
        Case{DType::bf16, DType::bf16, 1024, 2048, 512, 1},
        Case{DType::f16, DType::f32, 1024, 1024, 512, 1}}) {
    for (bool accumulate : {false, true}) {
      const Plan plan = plan_of(c, accumulate);
      std::vector<std::vector<std::byte>> written;
      for (const Buffer& buffer : plan.buffers)
        written.push_back(random.bytes(buffer.dtype, buffer.numel, 8, Corners::none));
      std::vector<std::vector<std::byte>> results;
      for (std::int64_t threshold : {std::int64_t{0}, kAlwaysEmulate}) {
        const auto backend = make_cuda_backend(with_threshold(threshold));
        for (std::int32_t id = 0; id < 3; ++id) {
          const View whole{BufferId{id}, 0, plan.buffers[static_cast<std::size_t>(id)].numel};
          backend->write(plan, Rank{0}, whole, written[static_cast<std::size_t>(id)]);
        }
        backend->execute(plan, OpIndex{0}, OpIndex{1});
        results.emplace_back(written[2].size());
        backend->read(plan, Rank{0}, {BufferId{2}, 0, c.rows * c.columns}, results.back());
        std::printf("%s\n", gemm_algorithms(*backend).back().c_str());
      }
      EXPECT_EQ(results[0], results[1]);
    }
  }
}

TEST_F(GemmOnGpu, Fp32IsTheExactSum) {
  Twins twins(one_gpu(), kIdeal);
  RandomNumbers random(24);
  for (int i = 0; i < 80; ++i) {
    const DType destinations[] = {DType::f32, DType::bf16, DType::f16};
    const Case c{DType::f32,
                 destinations[i % 4 == 0 ? random.below(3) : 0],
                 static_cast<std::int64_t>(random.below(i % 2 == 0 ? 2 : 20)),
                 static_cast<std::int64_t>(1 + random.below(30)),
                 static_cast<std::int64_t>(1 + random.below(50)),
                 static_cast<int>(1 + random.below(8)),
                 static_cast<std::int64_t>(random.below(3))};
    compare(twins, random, c, i % 3 == 0 ? 60 : 5, i % 5 == 0 ? Corners::all : Corners::finite);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace shardcheck
