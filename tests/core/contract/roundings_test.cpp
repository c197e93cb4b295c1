// W16 and W38 on plans written by hand: each way with its declaration, and its neighbours with another type
// somewhere.
#include "core/contract/roundings.h"

#include <gtest/gtest.h>

#include "tests/core/contract/tiny_plan.h"

namespace shardcheck::tests {
namespace {

constexpr DeclaredPipeline kF32{}, kBf16Wire{.wire = DType::bf16, .outer = DType::bf16};
constexpr DeclaredPipeline kAllBf16{DType::bf16, DType::bf16, DType::bf16, DType::bf16};

struct TypedPlan : TinyPlan {
  explicit TypedPlan(const DeclaredPipeline& declared = kF32) {
    plan.declared = declared;
    type(grad, DType::bf16);
    type(placeholder, DType::bf16);
    type(comm, declared.wire);
    plan.owned = {{w, Rank{0}, {shard, 0, 3}, 0}, {w, Rank{1}, {shard, 0, 1}, 3}};
  }
  void type(BufferId id, DType to) { plan.buffers[static_cast<std::size_t>(id.value)].dtype = to; }
  void move(Action action, Purpose purpose, View from, View to) {
    op(action, purpose, kCompute, purpose == Purpose::write ? w : ParamId{-1}).on(from).on(to);
  }
  /// A step of a persistent owner without a staging buffer.
  void reduce_and_finish() {
    all_reduce(main);
    finish(main);
  }
};

struct Way {
  std::string_view name;
  void (*ops)(TypedPlan& p);
  std::string_view finding;  ///< clause, op, and what the sentence says; empty: none
  DeclaredPipeline declared = kF32;
};

void expect_ways(std::initializer_list<Way> ways) {
  for (const Way& way : ways) {
    TypedPlan p(way.declared);
    const auto before = static_cast<std::int32_t>(p.plan.ops.size());
    way.ops(p);
    std::vector<OpIndex> all;
    for (std::size_t i = 0; i < p.plan.ops.size(); ++i) all.push_back(OpIndex{static_cast<std::int32_t>(i)});
    std::string found;
    for (const Finding& f : judge_roundings(p.plan, all)) {
      EXPECT_EQ(f.parameter_name, "w") << way.name;
      EXPECT_GE(f.rank, 0) << way.name;
      found += (found.empty() ? "" : "\n") + f.clause + " op " + std::to_string(f.op.value - before) + ": " +
               f.sentence.substr(0, f.sentence.find("; declared:"));
    }
    EXPECT_EQ(found, way.finding) << way.name;
    p.plan.declared.reset();
    EXPECT_TRUE(judge_roundings(p.plan, all).empty()) << way.name << ": nothing is declared";
  }
}

TEST(Roundings, DeclaredWaysAreSilent) {
  expect_ways({
      {"fused", [](TypedPlan& p) { p.zero(p.all(p.main)), p.write(1, p.main), p.reduce_and_finish(); }, ""},
      {"unfused",
       [](TypedPlan& p) {
         p.zero(p.all(p.main)), p.write(0, p.grad), p.fold(true, p.main), p.reduce_and_finish();
       },
       ""},
      {"staged in bf16",
       [](TypedPlan& p) {
         p.write(0, p.main), p.stage(), p.all_reduce(p.comm), p.unstage(), p.finish(p.main);
       },
       "", kBf16Wire},
      {"through a lease",
       [](TypedPlan& p) {
         p.open(), p.write(0, p.slot), p.reduce_scatter(p.slot), p.accumulate(true, p.slot), p.close();
         p.finish(p.shard);
       },
       ""},
      {"a rounded copy that nobody reads again",
       [](TypedPlan& p) {
         p.type(p.comm, DType::bf16);
         p.write(0, p.main), p.move(Copy{}, Purpose::none, p.all(p.main), p.all(p.comm));
         p.reduce_and_finish();
       },
       ""},
  });
}

TEST(Roundings, AFusedWriteByTheParametersTypeIsADetour) {
  expect_ways({
      {"a temporary that is added",
       [](TypedPlan& p) {
         p.zero(p.all(p.main)), p.write(0, p.grad);
         p.move(Add{}, Purpose::write, p.all(p.grad), p.of_w(p.main)), p.reduce_and_finish();
       },
       "W16 op 1: a fused write leaves its gradient in bf16 (w.grad), the parameter's type, from where op 10 "
       "takes it to its destination"},
      {"main_grad rounded to it by the producer",
       [](TypedPlan& p) {
         p.zero(p.all(p.main)), p.write(1, p.main);
         const Why why{.parameter = TinyPlan::w, .use = 0};
         p.build.op(Copy{}, why, kCompute, p.ranks).on(p.of_w(p.main)).on(p.all(p.grad));
         p.build.op(Copy{}, why, kCompute, p.ranks).on(p.all(p.grad)).on(p.of_w(p.main));
         p.reduce_and_finish();
       },
       "W16 op 2: a fused write passes through bf16 (w.grad) between local accumulation and the reduction"},
      {"the same where main_grad has the parameter's type",
       [](TypedPlan& p) {
         for (const BufferId id : {p.main, p.comm}) p.type(id, DType::bf16);
         p.write(0, p.grad), p.move(Copy{}, Purpose::write, p.all(p.grad), p.of_w(p.main));
         p.reduce_and_finish();
       },
       "", kAllBf16},
  });
}

TEST(Roundings, ParamGradIsALocalSumWhereProductsAreAddedToIt) {
  static constexpr auto kChained = [](TypedPlan& p, DType type) {
    p.type(p.grad, type);
    p.zero(p.all(p.main));
    p.rule = BetaRule::gradient;
    p.write(0, p.grad), p.write(1, p.grad), p.fold(true, p.main), p.reduce_and_finish();
  };
  expect_ways({
      {"in their type", [](TypedPlan& p) { kChained(p, DType::f32); }, ""},
      {"in the parameter's", [](TypedPlan& p) { kChained(p, DType::bf16); },
       "W16 op 1: contributions are accumulated, before the reduction, in bf16 (w.grad), not in f32"},
      {"an unfused gradient is rounded before it joins",
       [](TypedPlan& p) {
         p.type(p.grad, DType::f32);
         p.zero(p.all(p.main)), p.write(0, p.placeholder);
         p.rule = BetaRule::gradient;
         p.write(0, p.grad);
         p.op(Add{}, Purpose::none, kCompute, TinyPlan::w).on(p.of_w(p.placeholder)).on(p.of_w(p.grad));
         p.fold(true, p.main), p.reduce_and_finish();
       },
       ""},
  });
}

TEST(Roundings, EveryPartOfTheWayHasItsType) {
  expect_ways({
      {"microbatches in bf16",
       [](TypedPlan& p) {
         p.type(p.comm, DType::bf16);
         p.write(0, p.comm), p.write(1, p.comm);
         p.move(Copy{}, Purpose::stage, p.all(p.comm), p.all(p.main)), p.reduce_and_finish();
       },
       "W38 op 0: contributions are accumulated, before the reduction, in bf16 (comm), not in f32"},
      {"a reduction in bf16",
       [](TypedPlan& p) {
         p.type(p.comm, DType::bf16);
         p.write(0, p.main), p.stage(), p.all_reduce(p.comm), p.unstage(), p.finish(p.main);
       },
       "W38 op 1: the gradient is reduced in bf16 (comm), not in f32"},
      {"a rounding left out",
       [](TypedPlan& p) {
         p.type(p.comm, DType::f32);
         p.write(0, p.main), p.stage(), p.all_reduce(p.comm), p.unstage(), p.finish(p.main);
       },
       "W38 op 1: the gradient is reduced in f32 (comm), not in bf16, so that a rounding of the pipeline is "
       "left out",
       kBf16Wire},
      {"a declared wire that is not taken", [](TypedPlan& p) { p.write(0, p.main), p.reduce_and_finish(); },
       "W38 op 1: the gradient is reduced in f32 (main_grad), not in bf16, so that a rounding of the "
       "pipeline "
       "is left out",
       kBf16Wire},
      {"a shard in bf16",
       [](TypedPlan& p) {
         p.type(p.shard, DType::bf16);
         p.open(), p.write(0, p.slot), p.reduce_scatter(p.slot), p.accumulate(true, p.slot), p.close();
       },
       "W38 op 3: the reduced gradient is kept in bf16 (shard), not in f32"},
      {"outer groups in bf16",
       [](TypedPlan& p) {
         p.write(0, p.main), p.all_reduce(p.main), p.type(p.comm, DType::bf16);
         p.move(Copy{}, Purpose::accumulate, p.all(p.main), p.all(p.comm));
       },
       "W38 op 2: sums of outer groups are held in bf16 (comm), not in f32"},
      {"autograd in another type",
       [](TypedPlan& p) {
         p.type(p.grad, DType::f32);
         p.write(0, p.grad), p.fold(false, p.main), p.reduce_and_finish();
       },
       "W38 op 0: autograd holds a gradient in f32 (w.grad), not in bf16, so that a rounding of the pipeline "
       "is left out"},
  });
}

/// Out to bf16 and back, by nobody's declaration.
void round_trip(TypedPlan& p) {
  p.type(p.comm, DType::bf16);
  p.move(Copy{}, Purpose::none, p.all(p.main), p.all(p.comm));
  p.move(Copy{}, Purpose::none, p.all(p.comm), p.all(p.main));
}

TEST(Roundings, ADetourIsNamedByWhatStandsBeforeAndBehind) {
  expect_ways({
      {"between the sum and the wire",
       [](TypedPlan& p) { p.write(0, p.main), round_trip(p), p.reduce_and_finish(); },
       "W38 op 1: the gradient passes through bf16 (comm) between local accumulation and the reduction"},
      {"between two contributions",
       [](TypedPlan& p) { p.write(0, p.main), round_trip(p), p.write(1, p.main), p.reduce_and_finish(); },
       "W38 op 1: the gradient passes through bf16 (comm) between local accumulation and local accumulation"},
      {"between the wire and the consumer",
       [](TypedPlan& p) { p.write(0, p.main), p.all_reduce(p.main), round_trip(p), p.finish(p.main); },
       "W38 op 2: the gradient passes through bf16 (comm) between the reduction and the consumer"},
      {"and overwritten before anybody reads it",
       [](TypedPlan& p) {
         p.write(0, p.main), round_trip(p), p.zero(p.all(p.main)), p.write(1, p.main), p.reduce_and_finish();
       },
       ""},
  });
}

TEST(Roundings, AreJudgedWithEveryPlan) {
  TypedPlan p;
  p.type(p.main, DType::bf16);
  p.zero(p.all(p.main)), p.write(1, p.main), p.reduce_and_finish();
  EXPECT_EQ(broken(p.plan), "W38");
}

}  // namespace
}  // namespace shardcheck::tests
