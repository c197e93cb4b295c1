// The backend as a whole: poison, events, ranges of ops, and plans one after another.
#include "backends/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include "tests/backends/rig.h"

namespace shardcheck::test {
namespace {

OpIndex op_index(std::int32_t value) {
  return OpIndex{value};
}

TEST(CpuBackend, UndefinedContentIsPoison) {
  for (Poison poison : {Poison::quiet_nan, Poison::large}) {
    for (const Action& action : {Action{Allocate{}}, Action{Undefine{}}, Action{OpenLease{}}}) {
      Rig rig("cpu", "ideal", 2);
      rig.plan.poison = poison;
      const View view = rig.buffer(DType::bf16, 4);
      for (std::int32_t rank = 0; rank < 2; ++rank) rig.write(rank, view, Codes(4, 1));
      rig.op(action).on(view);
      rig.run();
      EXPECT_EQ(rig.read(1, view), Codes(4, poison_bits(poison, DType::bf16)));
    }
  }
}

TEST(CpuBackend, UndefineTouchesItsViewOnly) {
  Rig rig("cpu", "ideal", 1);
  const View view = rig.buffer(DType::f32, 4);
  rig.write(0, view, Codes(4, 1));
  rig.op(Undefine{}).on({view.buffer, 1, 2});
  rig.run();
  const std::uint32_t poison = poison_bits(Poison::quiet_nan, DType::f32);
  EXPECT_EQ(rig.read(0, view), (Codes{1, poison, poison, 1}));
}

TEST(CpuBackend, EventsMoveNoByte) {
  const Action events[] = {Record{},         Wait{},         BeginStep{}, BeginMicrobatch{},
                           Acquire{},        CloseLease{},   Flag{true},  Return{},
                           Hook{},           Ready{},        Finish{},    EndStep{},
                           BeginRecompute{}, EndRecompute{}, Interrupt{}};
  Rig rig("cpu", "ideal", 1);
  const View view = rig.buffer(DType::f32, 3);
  rig.write(0, view, {1, 2, 3});
  for (const Action& event : events) rig.op(event).on(view);
  rig.run();
  EXPECT_EQ(rig.read(0, view), (Codes{1, 2, 3}));
}

TEST(CpuBackend, OpsRunOnTheirRanksOnly) {
  Rig rig("cpu", "ideal", 3);
  const View view = rig.buffer(DType::f32, 1);
  for (std::int32_t rank = 0; rank < 3; ++rank) rig.write(rank, view, {7});
  const std::vector<Rank> some = {Rank{2}, Rank{0}};
  rig.builder.op(Fill{0}, {}, Stream::compute, some).on(view);
  rig.run();
  EXPECT_EQ(rig.read(0, view), Codes{0});
  EXPECT_EQ(rig.read(1, view), Codes{7});
  EXPECT_EQ(rig.read(2, view), Codes{0});
}

TEST(CpuBackend, RangesOfOpsAddUpToThePlan) {
  std::mt19937_64 random(11);
  const Codes start = random_codes(DType::f32, 10, random, random_number);
  std::vector<Codes> results;
  for (std::int32_t step : {1, 2, 5}) {
    Rig rig("cpu", "ideal", 1);
    const View a = rig.buffer(DType::f32, 10),
               b = rig.builder.whole(rig.builder.buffer("b", BufferRole::shard, DType::f32, 10));
    rig.write(0, a, start);
    rig.op(Allocate{}).on(b);
    rig.op(Fill{1}).on(b);
    rig.op(Add{}).on(a).on(b);
    rig.op(Scale{0.3f}).on(b);
    rig.op(Add{}).on(a).on(b);
    for (std::int32_t i = 0; i < 5; i += step) {
      rig.backend().execute(rig.plan, op_index(i), op_index(std::min(5, i + step)));
    }
    results.push_back(rig.read(0, b));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(CpuBackend, WritesBetweenOpsAreSeen) {
  Rig rig("cpu", "ideal", 1);
  const View a = rig.builder.whole(rig.builder.buffer("a", BufferRole::shard, DType::f32, 1));
  rig.op(Allocate{}).on(a);
  rig.op(Add{}).on(a).on(a);
  rig.backend().execute(rig.plan, op_index(0), op_index(1));
  rig.write(0, a, {rounded(DType::f32, 3.0)});
  rig.backend().execute(rig.plan, op_index(1), op_index(2));
  EXPECT_EQ(rig.read(0, a), Codes{rounded(DType::f32, 6.0)});
}

/// One backend for many plans gives what a new one gives: nothing leaks from a plan into the next.
TEST(CpuBackend, AnUsedBackendEqualsANewOne) {
  const auto backend = make_backend("cpu", {.profile = "ideal"});
  const auto run = [](Backend& on, DType type, std::int64_t numel) {
    Plan plan;
    plan.ranks = 2;
    PlanBuilder builder(plan);
    const View view = builder.whole(builder.buffer("b", BufferRole::shard, type, numel));
    builder.op(Allocate{}, {}, Stream::compute, ranks_upto(2)).on(view);
    builder.op(Fill{3}, {}, Stream::compute, ranks_upto(2)).on({view.buffer, 1, numel - 1});
    on.execute(plan, OpIndex{0}, OpIndex{2});
    std::vector<std::byte> bytes(static_cast<std::size_t>(numel * bytes_of(type)));
    on.read(plan, Rank{1}, view, bytes);
    return bytes;
  };
  for (std::int64_t numel : {5, 100, 3, 1000, 7}) {
    for (DType type : kFloats) {
      const auto fresh = make_backend("cpu", {.profile = "ideal"});
      EXPECT_EQ(run(*backend, type, numel), run(*fresh, type, numel));
    }
  }
}

TEST(CpuBackendDeathTest, SizesOfBytesAreChecked) {
  Rig rig("cpu", "ideal", 1);
  const View view = rig.buffer(DType::f32, 3);
  EXPECT_DEATH(rig.write(0, view, {1, 2}), "not of the size of the view");
}

}  // namespace
}  // namespace shardcheck::test
