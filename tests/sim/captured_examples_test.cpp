// Captured graphs, number by number (wgrad 7, B-12, B-22 and B-23), and that a replay leaves the bits that
// eager execution leaves (wgrad 8.8). On a GPU the captures and replays are real.
#include <gtest/gtest.h>

#include "backends/cuda/cuda_backend.h"
#include "tests/sim/book.h"

namespace shardcheck::tests {
namespace {

class Captured : public WorkedExample {};

Scenario captured(std::vector<ScenarioUse> uses, std::string fault) {
  Scenario s = two_by_two(Strategy::megatron_ddp);
  s.ranks = s.steps = 1;
  s.execution = Execution::graph;
  s.uses = std::move(uses);
  s.fault = std::move(fault);
  return s;
}

/// main_grad[0] after two microbatches of 1 and 4 in the first use, and what is wrong.
struct Outcome {
  float value;
  std::string clause;
  GraphCounts graphs;
};
Outcome outcome_of(const Scenario& s) {
  Book book(s);
  book.give(0, 0, 0, 0, {1, 0, 0, 0});
  book.give(0, 0, 1, 0, {4, 0, 0, 0});
  for (int m = 0; m < s.microbatches; ++m) book.give(0, 0, m, 1, {0, 0, 0, 0});
  book.run_to_finish(0);
  return {book.read(0, "main_grad")[0], book.first_clause(), graph_counts(book.backend())};
}

const std::vector<ScenarioUse> kFused = {{0, Producer::fused, -1}};
const std::vector<ScenarioUse> kMixed = {{0, Producer::unfused, -1}, {0, Producer::fused, -1}};

TEST_F(Captured, ReplaysAddUp) {
  for (const auto& uses : {kFused, kMixed}) {
    const Outcome outcome = outcome_of(captured(uses, ""));
    EXPECT_EQ(outcome.value, 5);
    EXPECT_EQ(outcome.clause, "");
    const bool has_graphs = kBookBackend == std::string("cuda");
    EXPECT_EQ(outcome.graphs.captured, has_graphs ? std::ssize(uses) : 0) << to_text(outcome.graphs);
    EXPECT_EQ(outcome.graphs.replayed, has_graphs ? std::ssize(uses) : 0) << to_text(outcome.graphs);
    EXPECT_TRUE(outcome.graphs.op_by_op.empty()) << to_text(outcome.graphs);
  }
}

TEST_F(Captured, B12ReplaysTheBetaOfTheFirstMicrobatch) {
  const Outcome outcome = outcome_of(captured(kFused, "B-12"));
  EXPECT_EQ(outcome.value, 4);
  EXPECT_EQ(outcome.clause, "W35");
}

TEST_F(Captured, B22AReplayDoesNotSetTheFlag) {
  Scenario s = captured(kFused, "B-22");
  s.microbatches = 1;
  const Outcome outcome = outcome_of(s);
  EXPECT_EQ(outcome.value, 2) << "1, twice";
  EXPECT_EQ(outcome.clause, "W35");
}

TEST_F(Captured, B23TheNextReplayOverwritesWhatWasReturned) {
  const Outcome outcome = outcome_of(captured(kMixed, "B-23"));
  EXPECT_EQ(outcome.value, 8) << "4, twice";
  EXPECT_EQ(outcome.clause, "W35");
}

TEST_F(Captured, AReplayLeavesTheBitsOfEagerExecution) {
  for (const Strategy strategy : {Strategy::megatron_ddp_zero1, Strategy::fsdp_optim_grads}) {
    std::vector<Values> bits;
    for (const Execution execution : {Execution::eager, Execution::graph}) {
      Scenario s = two_by_two(strategy);
      s.uses = kMixed;
      s.overlap = true;
      s.execution = execution;
      Book book(s);
      for (int step = 0; step < 2; ++step) {
        for (int m = 0; m < 2; ++m) {
          for (int rank = 0; rank < 2; ++rank) {
            for (int use = 0; use < 2; ++use) {
              const float third = static_cast<float>(1 + rank + 2 * m + 4 * use + 8 * step) / 3;
              book.give(rank, step, m, use, {third, -third, 2 * third, 1 / third});
            }
          }
        }
      }
      book.run_to_end();
      const bool leases = has_leases(strategy);
      for (int rank = 0; rank < 2; ++rank)
        bits.push_back(book.read(rank, leases ? "shard.0" : "main_grad", leases ? 2 : 4));
    }
    ASSERT_EQ(bits.size(), 4u);
    EXPECT_EQ(bits[0], bits[2]);
    EXPECT_EQ(bits[1], bits[3]);
  }
}

}  // namespace
}  // namespace shardcheck::tests
