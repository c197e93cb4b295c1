// Worked examples on meshes of several axes: wgrad 9.6, distributed weights (4.1 Q11, 7: B-39), and the known
// faults K05 (b) and K18, number by number.
#include <gtest/gtest.h>

#include "tests/sim/book.h"

namespace shardcheck::tests {
namespace {

class WorkedExample96 : public WorkedExample {};
class KnownFault18 : public WorkedExample {};
class KnownFault05 : public WorkedExample {};
class FinalizeExtras : public WorkedExample {};
class WorkedExampleQ11 : public WorkedExample {};
class WorkedExampleB39 : public WorkedExample {};

/// Two outer groups of two ranks; contribution 4 * microbatch + rank carries that power of four, in an
/// element of inner rank 0. Sums without a scale: c = 1 until the tokens divide.
Scenario two_outer_groups() {
  Scenario s = two_by_two(Strategy::fsdp_optim_grads);
  s.ranks = 4;
  s.outer = 2;
  s.steps = 1;
  s.loss = Loss::per_token;
  return s;
}

void give_powers(Book& book) {
  for (int m = 0; m < 2; ++m) {
    for (int rank = 0; rank < 4; ++rank)
      book.give(rank, 0, m, 0, {static_cast<float>(1 << 2 * (4 * m + rank)), 0, 0, 0});
  }
}

/// What inner rank 0 of both outer groups has.
Values of_inner_rank_0(Book& book) {
  return {book.read(0, "shard.0", 1)[0], book.read(2, "shard.0", 1)[0]};
}

TEST_F(WorkedExample96, OuterGroupsAddOnceAfterTheLastMicrobatch) {
  Book book(two_outer_groups());
  give_powers(book);
  book.run_to<Add>(Purpose::accumulate);
  EXPECT_EQ(of_inner_rank_0(book), (Values{5, 80}));
  book.run_to<Add>(Purpose::accumulate);
  EXPECT_EQ(of_inner_rank_0(book), (Values{1285, 20560}));
  book.run_to<Communicate>(Purpose::reduce_outer);
  EXPECT_EQ(of_inner_rank_0(book), (Values{21845, 21845}));
  EXPECT_EQ(book.first_clause(), "");
}

TEST_F(WorkedExample96, OuterGroupsShareEveryShard) {
  Scenario s = two_outer_groups();
  s.outer_mode = OuterMode::shard;
  Book book(s);
  give_powers(book);
  book.run_to<Communicate>(Purpose::reduce_outer);
  EXPECT_EQ(book.read(0, "shard.0", 1)[0], 21845) << "outer group 0 owns the first half of the inner slice";
  EXPECT_EQ(book.first_clause(), "");
}

TEST_F(WorkedExample96, AllReducedAfterEveryMicrobatch) {
  Scenario s = two_outer_groups();
  s.fault = "M-W29";
  Book book(s);
  give_powers(book);
  book.run_to<Communicate>(Purpose::reduce_outer);
  EXPECT_EQ(of_inner_rank_0(book), (Values{85, 85}));
  book.run_to<Add>(Purpose::accumulate);
  EXPECT_EQ(of_inner_rank_0(book), (Values{1365, 20565}));
  book.run_to<Communicate>(Purpose::reduce_outer);
  EXPECT_EQ(of_inner_rank_0(book), (Values{21930, 21930}));
  EXPECT_EQ(book.first_clause(), "W29");
}

TEST_F(WorkedExample96, FinalizedInEveryMicrobatchIntoAFreshBuffer) {
  Scenario s = two_outer_groups();
  s.fault = "B-41";
  Book book(s);
  give_powers(book);
  book.run_to<Communicate>(Purpose::reduce_outer, 2);
  EXPECT_EQ(of_inner_rank_0(book), (Values{21760, 21760}));
  EXPECT_EQ(book.first_clause(), "W29");
}

TEST_F(WorkedExample96, NeverReducedOverTheOuterGroups) {
  Scenario s = two_outer_groups();
  s.fault = "B-42b";
  Book book(s);
  give_powers(book);
  book.run_to<Add>(Purpose::accumulate, 2);
  EXPECT_EQ(of_inner_rank_0(book), (Values{1285, 20560}));
  EXPECT_EQ(book.first_clause(), "W29");
}

/// K18: two stages of two ranks. The weight has one element here, which rank 0 of a stage owns.
Book tied_over_stages(std::string fault) {
  Scenario s = two_by_two(Strategy::megatron_ddp_zero1);
  s.stages = 2;
  s.steps = s.microbatches = 1;
  s.parameters.push_back({.name = "head", .shape = {2, 2}, .stage = 1, .tied_to = 0});
  s.uses.push_back({1, Producer::fused, -1});
  s.fault = std::move(fault);
  Book book(s);
  book.give(0, 0, 0, 0, {2, 0, 0, 0});
  book.give(1, 0, 0, 0, {1, 0, 0, 0});
  book.give(2, 0, 0, 0, {8, 0, 0, 0});
  book.give(3, 0, 0, 0, {4, 0, 0, 0});
  book.run_to_finish(0);
  return book;
}

TEST_F(KnownFault18, CopiesOfTwoStagesAreSummed) {
  Book book = tied_over_stages("");
  EXPECT_EQ(book.read(0, "main_grad.0")[0], 7.5);
  EXPECT_EQ(book.read(2, "main_grad.1")[0], 7.5);
  EXPECT_EQ(book.first_clause(), "");
}

TEST_F(KnownFault18, CopiesThatAreCutDifferently) {
  Book book = tied_over_stages("B-45");
  EXPECT_EQ(book.read(0, "main_grad.0")[0], 5.5) << "the reduced 1.5 and the unreduced 4 of rank 2";
  EXPECT_EQ(book.read(3, "main_grad.1")[0], 6.5) << "the reduced 6 and the unreduced 0.5 of rank 1";
  EXPECT_EQ(book.first_clause(), "W28");
}

/// A norm under sequence parallelism: each of two tensor-parallel ranks saw its own part of the
/// tokens. Their gradients are means over the data-parallel ranks (1 and 2, 4 and 8), and then summed.
TEST_F(FinalizeExtras, CopiesOfTensorParallelRanksAreSummed) {
  for (const auto& [fault, value, clause] :
       {std::tuple{"", 7.5f, ""}, {"M-W32g", 1.5f, "W32"}, {"M-W32h", 15.0f, "W32"}, {"M-W24b", 3.75f, ""}}) {
    Scenario s = two_by_two(Strategy::megatron_ddp);
    s.tensor = 2;
    s.steps = s.microbatches = 1;
    s.parameters[0].sequence_parallel = true;
    s.fault = fault;
    Book book(s);
    for (int rank = 0; rank < 4; ++rank) book.give(rank, 0, 0, 0, {static_cast<float>(1 << rank), 0, 0, 0});
    book.run_to_finish(0);
    EXPECT_EQ(book.read(0, "main_grad")[0], value) << fault;
    EXPECT_EQ(book.first_clause(), clause) << fault;
  }
}

/// K05 (b): the last deferred gradient is drained after the reduction. The mean of both ranks is right.
TEST_F(KnownFault05, DrainedAfterTheReduction) {
  for (const std::string fault : {"", "B-26"}) {
    Scenario s = two_by_two(Strategy::megatron_ddp);
    s.steps = 1;
    s.uses = {{0, Producer::deferred, -1}};
    s.fault = fault;
    Book book(s);
    book.give(0, 0, 0, 0, {1, 0, 0, 0});
    book.give(0, 0, 1, 0, {2, 0, 0, 0});
    book.give(1, 0, 0, 0, {3, 0, 0, 0});
    book.give(1, 0, 1, 0, {4, 0, 0, 0});
    book.run_to_finish(0);
    EXPECT_EQ(book.read(0, "main_grad")[0], fault.empty() ? 5 : 4);
    EXPECT_EQ(book.read(1, "main_grad")[0], fault.empty() ? 5 : 6);
    EXPECT_EQ(book.first_clause(), fault.empty() ? "" : "W20") << "ready before its write, then W32";
  }
}

/// Four ranks, of which 0 and 1, and 2 and 3, share the rows of a weight. Rank r contributes (4^r, 0) in row
/// 0 and twice that in row 1, in each of two microbatches.
Book shared_by_two(const std::string& fault) {
  Scenario s = two_by_two(Strategy::megatron_ddp);
  s.ranks = 4;
  s.gtp = 2;
  s.steps = 1;
  s.microbatches = 2;
  s.overlap = false;
  s.uses = {{0, Producer::distributed, -1}};
  s.fault = fault;
  Book book(s);
  for (int m = 0; m < 2; ++m) {
    for (int rank = 0; rank < 4; ++rank) {
      const auto value = static_cast<float>(1 << 2 * rank);
      book.give(rank, 0, m, 0, {value, 0, 2 * value, 0});
    }
  }
  return book;
}

/// The first element of main_grad on all ranks.
Values first_of_each(Book& book) {
  Values values;
  for (int rank = 0; rank < 4; ++rank) values.push_back(book.read(rank, "main_grad", 2)[0]);
  return values;
}

TEST_F(WorkedExampleQ11, TwoRanksAverageTheirRowsAndTwoOwnersAddThem) {
  Book book = shared_by_two("");
  book.run_to<Add>(Purpose::accumulate);
  EXPECT_EQ(first_of_each(book), (Values{2.5, 5, 40, 80}))
      << "(1 + 4) / 2, its double, (16 + 64) / 2, its double";
  book.run_to<Add>(Purpose::accumulate);
  EXPECT_EQ(first_of_each(book), (Values{5, 10, 80, 160}));
  book.run_to_finish(0);
  EXPECT_EQ(first_of_each(book), (Values{42.5, 85, 42.5, 85})) << "2 * 85 / 4, and its double";
  EXPECT_EQ(book.first_clause(), "");
}

TEST_F(WorkedExampleB39, SharersThatSumMakeADistributedWeightTooLarge) {
  Book book = shared_by_two("B-39-gtp");
  book.run_to_finish(0);
  EXPECT_EQ(first_of_each(book), (Values{85, 170, 85, 170}))
      << "1/2, as many as reduce together, instead of 1/4";
}

TEST_F(WorkedExampleQ11, RowsThatAreNotAddedAreLost) {
  Book book = shared_by_two("M-W21-gtp");
  book.run_to_finish(0);
  EXPECT_EQ(first_of_each(book), (Values{21.25, 42.5, 21.25, 42.5}));
  EXPECT_EQ(book.first_clause(), "W21");
}

}  // namespace
}  // namespace shardcheck::tests
