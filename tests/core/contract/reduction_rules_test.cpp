// Table 2.4 of the specification from LAUNCH to STEP, row by row, and the waits of 6.2 around a collective.
#include <gtest/gtest.h>

#include "tests/core/contract/tiny_plan.h"

namespace shardcheck::tests {
namespace {

TEST(ReductionRules, Launch) {
  expect_rows({
      {"A", [](TinyPlan& p) { p.fill(p.main), p.all_reduce(p.main); }, ""},
      {"Z, a contribution of 0", [](TinyPlan& p) { p.zero(p.all(p.main)), p.all_reduce(p.main); }, ""},
      {"S on all ranks", [](TinyPlan& p) { p.reduce(p.main), p.begin_step(), p.all_reduce(p.main); }, ""},
      {"UD", [](TinyPlan& p) { p.all_reduce(p.main); }, "W7"},
      {"V of the same axis", [](TinyPlan& p) { p.reduce(p.main), p.all_reduce(p.main); }, "W27"},
      {"X", [](TinyPlan& p) { p.open(), p.zero(p.all(p.slot)), p.close(), p.all_reduce(p.slot); }, "W33"},
      {"L",
       [](TinyPlan& p) {
         p.fill(p.main), p.order(kCompute, kReduce), p.all_reduce(p.main, kReduce), p.all_reduce(p.main);
       },
       "W21"},
  });
}

/// An op that only rank 0 does.
template <class Do>
void on_rank_0(TinyPlan& p, Do op) {
  p.ranks = {Rank{0}};
  op();
  p.ranks = {Rank{0}, Rank{1}};
}

TEST(ReductionRules, StaleBytesOfSomeRanksOnly) {
  expect_rows({
      {"of this step: staged again on one rank",
       [](TinyPlan& p) {
         p.fill(p.main), p.stage(), p.reduce_scatter(p.comm);
         on_rank_0(p, [&] { p.stage(); });
         p.all_reduce(p.comm);
       },
       "W27 W28"},  // rank 1's own slice is reduced again, too
      {"of an earlier step: zeroed on one rank",
       [](TinyPlan& p) {
         p.fill(p.main), p.reduce_scatter(p.main), p.begin_step();
         on_rank_0(p, [&] { p.zero(p.all(p.main)); });
         p.all_reduce(p.main);
       },
       "W6"},
  });
}

/// The product of a distributed weight into its scratch; so many ranks share the weight.
void begin_shared(TinyPlan& p, std::int32_t shards = 2) {
  p.plan.parameters[0].shards = shards;
  p.begin_step(), p.zero(p.all(p.main)), p.open(), p.write(0, p.slot);
}
void reduce_shards(TinyPlan& p) {
  p.op(Communicate{Collective::reduce_scatter, Reduction::sum, 2}, Purpose::reduce_shards, kCompute,
       TinyPlan::w)
      .on(p.all(p.slot))
      .on_each([&](std::int32_t i) { return TinyPlan::slice(p.slot, i); });
}
void add_rows(TinyPlan& p) {
  p.op(Add{}, Purpose::accumulate, kCompute, TinyPlan::w)
      .on_each([&](std::int32_t i) { return TinyPlan::slice(p.slot, i); })
      .on({p.main, 0, TinyPlan::kSlice});
}

TEST(ReductionRules, RowsOfADistributedWeight) {
  expect_rows({
      {"reduced by the producer, added, reduced by the owner over another axis",
       [](TinyPlan& p) { begin_shared(p), reduce_shards(p), add_rows(p), p.close(), p.all_reduce(p.main); },
       ""},
      {"added without the producer's reduction", [](TinyPlan& p) { begin_shared(p), add_rows(p); }, "W21"},
      {"the same of a group of one", [](TinyPlan& p) { begin_shared(p, 1), add_rows(p); }, ""},
      {"reduced twice over one axis",
       [](TinyPlan& p) { begin_shared(p), reduce_shards(p), reduce_shards(p); }, "W27 W28"},
      {"reduced and not added", [](TinyPlan& p) { begin_shared(p), reduce_shards(p), p.close(); }, "W21"},
      {"added twice", [](TinyPlan& p) { begin_shared(p), reduce_shards(p), add_rows(p), add_rows(p); },
       "W26"},
      {"added after the owner has reduced",
       [](TinyPlan& p) { begin_shared(p), reduce_shards(p), p.all_reduce(p.main), add_rows(p); }, "W21"},
  });
}

/// The two ranks sum their copies of the weight, as if they were of two pipeline stages.
void tie(TinyPlan& p) {
  p.plan.parameters[0].tied = true;
  p.op(Communicate{Collective::all_reduce, Reduction::sum, 2}, Purpose::reduce_tied, kCompute, TinyPlan::w)
      .on(p.of_w(p.main))
      .on(p.of_w(p.main));
}
void clip(TinyPlan& p) {
  p.op(Scale{0.5f}, Purpose::clip).on(p.all(p.main));
}
void divide(TinyPlan& p) {
  p.divide(p.all(p.main));
}

TEST(ReductionRules, FinalizeInOrderAndOnceEach) {
  expect_rows({
      {"in order", [](TinyPlan& p) { p.reduce(p.main), tie(p), divide(p), clip(p), p.finish(p.main); }, ""},
      {"no sum over stages",
       [](TinyPlan& p) { p.plan.parameters[0].tied = true, p.reduce(p.main), p.finish(p.main); }, "W32"},
      {"summed twice", [](TinyPlan& p) { p.reduce(p.main), tie(p), tie(p); }, "W32"},
      {"summed before the reduction", [](TinyPlan& p) { p.fill(p.main), tie(p); }, "W32"},
      {"nothing to reduce", [](TinyPlan& p) { p.fill(p.main), tie(p), p.finish(p.main); }, "", 1},
      {"reduced after a division", [](TinyPlan& p) { p.fill(p.main), divide(p), p.all_reduce(p.main); },
       "W32"},
      {"summed after a division", [](TinyPlan& p) { p.reduce(p.main), divide(p), tie(p); }, "W32"},
      {"summed after clipping", [](TinyPlan& p) { p.reduce(p.main), clip(p), tie(p); }, "W32"},
      {"divided twice", [](TinyPlan& p) { p.reduce(p.main), divide(p), divide(p); }, "W32"},
      {"clipped twice", [](TinyPlan& p) { p.reduce(p.main), clip(p), clip(p); }, "W32"},
      {"divided after clipping", [](TinyPlan& p) { p.reduce(p.main), clip(p), divide(p); }, "W32"},
      {"divided after FIN", [](TinyPlan& p) { p.reduce(p.main), p.finish(p.main), divide(p); }, "W32"},
      {"copies that are cut differently",
       [](TinyPlan& p) { p.fill(p.main), p.reduce_scatter(p.main), tie(p); }, "W28"},
      {"drained after the reduction",
       [](TinyPlan& p) {
         p.reduce(p.main), p.write(1, p.main);
         p.plan.ops.back().why.deferred = true;
       },
       "W32"},
      {"the next step begins anew",
       [](TinyPlan& p) {
         p.reduce(p.main), tie(p), divide(p), p.finish(p.main);
         p.begin_step(), p.reduce(p.main), tie(p), divide(p), p.finish(p.main);
       },
       ""},
  });
}

TEST(ReductionRules, DoneLeavesEachRankItsSlice) {
  expect_rows({
      {"all-reduce, all of it", [](TinyPlan& p) { p.reduce(p.main), p.finish(p.main), p.consume(p.main); },
       ""},
      {"reduce-scatter, the own slice",
       [](TinyPlan& p) { p.fill(p.main), p.reduce_scatter(p.main), p.finish_slices(p.main); }, ""},
      {"reduce-scatter, all of it",
       [](TinyPlan& p) { p.fill(p.main), p.reduce_scatter(p.main), p.finish(p.main); }, "W28"},
      {"reduce-scatter, then a late write",
       [](TinyPlan& p) { p.fill(p.main), p.reduce_scatter(p.main), p.write(0, p.main); }, "W21"},
  });
}

void reduced_slot(TinyPlan& p) {
  p.fill(p.slot);
  p.reduce_scatter(p.slot);
}
void reduced_slot_again(TinyPlan& p) {
  p.accumulate(false, p.slot);
  p.close();
  reduced_slot(p);
}

TEST(ReductionRules, AccumulationByAdding) {
  expect_rows({
      {"Z", [](TinyPlan& p) { p.zero(p.all(p.shard)), reduced_slot(p), p.accumulate(true, p.slot); }, ""},
      {"A", [](TinyPlan& p) { reduced_slot(p), reduced_slot_again(p), p.accumulate(true, p.slot); }, ""},
      {"UD", [](TinyPlan& p) { reduced_slot(p), p.accumulate(true, p.slot); }, "W6"},
      {"S, of an earlier step",
       [](TinyPlan& p) {
         reduced_slot(p), p.accumulate(false, p.slot), p.close(), p.finish(p.shard), p.begin_step();
         reduced_slot(p), p.accumulate(true, p.slot);
       },
       "W6"},
      {"scaled in between",
       [](TinyPlan& p) {
         reduced_slot(p), p.accumulate(false, p.slot), p.close(), p.scale(p.all(p.shard), 0.5f);
         reduced_slot(p), p.accumulate(true, p.slot);
       },
       "W25"},
      {"the same storage",
       [](TinyPlan& p) {
         p.zero(p.all(p.shard)), p.op(Add{}, Purpose::accumulate).on(p.all(p.shard)).on(p.all(p.shard));
       },
       "W26"},
      {"twice, but what was added is spent",
       [](TinyPlan& p) {
         p.zero(p.all(p.shard)), reduced_slot(p), p.accumulate(true, p.slot), p.accumulate(true, p.slot);
       },
       "W26"},
  });
}

TEST(ReductionRules, AccumulationByCopying) {
  expect_rows({
      {"Z", [](TinyPlan& p) { p.zero(p.all(p.shard)), reduced_slot(p), p.accumulate(false, p.slot); }, ""},
      {"UD", [](TinyPlan& p) { reduced_slot(p), p.accumulate(false, p.slot); }, ""},
      {"S",
       [](TinyPlan& p) {
         reduced_slot(p), p.accumulate(false, p.slot), p.close(), p.finish(p.shard), p.begin_step();
         reduced_slot(p), p.accumulate(false, p.slot);
       },
       ""},
      {"A", [](TinyPlan& p) { reduced_slot(p), reduced_slot_again(p), p.accumulate(false, p.slot); }, "W26"},
  });
}

TEST(ReductionRules, WhatIsAccumulatedWasReduced) {
  expect_rows({
      {"A", [](TinyPlan& p) { p.fill(p.slot), p.accumulate(false, p.slot); }, "W21"},
      {"A of a group of one", [](TinyPlan& p) { p.fill(p.slot), p.accumulate(false, p.slot); }, "", 1},
      {"the slice of the neighbour",
       [](TinyPlan& p) {
         reduced_slot(p);
         p.op(Copy{}, Purpose::accumulate)
             .on_each([&](std::int32_t i) { return TinyPlan::slice(p.slot, 1 - i); })
             .on(p.all(p.shard));
       },
       "W28"},
  });
}

TEST(ReductionRules, StagedSumsMoveAndComeBack) {
  expect_rows({
      {"there and back",
       [](TinyPlan& p) {
         p.fill(p.main), p.stage(), p.all_reduce(p.comm), p.unstage(), p.finish(p.main), p.consume(p.main);
       },
       ""},
      {"not copied back",
       [](TinyPlan& p) { p.fill(p.main), p.stage(), p.all_reduce(p.comm), p.finish(p.main); }, "W28"},
      {"undefined sums stay undefined", [](TinyPlan& p) { p.stage(), p.all_reduce(p.comm); }, "W7"},
      {"onto a collective in flight",
       [](TinyPlan& p) {
         p.fill(p.main), p.stage(), p.order(kCompute, kReduce), p.all_reduce(p.comm, kReduce);
         p.begin_step(), p.zero(p.all(p.main)), p.stage();
       },
       "W22"},
  });
}

TEST(ReductionRules, Finish) {
  expect_rows({
      {"V", [](TinyPlan& p) { p.reduce(p.main), p.finish(p.main); }, ""},
      {"shard A", [](TinyPlan& p) { reduced_slot(p), p.accumulate(false, p.slot), p.finish(p.shard); }, ""},
      {"shard Z", [](TinyPlan& p) { p.zero(p.all(p.shard)), p.finish(p.shard); }, ""},
      {"A without its launch", [](TinyPlan& p) { p.fill(p.main), p.finish(p.main); }, "W29"},
      {"Z without its launch", [](TinyPlan& p) { p.zero(p.all(p.main)), p.finish(p.main); }, "W29"},
      {"A in a group of one", [](TinyPlan& p) { p.fill(p.main), p.finish(p.main); }, "", 1},
      {"UD", [](TinyPlan& p) { p.finish(p.main); }, "W8"},
      {"S", [](TinyPlan& p) { p.reduce(p.main), p.begin_step(), p.finish(p.main); }, "W28"},
      {"X", [](TinyPlan& p) { p.open(), p.zero(p.all(p.slot)), p.close(), p.finish(p.slot); }, "W33"},
  });
}

TEST(ReductionRules, TheConsumerReadsWhatWasFinished) {
  expect_rows({
      {"V", [](TinyPlan& p) { p.reduce(p.main), p.consume(p.main); }, ""},
      {"A", [](TinyPlan& p) { p.fill(p.main), p.consume(p.main); }, "W21"},
      {"S", [](TinyPlan& p) { p.reduce(p.main), p.begin_step(), p.consume(p.main); }, "W28"},
  });
}

// ---- Streams: E1, E3, E7 and E15 of 6.2. Each plan is right with the wait and broken without it.

/// Weights pass through main_grad: each rank's slice comes in, the gather completes them, a copy takes them
/// out.
void stage_weights(TinyPlan& p) {
  p.op(Copy{}, Purpose::weights).on_each([&](std::int32_t i) { return TinyPlan::slice(p.master, i); });
  p.build.on_each([&](std::int32_t i) { return TinyPlan::slice(p.main, i); });
}
void gather_weights(TinyPlan& p, Stream stream) {
  p.op(Communicate{Collective::all_gather, Reduction::sum, 2}, Purpose::weights, stream);
  p.build.on_each([&](std::int32_t i) { return TinyPlan::slice(p.main, i); }).on(p.all(p.main));
}
void take_weights_out(TinyPlan& p) {
  p.op(Copy{}, Purpose::weights).on(p.all(p.main)).on(p.all(p.master));
}

struct Fenced {
  std::string_view edge, clause;
  Stream before, after;
  void (*first)(TinyPlan& p);
  void (*second)(TinyPlan& p);
};

TEST(ReductionRules, AMissingWaitIsAFinding) {
  const Fenced edges[] = {
      {"E16, replay before launch", "W35", Stream::graph, kReduce,
       [](TinyPlan& p) {
         p.zero(p.all(p.main));
         p.order(kCompute, Stream::graph);
         p.write(1, p.main, Stream::graph);
       },
       [](TinyPlan& p) { p.all_reduce(p.main, kReduce); }},
      {"E1, write before launch", "W21", kCompute, kReduce, [](TinyPlan& p) { p.fill(p.main); },
       [](TinyPlan& p) { p.all_reduce(p.main, kReduce); }},
      {"E1, write before scale", "W21", kCompute, kReduce, [](TinyPlan& p) { p.fill(p.main); },
       [](TinyPlan& p) { p.scale(p.all(p.main), 0.5f, kReduce); }},
      {"E1, write before staging", "W21", kCompute, kReduce, [](TinyPlan& p) { p.fill(p.main); },
       [](TinyPlan& p) { p.stage(kReduce); }},
      {"E3, launch before accumulation", "W23", kReduce, kCompute,
       [](TinyPlan& p) { p.fill(p.slot), p.order(kCompute, kReduce), p.reduce_scatter(p.slot, kReduce); },
       [](TinyPlan& p) { p.accumulate(false, p.slot); }},
      {"E7, launch before finish", "W23", kReduce, kCompute,
       [](TinyPlan& p) { p.fill(p.main), p.order(kCompute, kReduce), p.all_reduce(p.main, kReduce); },
       [](TinyPlan& p) { p.finish(p.main); }},
      {"E7, accumulation before finish", "W23", kReduce, kCompute,
       [](TinyPlan& p) { reduced_slot(p), p.order(kCompute, kReduce), p.accumulate(false, p.slot, kReduce); },
       [](TinyPlan& p) { p.finish(p.shard); }},
      {"E15, staging before gather", "W36", kCompute, kReduce, stage_weights,
       [](TinyPlan& p) { gather_weights(p, kReduce); }},
      {"E15, gather before copy", "W36", kReduce, kCompute,
       [](TinyPlan& p) { stage_weights(p), p.order(kCompute, kReduce), gather_weights(p, kReduce); },
       take_weights_out},
      {"E15, copy before zeros", "W36", kCompute, kReduce,
       [](TinyPlan& p) { stage_weights(p), gather_weights(p, kCompute), take_weights_out(p); },
       [](TinyPlan& p) { p.zero(p.all(p.main), kReduce); }},
  };
  for (const Fenced& edge : edges) {
    TinyPlan with, without;
    edge.first(with);
    with.order(edge.before, edge.after);
    edge.second(with);
    edge.first(without);
    edge.second(without);
    EXPECT_EQ(broken(with.plan), "") << edge.edge;
    EXPECT_EQ(broken(without.plan), edge.clause) << edge.edge;
  }
}

}  // namespace
}  // namespace shardcheck::tests
