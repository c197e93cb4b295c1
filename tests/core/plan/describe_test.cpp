// Ops in words, as a report shows them.
#include <gtest/gtest.h>

#include "core/plan/builder.h"
#include "core/recipe/catalogue.h"

namespace shardcheck {
namespace {

TEST(Describe, Ranks) {
  const Rank r[] = {Rank{0}, Rank{1}, Rank{2}, Rank{4}};
  EXPECT_EQ(describe(std::span<const Rank>{}), "no rank");
  EXPECT_EQ(describe(std::span(r, 1)), "rank 0");
  EXPECT_EQ(describe(std::span(r, 3)), "ranks 0 to 2");
  EXPECT_EQ(describe(std::span(r, 4)), "ranks 0, 1, 2, 4");
}

TEST(Describe, TheReasonAndThePlaceOfAnOp) {
  Plan plan;
  plan.parameters = {{.name = "w0", .rows = 2, .columns = 2}};
  PlanBuilder build(plan);
  const BufferId in = build.buffer("inputs", BufferRole::inputs, DType::bf16, 8);
  const BufferId main = build.buffer("main_grad", BufferRole::main_grad, DType::f32, 4);
  const std::vector<Rank> ranks{Rank{0}, Rank{1}};
  const Why why{.purpose = Purpose::write, .parameter = ParamId{0}, .step = 0, .microbatch = 1, .use = 0};
  build.op(Gemm{1, 2, 2, true}, why, Stream::compute, ranks).on({in, 0, 2}).on({in, 2, 2}).on({main, 0, 4});
  EXPECT_EQ(
      describe(plan, plan.ops[0]),
      "wgrad GEMM, beta = 1, 1 token of w0 (use 0, microbatch 1, step 0) in main_grad[0:4) on ranks 0 to 1");
  build.op(BeginStep{}, {.step = 2}, Stream::compute, ranks);
  EXPECT_EQ(describe(plan, plan.ops[1]), "begin of step (step 2) on ranks 0 to 1");
}

TEST(Describe, AnAccumulationSaysThatItGoesToTheHost) {
  Plan plan;
  PlanBuilder build(plan);
  const BufferId slot = build.buffer("slot.0", BufferRole::lease_slot, DType::bf16, 8);
  const BufferId shard = build.buffer_on_host("shard.0", BufferRole::shard, DType::f32, 4);
  const std::vector<Rank> ranks{Rank{0}};
  for (const Action& action : {Action(Copy{}), Action(Add{})})
    build.op(action, {.purpose = Purpose::accumulate}, Stream::reduce, ranks)
        .on({slot, 4, 4})
        .on({shard, 0, 4});
  EXPECT_EQ(describe(plan, plan.ops[0]),
            "copy the reduced gradient over the host's shard in shard.0[0:4) on rank 0");
  EXPECT_EQ(describe(plan, plan.ops[1]),
            "accumulate the reduced gradient onto the host's shard in shard.0[0:4) on rank 0");
}

TEST(Describe, EveryActionHasItsWords) {
  const auto mx = static_cast<std::int8_t>(recipe::find_recipe("te-mxfp8") - recipe::recipes().data());
  const BlockCopy rows{.recipe = mx, .rows = 32, .columns = 64};
  const BlockCopy columns{.recipe = mx, .direction = recipe::Direction::column, .rows = 32, .columns = 64};
  struct Words {
    Action action;
    Purpose purpose;
    std::string_view text;
  };
  const Words table[] = {
      {Allocate{}, Purpose::setup, "allocate"},
      {Undefine{}, Purpose::none, "leave undefined"},
      {Fill{0}, Purpose::zero, "zero"},
      {Fill{2.5f}, Purpose::setup, "fill with 2.5"},
      {Gemm{0, 1, 1, false}, Purpose::write, "wgrad GEMM, beta = 0, 0 tokens"},
      {Copy{}, Purpose::none, "copy"},
      {Copy{}, Purpose::fold, "fold (copy) param.grad"},
      {Copy{}, Purpose::accumulate, "copy the reduced gradient over the shard"},
      {Copy{}, Purpose::stage, "copy the local sums into the communication buffer"},
      {Copy{}, Purpose::unstage, "copy the reduced gradient back"},
      {TakeAmax{rows, 40}, Purpose::weights, "take amaxes (te-mxfp8, rows) of elements from 40"},
      {ScaleFromAmax{columns}, Purpose::weights, "scales from amaxes (te-mxfp8, columns)"},
      {QuantizeBlocks{columns, 5}, Purpose::weights, "quantise (te-mxfp8, columns) elements from 5"},
      {DequantizeBlocks{rows, 5}, Purpose::weights, "dequantise (te-mxfp8, rows) elements from 5"},
      {QuantizeMatrix{rows}, Purpose::weights, "quantise a whole matrix (te-mxfp8)"},
      {DeriveColumnCopy{rows}, Purpose::weights, "derive the column copy (te-mxfp8) of the codes"},
      {CloseDelayedStep{}, Purpose::weights, "close a step of delayed scaling"},
      {Add{}, Purpose::none, "add"},
      {Add{}, Purpose::fold, "fold (add) param.grad"},
      {Add{}, Purpose::accumulate, "accumulate the reduced gradient onto the shard"},
      {Scale{0.5f}, Purpose::scale, "scale by 0.5"},
      {Communicate{Collective::all_reduce, Reduction::sum, 2}, Purpose::reduce,
       "all-reduce (sum) over groups of 2"},
      {Communicate{Collective::reduce_scatter, Reduction::average, 4}, Purpose::reduce,
       "reduce-scatter (average) over groups of 4"},
      {Communicate{Collective::all_reduce, Reduction::maximum, 2}, Purpose::weights,
       "all-reduce (maximum) over groups of 2"},
      {Communicate{Collective::all_gather, Reduction::sum, 2}, Purpose::weights,
       "all-gather over groups of 2"},
      {SgdStep{0.25f}, Purpose::consume, "optimizer step, rate 0.25"},
      {Record{EventId{3}}, Purpose::none, "record event 3"},
      {Wait{EventId{3}}, Purpose::none, "wait for event 3"},
      {BeginGraph{GraphId{2}}, Purpose::none, "begin of graph 2"},
      {EndGraph{}, Purpose::none, "end of graph"},
      {BeginStep{}, Purpose::none, "begin of step"},
      {BeginMicrobatch{}, Purpose::none, "begin of microbatch"},
      {OpenLease{}, Purpose::none, "open a lease"},
      {Acquire{}, Purpose::none, "acquire"},
      {CloseLease{}, Purpose::none, "return the lease to the pool"},
      {Flag{true}, Purpose::none, "grad_added_to_main_grad := True"},
      {Flag{false}, Purpose::none, "grad_added_to_main_grad := False"},
      {Return{Returned::real}, Purpose::none, "return a real gradient to autograd"},
      {Return{Returned::alias}, Purpose::none, "return an alias of main_grad to autograd"},
      {Hook{HookAction::copy}, Purpose::none, "owner's hook copies param.grad"},
      {Hook{HookAction::zero_fill}, Purpose::none, "owner's hook zero-fills the range"},
      {Ready{}, Purpose::none, "ready for reduction"},
      {Finish{}, Purpose::none, "finish: the consumer may read"},
      {EndStep{}, Purpose::none, "end of step"},
      {BeginRecompute{3}, Purpose::none, "unit 3 is computed again"},
      {EndRecompute{}, Purpose::none, "end of what is computed again"},
      {Interrupt{Ended::attempt}, Purpose::none, "the step is given up"},
      {Interrupt{Ended::process}, Purpose::none, "the process ends, another goes on"},
  };
  Plan plan;
  PlanBuilder build(plan);
  const std::vector<Rank> ranks{Rank{1}};
  for (const Words& row : table) {
    build.op(row.action, {.purpose = row.purpose}, Stream::compute, ranks);
    EXPECT_EQ(describe(plan, plan.ops.back()), std::string(row.text) + " on rank 1");
  }
}

}  // namespace
}  // namespace shardcheck
