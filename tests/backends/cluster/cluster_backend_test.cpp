#include "backends/cluster/cluster_backend.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "backends/registry.h"
#include "core/plan/builder.h"
#include "tests/backends/cluster/children.h"

namespace shardcheck {
namespace {

using namespace std::chrono_literals;
using test::Children;
using test::require;

std::vector<Rank> in_order(std::initializer_list<int> values) {
  std::vector<Rank> ranks;
  for (const int value : values) ranks.push_back(Rank{value});
  return ranks;
}

/// Any bits, those of infinities and NaN among them: whatever one process makes of them, several must too.
std::vector<std::byte> random_bytes(const Buffer& buffer, std::int32_t rank) {
  std::mt19937 random(static_cast<unsigned>(rank) + 1000u * static_cast<unsigned>(buffer.numel % 1000));
  std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.numel * bytes_of(buffer.dtype)));
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    // 16 random bits, as bf16 or fp16 or the half of an fp32 that says most; a quarter of the exponents.
    const auto bits = random();
    bytes[i] = static_cast<std::byte>(bits);
    bytes[i + 1] = static_cast<std::byte>((bits >> 8) & 0x9F) | std::byte{0x20};
  }
  return bytes;
}

struct CollectiveCase {
  Collective collective = Collective::all_reduce;
  Reduction reduction = Reduction::sum;
  DType dtype = DType::f32;
  std::int64_t part = 1;  ///< elements of the smaller side
};

/// Six ranks: all in one group, then two groups of three that interleave, with outputs inside the inputs and
/// elsewhere.
Plan plan_of(const CollectiveCase& of) {
  Plan plan;
  plan.ranks = 6;
  PlanBuilder builder(plan);
  for (const auto& [ranks, group] :
       {std::pair(in_order({0, 1, 2, 3, 4, 5}), 6), std::pair(in_order({4, 2, 0, 1, 3, 5}), 3)}) {
    const bool gathers = of.collective == Collective::all_gather;
    const bool scatters = of.collective == Collective::reduce_scatter;
    const std::int64_t input = scatters ? of.part * group : of.part;
    const std::int64_t output = gathers ? of.part * group : of.part;
    const View a = builder.whole(builder.buffer("a", BufferRole::inputs, of.dtype, input));
    const View b = builder.whole(builder.buffer("b", BufferRole::inputs, of.dtype, output));
    const Communicate communicate{of.collective, of.reduction, group};
    builder.op(communicate, {}, Stream::reduce, ranks).on(a).on(b);
    // In place. The reduced part of a rank goes to its slice, that of a gather comes from its slice.
    const auto slice = [&](View whole) {
      return [whole, n = of.part, group](std::int32_t i) { return View{whole.buffer, (i % group) * n, n}; };
    };
    builder.op(communicate, {}, Stream::reduce, ranks);
    if (gathers) {
      builder.on_each(slice(b)).on(b);
    } else if (scatters) {
      builder.on(a).on_each(slice(a));
    } else {
      builder.on(a).on(a);
    }
  }
  return plan;
}

void write_all(Backend& backend, const Plan& plan) {
  for (std::size_t id = 0; id < plan.buffers.size(); ++id) {
    const Buffer& buffer = plan.buffers[id];
    for (std::int32_t rank = 0; rank < plan.ranks; ++rank) {
      if (!backend.holds(plan, Rank{rank})) continue;
      const View whole{BufferId{static_cast<std::int32_t>(id)}, 0, buffer.numel};
      backend.write(plan, Rank{rank}, whole, random_bytes(buffer, rank));
    }
  }
}

std::vector<std::byte> content(Backend& backend, const Plan& plan, std::size_t id, Rank rank) {
  const Buffer& buffer = plan.buffers[id];
  std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.numel * bytes_of(buffer.dtype)));
  backend.read(plan, rank, {BufferId{static_cast<std::int32_t>(id)}, 0, buffer.numel}, bytes);
  return bytes;
}

void compare_with_one_process(Transport& transport, const CollectiveCase& of) {
  const auto alone = make_backend("cpu", {.profile = "ideal"});
  const auto cluster = make_cluster_backend(make_backend("cpu", {.profile = "ideal"}), transport);
  const Plan plan = plan_of(of);
  const OpIndex end{static_cast<std::int32_t>(plan.ops.size())};
  for (Backend* backend : {alone.get(), cluster.get()}) {
    write_all(*backend, plan);
    backend->execute(plan, OpIndex{0}, end);
  }
  std::int32_t held = 0;
  for (std::size_t id = 0; id < plan.buffers.size(); ++id) {
    for (std::int32_t rank = 0; rank < plan.ranks; ++rank) {
      if (!cluster->holds(plan, Rank{rank})) continue;
      ++held;
      require(content(*cluster, plan, id, Rank{rank}) == content(*alone, plan, id, Rank{rank}),
              describe(plan, plan.ops[id / 2 * 2]) + " on rank " + std::to_string(rank));
    }
  }
  require(held > 0, "a process of four holds one of six ranks");
}

void compare_all_collectives(Transport& transport) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const std::int64_t part : {1, 7, 64, 1000}) {
      compare_with_one_process(transport, {Collective::all_gather, Reduction::sum, dtype, part});
      for (const Reduction reduction : {Reduction::sum, Reduction::average}) {
        compare_with_one_process(transport, {Collective::all_reduce, reduction, dtype, part});
        compare_with_one_process(transport, {Collective::reduce_scatter, reduction, dtype, part});
      }
    }
  }
  for (const Collective collective : {Collective::all_reduce, Collective::reduce_scatter})
    compare_with_one_process(transport, {collective, Reduction::maximum, DType::f32, 65});
  compare_with_one_process(transport, {Collective::all_gather, Reduction::sum, DType::e4m3, 33});
}

TEST(ClusterBackend, CollectivesHaveTheBitsOfOneProcess) {
  for (const int processes : {1, 2, 3, 4}) {
    Children children;
    test::start_conversation(children, processes, {.comm_timeout = 20s}, compare_all_collectives);
    for (const auto& ended : children.wait_for_all()) EXPECT_EQ(ended.status, 0) << ended.output;
  }
}

TEST(ClusterBackend, LargeOperandsTravelInPieces) {
  Children children;
  test::start_conversation(children, 2, {.comm_timeout = 30s}, [](Transport& transport) {
    // Over six ranks more than the 4 MiB of one piece.
    constexpr std::int64_t kElements = 200'001;
    compare_with_one_process(transport, {Collective::all_reduce, Reduction::average, DType::f32, kElements});
    compare_with_one_process(transport, {Collective::all_gather, Reduction::sum, DType::f32, kElements});
    compare_with_one_process(transport,
                             {Collective::reduce_scatter, Reduction::sum, DType::f32, kElements / 5});
  });
  for (const auto& ended : children.wait_for_all()) EXPECT_EQ(ended.status, 0) << ended.output;
}

TEST(ClusterBackend, SaysWhatItIs) {
  Children children;
  test::start_conversation(children, 2, {.comm_timeout = 20s}, [](Transport& transport) {
    const auto cluster = make_cluster_backend(make_backend("cpu", {.profile = "ideal"}), transport);
    require(cluster->info().name == "cluster(cpu, 2 processes)", cluster->info().name);
    require(
        cluster->info().device.starts_with(transport.process() == 0 ? "process 0 of 2" : "process 1 of 2"),
        cluster->info().device);
  });
  for (const auto& ended : children.wait_for_all()) EXPECT_EQ(ended.status, 0) << ended.output;
}

}  // namespace
}  // namespace shardcheck
