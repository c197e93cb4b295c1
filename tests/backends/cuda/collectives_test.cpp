// Collectives of folded ranks against the reference: kinds, reductions, types, group sizes past one launch,
// orders of the list of ranks, and outputs inside inputs.
#include <algorithm>

#include "backends/cpu/rounded.h"
#include "backends/fold_order.h"
#include "tests/backends/cuda/twins.h"

namespace shardcheck {
namespace {

using Collectives = OnGpu;
constexpr DType kFloats[] = {DType::f32, DType::bf16, DType::f16};

enum class Place { apart, in_place, overlapping };

struct Case {
  Collective collective;
  Reduction reduction;
  DType type;
  int groups, size;
  std::int64_t part;  ///< elements of the smaller side
  Place place;
  bool shuffled;
};

/// A collective over `groups` groups; the larger and the smaller side lie in one buffer unless apart.
Plan plan_of(const Case& c, RandomNumbers& random) {
  Plan plan;
  plan.ranks = c.groups * c.size;
  PlanBuilder build(plan);
  const bool all_reduce = c.collective == Collective::all_reduce;
  const std::int64_t large = all_reduce ? c.part : c.part * c.size;
  const auto margin = static_cast<std::int64_t>(random.below(9));
  const BufferId buffer = build.buffer("large", BufferRole::inputs, c.type, margin + large + c.part);
  const BufferId apart = build.buffer("small", BufferRole::inputs, c.type, margin + c.part);
  std::vector<Rank> ranks = all_ranks(plan);
  for (std::size_t i = ranks.size(); c.shuffled && i > 1; --i)
    std::swap(ranks[i - 1], ranks[random.below(i)]);

  const View large_view{buffer, margin, large};
  const auto small_view = [&](std::int32_t i) {
    const std::int64_t position = all_reduce ? 0 : i % c.size;
    switch (c.place) {
      case Place::apart: return View{apart, margin, c.part};
      case Place::in_place: return View{buffer, margin + position * c.part, c.part};
      case Place::overlapping: break;
    }
    return View{buffer, margin + c.part / 2, c.part};
  };
  build.op(Communicate{c.collective, c.reduction, c.size}, {}, Stream::reduce, ranks);
  if (c.collective == Collective::all_gather) {
    build.on_each(small_view).on(large_view);
  } else {
    build.on(large_view).on_each(small_view);
  }
  return plan;
}

void compare_all(const CudaOptions& options, int largest_group) {
  Twins twins(options, kHopper);
  RandomNumbers random(5);
  for (Collective collective : {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather}) {
    for (Reduction reduction : {Reduction::sum, Reduction::average}) {
      for (DType type : kFloats) {
        for (Place place : {Place::apart, Place::in_place, Place::overlapping}) {
          for (int size : {1, 2, 3, 4, 8, largest_group}) {
            const Case c{
                collective, reduction,
                type,       size > 8 ? 1 : 1 + static_cast<int>(random.below(3)),
                size,       static_cast<std::int64_t>(1 + random.below(random.below(4) == 0 ? 5000 : 70)),
                place,      random.below(2) == 0};
            const Plan plan = plan_of(c, random);
            twins.write_all(plan, random, 6, Corners::finite);
            twins.expect_equal_after(plan, NanCodes::compared);
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST_F(Collectives, OnOneGpuAreTheReference) {
  compare_all(one_gpu(), 70);
}

TEST_F(Collectives, OnTwoGpusFoldAsDeclared) {
  CudaOptions options;
  options.gpus = 2;
  std::unique_ptr<Backend> backend;
  try {
    backend = make_cuda_backend(options);
  } catch (const std::exception& error) {
    GTEST_SKIP() << error.what();
  }
  RandomNumbers random(6);
  for (int ranks : {2, 3, 4, 8}) {
    for (Reduction reduction : {Reduction::sum, Reduction::average}) {
      const std::int64_t numel = 1001;
      Plan plan;
      plan.ranks = ranks;
      PlanBuilder build(plan);
      const BufferId buffer = build.buffer("sum", BufferRole::inputs, DType::bf16, numel);
      const auto list = all_ranks(plan);
      build.op(Communicate{Collective::all_reduce, reduction, ranks}, {}, Stream::reduce, list);
      build.on(build.whole(buffer)).on(build.whole(buffer));
      std::vector<std::vector<std::byte>> inputs;
      for (Rank rank : list) {
        inputs.push_back(random.bytes(DType::bf16, numel, 6, Corners::none));
        backend->write(plan, rank, build.whole(buffer), inputs.back());
      }
      backend->execute(plan, OpIndex{0}, OpIndex{1});
      const float factor =
          cpu::Bf16::widen(cpu::narrow_once<cpu::Bf16>(reduction == Reduction::sum ? 1.0 : 1.0 / ranks));
      std::vector<std::byte> found(inputs[0].size());
      for (Rank rank : list) {
        backend->read(plan, rank, build.whole(buffer), found);
        for (std::size_t e = 0; e < static_cast<std::size_t>(numel); ++e) {
          std::vector<float> addends;
          for (const auto& input : inputs) {
            std::uint16_t code = 0;
            std::memcpy(&code, input.data() + 2 * e, 2);
            cpu::with_product<cpu::Bf16>(factor, [&](auto product) {
              addends.push_back(cpu::Bf16::widen(product(cpu::Bf16::widen(code))));
            });
          }
          const float expected = folded_sum<float>({ranks, 2}, list, addends, [](float a, float b) {
            return cpu::Bf16::widen(cpu::rounded_sum<cpu::Bf16, cpu::Bf16>(a, b));
          });
          std::uint16_t code = 0;
          std::memcpy(&code, found.data() + 2 * e, 2);
          ASSERT_EQ(code, cpu::Bf16::narrow(expected))
              << ranks << " ranks, rank " << rank.value << ", element " << e;
        }
      }
    }
  }
}

/// Small integers: every order gives the same sum, so that any number of GPUs can be compared with the
/// reference.
TEST_F(Collectives, OnAllGpusIntegersAreTheReference) {
  Twins twins(CudaOptions{}, kHopper);
  RandomNumbers random(7);
  for (Collective collective : {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather}) {
    for (Place place : {Place::apart, Place::in_place, Place::overlapping}) {
      for (int size : {2, 3, 4, 8}) {
        Plan plan =
            plan_of({collective, Reduction::sum, DType::f32, 2, size, 37, place, size % 2 == 0}, random);
        // The fills come before the collective.
        PlanBuilder build(plan);
        std::vector<Op> communicate;
        communicate.swap(plan.ops);
        for (std::int32_t id = 0; id < static_cast<std::int32_t>(plan.buffers.size()); ++id) {
          for (Rank rank : all_ranks(plan)) {
            build.op(Fill{static_cast<float>(rank.value * 3 + id + 1)}, {}, Stream::reduce,
                     std::span(&rank, 1));
            build.on(build.whole(BufferId{id}));
          }
        }
        plan.ops.insert(plan.ops.end(), communicate.begin(), communicate.end());
        twins.write_all(plan, random, 0, Corners::finite);
        twins.expect_equal_after(plan, NanCodes::compared);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

/// Magnitudes and NaN; the order of a maximum says nothing, so neither does the number of GPUs.
void compare_maxima(const CudaOptions& options, int largest_group) {
  Twins twins(options, kHopper);
  RandomNumbers random(8);
  for (Collective collective : {Collective::all_reduce, Collective::reduce_scatter}) {
    for (Place place : {Place::apart, Place::in_place, Place::overlapping}) {
      for (int size : {1, 2, 3, 4, 8, largest_group}) {
        const auto part = static_cast<std::int64_t>(1 + random.below(random.below(4) == 0 ? 5000 : 70));
        const Plan plan = plan_of(
            {collective, Reduction::maximum, DType::f32, size > 8 ? 1 : 2, size, part, place, size % 2 == 0},
            random);
        for (std::size_t id = 0; id < plan.buffers.size(); ++id) {
          const std::int64_t numel = plan.buffers[id].numel;
          for (Rank rank : all_ranks(plan)) {
            std::vector<std::byte> bytes = random.bytes(DType::f32, numel, 3, Corners::all);
            for (std::size_t at = 3; at < bytes.size(); at += 4) bytes[at] &= std::byte{0x7F};
            twins.write(plan, rank, {BufferId{static_cast<std::int32_t>(id)}, 0, numel}, bytes);
          }
        }
        twins.expect_equal_after(plan, NanCodes::any);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST_F(Collectives, MaximaOnOneGpuAreTheReference) {
  compare_maxima(one_gpu(), 70);
}

TEST_F(Collectives, MaximaOnAllGpusAreTheReference) {
  compare_maxima(CudaOptions{}, 9);
}

}  // namespace
}  // namespace shardcheck
