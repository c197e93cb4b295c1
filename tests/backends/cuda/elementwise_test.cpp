// Every elementwise op, every pair of types, on views of every alignment and of other sizes on other ranks.
#include "tests/backends/cuda/twins.h"

namespace shardcheck {
namespace {

using Elementwise = OnGpu;
constexpr DType kFloats[] = {DType::f32, DType::bf16, DType::f16};

/// Two buffers on `ranks` ranks, and one op on a random part of them.
struct Setting {
  Plan plan;
  BufferId from, to;

  Setting(int ranks, DType source, DType destination, std::int64_t numel) {
    plan.ranks = ranks;
    PlanBuilder build(plan);
    from = build.buffer("from", BufferRole::inputs, source, numel);
    to = build.buffer("to", BufferRole::inputs, destination, numel);
  }
};

struct Part {
  std::int64_t begin, numel;
};
/// Aligned in one of three draws; never the same for all ranks otherwise.
Part random_part(RandomNumbers& random, std::int64_t numel) {
  const auto begin = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(numel)));
  if (random.below(3) == 0) return {begin / 16 * 16, numel - begin / 16 * 16};
  return {begin, static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(numel - begin) + 1))};
}

/// With NaN in both terms of an fp32 operation the reference's compiler may take the payload of either.
NanCodes where_two_nan_may_meet(DType destination) {
  return destination == DType::f32 ? NanCodes::any : NanCodes::compared;
}

template <class Append>
void compare(int cases, DType source, DType destination, NanCodes nan_codes, Append append) {
  RandomNumbers random(static_cast<std::uint64_t>(source) * 16 + static_cast<std::uint64_t>(destination));
  Twins twins(one_gpu(), kHopper);
  for (int i = 0; i < cases; ++i) {
    const int ranks = 1 + static_cast<int>(random.below(i % 7 == 0 ? 70 : 9));
    const auto numel = static_cast<std::int64_t>(1 + random.below(i % 5 == 0 ? 20'000 : 300));
    Setting setting(ranks, source, destination, numel);
    setting.plan.poison = random.below(2) == 0 ? Poison::quiet_nan : Poison::large;
    PlanBuilder build(setting.plan);
    append(build, setting, random);
    twins.write_all(setting.plan, random, i % 2 == 0 ? 3 : 30, i % 3 == 0 ? Corners::all : Corners::finite);
    twins.expect_equal_after(setting.plan, nan_codes);
    if (testing::Test::HasFailure()) return;
  }
}

/// An op from a part of `from` to a part of `to`, each rank its own.
template <class Action>
void append_pair(PlanBuilder& build, const Setting& setting, RandomNumbers& random, Action action) {
  const auto ranks = all_ranks(setting.plan);
  const std::int64_t numel = setting.plan.buffer(setting.to).numel;
  std::vector<View> sources, destinations;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Part part = random_part(random, numel);
    const auto other =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(numel - part.numel) + 1));
    sources.push_back({setting.from, part.begin, part.numel});
    destinations.push_back({setting.to, random.below(2) == 0 ? part.begin : other, part.numel});
  }
  const auto of = [](const std::vector<View>& views) {
    return [&views](std::int32_t i) { return views[static_cast<std::size_t>(i)]; };
  };
  build.op(action, {}, random.below(2) == 0 ? Stream::compute : Stream::reduce, ranks);
  build.on_each(of(sources)).on_each(of(destinations));
}

TEST_F(Elementwise, Copy) {
  for (DType s : kFloats) {
    for (DType d : kFloats) {
      compare(30, s, d, NanCodes::compared,
              [](PlanBuilder& build, const Setting& setting, RandomNumbers& random) {
                append_pair(build, setting, random, Copy{});
              });
    }
  }
}

TEST_F(Elementwise, Add) {
  for (DType s : kFloats) {
    for (DType d : kFloats) {
      compare(30, s, d, where_two_nan_may_meet(d),
              [](PlanBuilder& build, const Setting& setting, RandomNumbers& random) {
                append_pair(build, setting, random, Add{});
              });
    }
  }
}

TEST_F(Elementwise, SgdStep) {
  for (DType s : kFloats) {
    compare(30, s, DType::f32, NanCodes::any,
            [](PlanBuilder& build, const Setting& setting, RandomNumbers& random) {
              append_pair(build, setting, random, SgdStep{random.number(DType::f32, 10, Corners::finite)});
            });
  }
}

TEST_F(Elementwise, ScaleFillAndUndefine) {
  for (DType type : kFloats) {
    compare(60, type, type, NanCodes::compared,
            [](PlanBuilder& build, const Setting& setting, RandomNumbers& random) {
              const auto ranks = all_ranks(setting.plan);
              const Part part = random_part(random, setting.plan.buffer(setting.to).numel);
              const View view{setting.to, part.begin, part.numel};
              const float factor =
                  random.below(3) == 0 ? 1.0f / 3.0f : random.number(DType::f32, 10, Corners::finite);
              build.op(Scale{factor}, {}, Stream::compute, ranks).on(view);
              const Part other = random_part(random, setting.plan.buffer(setting.from).numel);
              const View filled{setting.from, other.begin, other.numel};
              if (random.below(2) == 0) {
                build.op(Fill{factor}, {}, Stream::reduce, ranks).on(filled);
              } else {
                build.op(Undefine{}, {}, Stream::reduce, ranks).on(filled);
              }
            });
  }
}

/// A sum with itself, and copies whose source and destination overlap.
TEST_F(Elementwise, Aliases) {
  for (DType type : kFloats) {
    compare(
        40, type, type, NanCodes::compared,
        [](PlanBuilder& build, const Setting& setting, RandomNumbers& random) {
          const auto ranks = all_ranks(setting.plan);
          const View whole = build.whole(setting.to);
          if (random.below(2) == 0) {
            build.op(Add{}, {}, Stream::compute, ranks).on(whole).on(whole);
            return;
          }
          const auto shift = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(whole.numel)));
          const View low{setting.to, 0, whole.numel - shift}, high{setting.to, shift, whole.numel - shift};
          const bool up = random.below(2) == 0;
          build.op(Copy{}, {}, Stream::compute, ranks).on(up ? low : high).on(up ? high : low);
        });
  }
}

TEST_F(Elementwise, BytesAreCopiedAndPoisoned) {
  Twins twins(one_gpu(), kHopper);
  Plan plan;
  plan.ranks = 3;
  PlanBuilder build(plan);
  const BufferId from = build.buffer("from", BufferRole::weights, DType::u8, 101);
  const BufferId to = build.buffer("to", BufferRole::weights, DType::u8, 101);
  const auto ranks = all_ranks(plan);
  build.op(Allocate{}, {}, Stream::compute, ranks).on(build.whole(from));
  build.op(Allocate{}, {}, Stream::compute, ranks).on(build.whole(to));
  build.op(Fill{0}, {}, Stream::compute, ranks).on({to, 3, 90});
  build.op(Copy{}, {}, Stream::compute, ranks).on({from, 1, 17}).on({to, 20, 17});
  twins.expect_equal_after(plan, NanCodes::compared);
}

}  // namespace
}  // namespace shardcheck
