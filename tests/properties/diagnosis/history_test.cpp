#include "properties/diagnosis/history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/properties/diagnosis/cases.h"

namespace shardcheck {
namespace {

std::vector<std::string> values_of(const Observation& seen, std::int32_t rank) {
  std::vector<std::string> values;
  for (const ByteEvent& event : seen.events) {
    if (event.rank == rank)
      values.push_back(std::isnan(event.value.value) ? "?" : fmt::format("{}", event.value.value));
  }
  return values;
}

Observation seen_on(const Scenario& s, std::vector<Rank> ranks) {
  const auto cpu = test::backend();
  const Subject subject(s, {.clause = "W1", .rank = 0, .parameter = 0, .element = 0}, Poison::quiet_nan);
  return observe(subject, ranks, {}, *cpu);
}

TEST(History, OfALeaseInTwoMicrobatches) {  // the table of wgrad 9.2, element 0
  Scenario s = test::worked_example();
  s.strategy = Strategy::fsdp_optim_grads;
  const Observation seen = seen_on(s, {Rank{0}, Rank{1}});
  EXPECT_EQ(values_of(seen, 0),  // shard; lease; scaled, reduced; shard; the lease again
            (std::vector<std::string>{"0", "?", "1", "0.5", "8.5", "8.5", "?", "4", "2", "34", "42.5"}));
  EXPECT_EQ(values_of(seen, 1),  // local only: the element is reduced onto rank 0
            (std::vector<std::string>{"?", "16", "8", "?", "64", "32"}));
}

TEST(History, OfAPersistentBufferWithADistributedOptimizer) {  // 9.1, element 0
  Scenario s = test::worked_example();
  s.strategy = Strategy::megatron_ddp_zero1;
  s.parameters[0].shape = {2, 2};
  const Observation seen = seen_on(s, {Rank{0}});
  EXPECT_EQ(values_of(seen, 0), (std::vector<std::string>{"0", "1", "5", "2.5", "42.5"}));
  ASSERT_EQ(seen.finished.size(), 1u);
  EXPECT_EQ(seen.finished[0].second, 42.5);
}

TEST(History, ThroughACommunicationBuffer) {
  Scenario s = test::worked_example();
  s.comm = DType::bf16;
  const Observation seen = seen_on(s, {Rank{0}});
  EXPECT_EQ(values_of(seen, 0),  // main_grad, staged, scaled, reduced, copied back
            (std::vector<std::string>{"0", "1", "5", "5", "2.5", "42.5", "42.5"}));
  EXPECT_EQ(seen.events[3].value.dtype, DType::bf16);
}

TEST(History, ThroughAutograd) {
  Scenario s = test::worked_example();
  s.ranks = 1;
  s.microbatches = 1;
  s.uses = {{0, Producer::unfused, -1}};
  const Observation seen = seen_on(s, {Rank{0}});
  EXPECT_EQ(values_of(seen, 0), (std::vector<std::string>{"0", "1", "1"}));  // main_grad, param.grad, folded
}

TEST(History, RanksWhoseContributionsAreWrong) {
  Scenario s = test::worked_example();
  s.ranks = 4;
  s.parameters[0].shape = {2, 16};
  const Subject subject(s, {.clause = "W1", .rank = 1, .parameter = 0, .element = 0}, Poison::quiet_nan);
  const Combination right{.terms = {{0, 1}, {2, 1}, {4, 1}, {6, 1}}};
  Combination actual = right;
  actual.terms[3].weight = 2;  // contribution 6: rank 3
  EXPECT_EQ(ranks_that_matter(subject, actual, right), (std::vector<Rank>{Rank{1}, Rank{3}}));
}

}  // namespace
}  // namespace shardcheck
