// The worked examples of wgrad section 9, number by number: real plans of the owners, with the inputs of the
// book, and the buffers read after the events that its tables name. W is 2x2, rank 0 owns the first two
// elements. Examples on meshes of several axes are in mesh_examples_test.cpp.
#include <gtest/gtest.h>

#include "tests/sim/book.h"

namespace shardcheck::tests {
namespace {

class WorkedExample91 : public WorkedExample {};
class WorkedExample92 : public WorkedExample {};
class WorkedExample93 : public WorkedExample {};
class WorkedExample94 : public WorkedExample {};
class WorkedExample95 : public WorkedExample {};
class WorkedExample97 : public WorkedExample {};
class WorkedExample98 : public WorkedExample {};

void give_the_book(Book& book, int step = 0) {
  book.give(0, step, 0, 0, {1, 2, 0, 1});
  book.give(0, step, 1, 0, {4, 0, 8, 4});
  book.give(1, step, 0, 0, {16, 16, 0, 32});
  book.give(1, step, 1, 0, {64, 0, 64, 128});
}

// 9.1 speaks of DDP with the distributed optimizer; Megatron-FSDP "optim" is the same machine and cuts 2x2 in
// half.
TEST_F(WorkedExample91, PersistentBufferReducedOnce) {
  Book book(two_by_two(Strategy::fsdp_optim));
  give_the_book(book);
  book.run_to<Fill>(Purpose::zero);
  EXPECT_EQ(book.read(0, "main_grad"), (Values{0, 0, 0, 0}));
  book.run_to<Gemm>(Purpose::write);
  EXPECT_EQ(book.read(0, "main_grad"), (Values{1, 2, 0, 1}));
  EXPECT_EQ(book.read(1, "main_grad"), (Values{16, 16, 0, 32}));
  book.run_to<Gemm>(Purpose::write);
  EXPECT_EQ(book.read(0, "main_grad"), (Values{5, 2, 8, 5}));
  EXPECT_EQ(book.read(1, "main_grad"), (Values{80, 16, 64, 160}));
  book.run_to<Scale>(Purpose::scale);
  EXPECT_EQ(book.read(0, "main_grad"), (Values{2.5, 1, 4, 2.5}));
  EXPECT_EQ(book.read(1, "main_grad"), (Values{40, 8, 32, 80}));
  book.run_to<Communicate>(Purpose::reduce);
  EXPECT_EQ(book.read(0, "main_grad"), (Values{42.5, 9, 4, 2.5}));
  EXPECT_EQ(book.read(1, "main_grad"), (Values{40, 8, 36, 82.5}));
  EXPECT_EQ(book.first_clause(), "");
}

TEST_F(WorkedExample91, NextStepWithoutZeroing) {
  Scenario s = two_by_two(Strategy::fsdp_optim);
  s.fault = "M-W6";
  Book book(s);
  give_the_book(book, 0);
  give_the_book(book, 1);
  book.run_to<Gemm>(Purpose::write, 3);
  EXPECT_EQ(book.read(0, "main_grad"), (Values{43.5, 11, 4, 3.5}));
  EXPECT_EQ(book.read(1, "main_grad"), (Values{56, 24, 36, 114.5}));
  EXPECT_EQ(book.first_clause(), "W6");
}

TEST_F(WorkedExample92, LeaseReducedEveryMicrobatch) {
  Scenario s = two_by_two(Strategy::fsdp_optim_grads);
  s.slots = 1;
  Book book(s);
  give_the_book(book);
  book.run_to<Gemm>(Purpose::write);
  EXPECT_EQ(book.read(0, "slot.0"), (Values{1, 2, 0, 1}));
  book.run_to<Scale>(Purpose::scale);
  EXPECT_EQ(book.read(1, "slot.0"), (Values{8, 8, 0, 16}));
  book.run_to<Communicate>(Purpose::reduce);
  EXPECT_EQ(book.read(0, "slot.0"), (Values{8.5, 9, 0, .5}));
  EXPECT_EQ(book.read(1, "slot.0"), (Values{8, 8, 0, 16.5}));
  book.run_to<Add>(Purpose::accumulate);
  EXPECT_EQ(book.read(0, "shard.0", 2), (Values{8.5, 9}));
  EXPECT_EQ(book.read(1, "shard.0", 2), (Values{0, 16.5}));
  book.run_to<Gemm>(Purpose::write);
  EXPECT_EQ(book.read(0, "slot.0"), (Values{4, 0, 8, 4}));
  book.run_to<Communicate>(Purpose::reduce);
  EXPECT_EQ(book.read(0, "slot.0"), (Values{34, 0, 4, 2}));
  EXPECT_EQ(book.read(1, "slot.0"), (Values{32, 0, 36, 66}));
  book.run_to<Add>(Purpose::accumulate);
  EXPECT_EQ(book.read(0, "shard.0", 2), (Values{42.5, 9}));
  EXPECT_EQ(book.read(1, "shard.0", 2), (Values{36, 82.5}));
  EXPECT_EQ(book.first_clause(), "");
}

/// Without poison the recycled bytes are those of the last microbatch: the wrong numbers of the book.
TEST_F(WorkedExample92, AccumulatingOntoRecycledBytes) {
  Scenario s = two_by_two(Strategy::fsdp_optim_grads);
  s.slots = 1;
  s.steps = 1;
  Book book(s);
  give_the_book(book);
  int leases = 0;
  for (Op& op : book.planned().plan.ops) {
    if (auto* gemm = std::get_if<Gemm>(&op.action); gemm && op.why.microbatch == 1) gemm->accumulate = true;
    // A pool that recycles without poisoning: the second lease finds what the first left.
    if (std::holds_alternative<OpenLease>(op.action) && ++leases == 2) op.action = BeginMicrobatch{};
  }
  book.run_to_finish(0);
  EXPECT_EQ(book.read(0, "shard.0", 2), (Values{50.75, 17.5}));
  EXPECT_EQ(book.read(1, "shard.0", 2), (Values{36, 91}));
}

TEST_F(WorkedExample93, OverwriteFlagOnPersistentBuffer) {
  Scenario s = two_by_two(Strategy::megatron_ddp);
  s.loss = Loss::per_token;
  s.fault = "B-08";
  Book book(s);
  give_the_book(book);
  book.run_to<Gemm>(Purpose::write);
  EXPECT_EQ(book.read(0, "main_grad")[0], 1);
  EXPECT_EQ(book.read(1, "main_grad")[0], 16);
  book.run_to<Gemm>(Purpose::write);
  EXPECT_EQ(book.read(0, "main_grad")[0], 4);
  EXPECT_EQ(book.read(1, "main_grad")[0], 64);
  book.run_to<Communicate>(Purpose::reduce);
  EXPECT_EQ(book.read(0, "main_grad")[0], 68);
  EXPECT_EQ(book.read(1, "main_grad")[0], 68);
  EXPECT_EQ(book.first_clause(), "W4");
}

Scenario tied(Strategy strategy) {
  Scenario s = two_by_two(strategy);
  s.ranks = 1;
  s.steps = 1;
  s.uses = {{0, Producer::unfused, -1}, {0, Producer::fused, -1}};  // embedding first, head last
  return s;
}

void give_tied(Book& book) {
  book.give(0, 0, 0, 1, {1, 1, 0, 0});
  book.give(0, 0, 0, 0, {4, 0, 4, 0});
  book.give(0, 0, 1, 1, {16, 16, 0, 0});
  book.give(0, 0, 1, 0, {64, 0, 64, 0});
}

TEST_F(WorkedExample94, TiedWeightInDdp) {
  Book book(tied(Strategy::megatron_ddp));
  give_tied(book);
  book.run_to<Gemm>(Purpose::write);
  EXPECT_EQ(book.read(0, "main_grad"), (Values{1, 1, 0, 0}));
  book.run_to<Add>(Purpose::fold);
  EXPECT_EQ(book.read(0, "main_grad"), (Values{5, 1, 4, 0}));
  book.run_to_end();
  EXPECT_EQ(book.read(0, "main_grad"), (Values{85, 17, 68, 0}));
  EXPECT_EQ(book.first_clause(), "");
}

TEST_F(WorkedExample94, DdpThatIgnoresTheRequestForZeros) {
  Scenario s = tied(Strategy::megatron_ddp);
  s.fault = "B-20a";
  Book book(s);
  give_tied(book);
  book.run_to_end();
  EXPECT_EQ(book.read(0, "main_grad"), (Values{17, 17, 0, 0}));
  EXPECT_EQ(book.first_clause(), "W13");
}

TEST_F(WorkedExample94, PlaceholderWithStaleContent) {
  Scenario s = tied(Strategy::megatron_ddp);
  s.fault = "B-18";
  Book book(s);
  give_tied(book);
  EXPECT_EQ(book.first_clause(), "W14");
  for (Op& op : book.planned().plan.ops) {
    if (op.why.purpose == Purpose::dummy && std::holds_alternative<Undefine>(op.action)) op.action = Fill{9};
  }
  book.run_to<Add>(Purpose::fold);
  EXPECT_EQ(book.read(0, "main_grad"), (Values{14, 10, 13, 9}));
  book.run_to_end();
  EXPECT_EQ(book.read(0, "main_grad"), (Values{103, 35, 86, 18}));
}

TEST_F(WorkedExample94, EmbeddingPartDropped) {
  Scenario s = tied(Strategy::fsdp_optim_grads);
  s.fault = "B-20a";
  Book book(s);
  give_tied(book);
  book.run_to_end();
  EXPECT_EQ(book.read(0, "shard.0"), (Values{17, 17, 0, 0}));
  EXPECT_EQ(book.first_clause(), "W13");
}

TEST_F(WorkedExample94, EmbeddingPartCopiedOverTheHead) {
  Scenario s = tied(Strategy::fsdp_optim_grads);
  s.fault = "B-20b";
  Book book(s);
  give_tied(book);
  book.run_to_end();
  EXPECT_EQ(book.read(0, "shard.0"), (Values{68, 0, 68, 0}));
  EXPECT_EQ(book.first_clause(), "W12");
}

/// Today's hooks show the same two numbers without any fault: case (b), because the embedding's unshard
/// lowers the flag.
TEST_F(WorkedExample94, MegatronFsdpAsRead) {
  Scenario s = tied(Strategy::fsdp_optim_grads);
  s.write_mode = WriteMode::te_ops;
  s.uses[1].unit = 1;  // the head runs in a unit of its own, the embedding's unit is gathered after it
  Book book(s);
  give_tied(book);
  book.run_to_end();
  EXPECT_EQ(book.read(0, "shard.0"), (Values{68, 0, 68, 0}));
  EXPECT_EQ(book.first_clause(), "W12");
  s.uses[1].unit = -1;  // case (a): one unit, the flag is still up when the shared hook runs
  Book same_unit(s);
  give_tied(same_unit);
  same_unit.run_to_end();
  EXPECT_EQ(same_unit.read(0, "shard.0"), (Values{17, 17, 0, 0}));
  EXPECT_EQ(same_unit.first_clause(), "W13");
}

Scenario repeated_layer_today() {
  Scenario s = two_by_two(Strategy::megatron_ddp);
  s.ranks = 1;
  s.steps = 1;
  s.write_mode = WriteMode::te_module;
  s.first_microbatch = FirstMicrobatch::armed;
  s.uses = {{0, Producer::fused, -1}, {0, Producer::fused, -1}};
  return s;
}

void give_the_repeated_layer(Book& book) {
  book.give(0, 0, 0, 0, {1, 0, 0, 0});
  book.give(0, 0, 0, 1, {4, 0, 0, 0});
  book.give(0, 0, 1, 0, {16, 0, 0, 0});
  book.give(0, 0, 1, 1, {64, 0, 0, 0});
}

TEST_F(WorkedExample95, RepeatedLayerAndFirstCallFlag) {
  Book book(repeated_layer_today());
  give_the_repeated_layer(book);
  book.run_to<Gemm>(Purpose::write);
  EXPECT_EQ(book.read(0, "main_grad")[0], 4);
  book.run_to<Gemm>(Purpose::write);
  EXPECT_EQ(book.read(0, "main_grad")[0], 1);
  book.run_to<Gemm>(Purpose::write, 2);
  EXPECT_EQ(book.read(0, "main_grad")[0], 81);
  EXPECT_EQ(book.first_clause(), "W5");
}

TEST_F(WorkedExample95, WithRecomputationTheResultIsRightByAccident) {
  Scenario s = repeated_layer_today();
  s.loop.recompute = {.all = true, .units = {}};
  Book book(s);
  give_the_repeated_layer(book);
  book.run_to<Gemm>(Purpose::write, 2);
  EXPECT_EQ(book.read(0, "main_grad")[0], 5);
  book.run_to<Gemm>(Purpose::write, 2);
  EXPECT_EQ(book.read(0, "main_grad")[0], 85);
  EXPECT_EQ(book.first_clause(), "");
}

TEST_F(WorkedExample97, ScaleOnTheRunningShard) {
  Scenario s = two_by_two(Strategy::fsdp_optim_grads);
  s.fault = "B-33";
  Book book(s);
  give_the_book(book);
  book.run_to_finish(0);
  EXPECT_EQ(book.read(0, "shard.0", 2), (Values{76.5, 9}));
  EXPECT_EQ(book.read(1, "shard.0", 2), (Values{72, 148.5}));
  EXPECT_EQ(book.first_clause(), "W25");
}

TEST_F(WorkedExample97, AliasDoublingInAGroupOfOne) {
  Scenario s = two_by_two(Strategy::fsdp_optim_grads);
  s.ranks = 1;
  s.fault = "B-34";
  Book book(s);
  book.give(0, 0, 0, 0, {1, 2, 0, 1});
  book.give(0, 0, 1, 0, {4, 0, 8, 4});
  book.run_to_finish(0);
  EXPECT_EQ(book.read(0, "shard.0"), (Values{6, 4, 8, 6}));
  EXPECT_EQ(book.first_clause(), "W26");
}

TEST_F(WorkedExample97, PersistentBufferRescaledEveryMicrobatch) {
  Scenario s = two_by_two(Strategy::fsdp_optim);
  s.ranks = s.steps = 1;
  s.fault = "B-35";
  Book book(s);
  book.give(0, 0, 0, 0, {1, 2, 0, 1});
  book.give(0, 0, 1, 0, {4, 0, 8, 4});
  book.run_to_finish(0);
  // The book scales after the last microbatch too: 2.25, .5, 4, 2.25.
  EXPECT_EQ(book.read(0, "main_grad"), (Values{4.5, 1, 8, 4.5}));
  EXPECT_EQ(book.first_clause(), "W25");
}

TEST_F(WorkedExample97, ReducedTwice) {
  Scenario s = two_by_two(Strategy::megatron_ddp);
  s.loss = Loss::per_token;
  s.fault = "B-37";
  Book book(s);
  give_the_book(book);
  book.run_to<Communicate>(Purpose::reduce, 2);
  EXPECT_EQ(book.read(0, "main_grad")[0], 170);
  EXPECT_EQ(book.first_clause(), "W27");
}

TEST_F(WorkedExample98, MicrobatchesAddedInBf16) {
  for (const DType type : {DType::bf16, DType::f32}) {
    Scenario s = two_by_two(Strategy::megatron_ddp);
    s.ranks = 1;
    s.steps = 1;
    s.microbatches = 5;
    s.main_grad = s.comm = type;
    Book book(s);
    for (int m = 0; m < 5; ++m) book.give(0, 0, m, 0, {m == 0 ? 512.0f : 1.0f, 0, 0, 0});
    book.run_to_end();
    EXPECT_EQ(book.read(0, "main_grad")[0], type == DType::bf16 ? 512 : 516);
  }
}

TEST_F(WorkedExample98, AverageOverSevenRanksInBf16) {
  Scenario s = two_by_two(Strategy::megatron_ddp);
  s.ranks = 7;
  s.steps = s.microbatches = 1;
  s.main_grad = s.comm = DType::bf16;
  s.scaling = Scaling::in_collective;
  Book book(s);
  if (book.fold() > 1) GTEST_SKIP() << "its number is of additions rank by rank, not of partial sums of GPUs";
  for (int rank = 0; rank < 7; ++rank) book.give(rank, 0, 0, 0, {1, 0, 0, 0});
  book.run_to_end();
  EXPECT_EQ(book.read(3, "main_grad")[0], 0.9921875f);
}

TEST_F(WorkedExample98, FusedWriteKeepsLowBits) {
  Scenario s = two_by_two(Strategy::megatron_ddp);
  s.ranks = s.steps = s.microbatches = 1;
  s.parameters[0].dtype = DType::f32;
  Book book(s);
  book.give(0, 0, 0, 0, {1 + 0x1p-12f, 0, 0, 0});
  book.run_to_end();
  EXPECT_EQ(book.read(0, "main_grad")[0], 1.000244140625f);
}

}  // namespace
}  // namespace shardcheck::tests
