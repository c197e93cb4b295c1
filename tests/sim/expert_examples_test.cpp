// Worked examples of layers with several experts (wgrad 4.1 Q9 and Q10, 7: B-01, B-10, B-13), number by
// number.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/sim/book.h"

namespace shardcheck::tests {
namespace {

class WorkedExampleB10 : public WorkedExample {};
class WorkedExampleB13 : public WorkedExample {};
class WorkedExampleB03 : public WorkedExample {};
class WorkedExampleB01 : public WorkedExample {};
class WorkedExampleQ10 : public WorkedExample {};

/// Two experts of 2x2 in one call.
Scenario two_experts(Strategy strategy) {
  Scenario s = two_by_two(strategy);
  s.steps = 1;
  s.parameters.push_back({.name = "next", .shape = {2, 2}});
  s.uses.push_back({1, Producer::fused, -1, true});
  return s;
}

/// The contributions 1, 4, 16 and 64 of the catalogue's shorthand "std", to every expert.
void give_std(Book& book) {
  float value = 1;
  for (int rank = 0; rank < 2; ++rank) {
    for (int m = 0; m < 2; ++m, value *= 4) book.give(rank, 0, m, 0, {value, 0, 0, 0});
  }
}

TEST_F(WorkedExampleB10, AHookForcesTheOverwriteFlagOnAPersistentBuffer) {
  for (const bool forced : {false, true}) {
    Scenario s = two_experts(Strategy::fsdp_optim);
    if (forced) s.fault = "B-10a";
    Book book(s);
    give_std(book);
    book.run_to<Communicate>(Purpose::reduce);
    EXPECT_EQ(book.read(0, "main_grad")[0], forced ? 68.0f / 2 : 85.0f / 2);
    EXPECT_EQ(book.first_clause(), forced ? "W17" : "");
  }
}

TEST_F(WorkedExampleB13, AnExpertWithoutTokensWritesZeros) {
  for (const bool skipped : {false, true}) {
    Scenario s = two_experts(Strategy::fsdp_optim_grads);
    s.microbatches = 1;
    s.token_counts = {{.rank = 0, .microbatch = 0, .tokens = 0, .parameter = 1}};
    if (skipped) s.fault = "B-13";
    Book book(s);
    for (int rank = 0; rank < 2; ++rank) book.give(rank, 0, 0, 0, {1, 2, 0, 1});
    book.run_to<Return>(Purpose::none);
    const Values lease = book.read(0, "slot.0", 8);
    EXPECT_EQ(Values(lease.begin(), lease.begin() + 4), (Values{1, 2, 0, 1}));
    for (int i = 4; i < 8; ++i) {
      if (skipped)
        EXPECT_TRUE(std::isnan(lease[static_cast<std::size_t>(i)]));
      else
        EXPECT_EQ(lease[static_cast<std::size_t>(i)], 0);
    }
    EXPECT_EQ(book.read(1, "slot.0", 8), (Values{1, 2, 0, 1, 1, 2, 0, 1}))
        << "the other rank has tokens for it";
  }
}

/// W17: one bit is read for both experts, where the first was written before in this lease.
TEST_F(WorkedExampleB03, TodaysGroupedCallReadsTheFlagOfItsFirst) {
  for (const WriteMode mode : {WriteMode::r3, WriteMode::r5}) {
    Scenario s = two_experts(Strategy::fsdp_optim_grads);
    s.write_mode = mode;
    s.uses.push_back({0, Producer::other, -1});
    EXPECT_EQ(Book(s).first_clause(), mode == WriteMode::r3 ? "W17" : "");
  }
}

/// Two experts of 2x2 in one weight of 4x2.
Scenario two_in_one(Strategy strategy) {
  Scenario s = two_by_two(strategy);
  s.ranks = s.steps = s.microbatches = 1;
  s.parameters[0].shape = {4, 2};
  s.parameters[0].groups = 2;
  return s;
}

TEST_F(WorkedExampleB01, TheOverwriteFlagCancelsTheDestination) {
  for (const bool cancelled : {false, true}) {
    Scenario s = two_in_one(Strategy::fsdp_optim_grads);
    if (cancelled) s.fault = "B-01";
    Book book(s);
    book.give(0, 0, 0, 0, {1, 2, 0, 1});
    book.run_to<Return>(Purpose::none);
    const Values lease = book.read(0, "slot.0", 8);
    if (cancelled)
      EXPECT_TRUE(std::isnan(lease[0])) << "poison remains";
    else
      EXPECT_EQ(lease, (Values{1, 2, 0, 1, 1, 2, 0, 1}));
    EXPECT_EQ(book.first_clause(), cancelled ? "W11" : "");
  }
}

TEST_F(WorkedExampleQ10, AnOffsetOffByOneLandsInTheRowsOfTheNextExpert) {
  Scenario s = two_in_one(Strategy::megatron_ddp);
  Book right(s);
  right.give(0, 0, 0, 0, {1, 2, 0, 1});
  right.run_to_finish(0);
  EXPECT_EQ(right.read(0, "main_grad", 8), (Values{1, 2, 0, 1, 1, 2, 0, 1}));
  s.fault = "M-W2";
  Book wrong(s);
  wrong.give(0, 0, 0, 0, {1, 2, 0, 1});
  wrong.run_to_finish(0);
  EXPECT_EQ(wrong.read(0, "main_grad", 8), (Values{0, 0, 0, 0, 2, 4, 0, 2}));
  EXPECT_EQ(wrong.first_clause(), "") << "the order of events is right; the values say it";
}

}  // namespace
}  // namespace shardcheck::tests
