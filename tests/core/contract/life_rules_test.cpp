// The life cycle of an FP8 weight: what a right one is, and plain moves, steps and streams that break it.
#include "core/contract/life_rules.h"

#include <gtest/gtest.h>

#include "tests/core/contract/tiny_life.h"

namespace shardcheck::tests {
namespace {

TEST(LifeRules, ARightLifeBreaksNothing) {
  expect_lives({
      {"three steps, two microbatches",
       [](TinyLife& l) {
         l.create();
         for (std::int16_t step = 0; step < 3; ++step) {
           l.begin_step(step);
           for (std::int16_t microbatch : {0, 1}) {
             l.begin_microbatch(microbatch);
             l.train();
           }
           l.optimizer();
           l.requantise();
           l.gather();
           l.end_step();
         }
       },
       ""},
      {"resharded after forward and after backward",
       [](TinyLife& l) {
         l.create();
         for (std::int16_t step = 0; step < 2; ++step) {
           l.begin_step(step);
           for (const bool is_forward : {true, false}) {
             l.gather();
             if (is_forward) {
               l.forward();
             } else {
               l.derive();
               l.backward();
               l.discard();
             }
             l.reshard();
           }
           l.optimizer();
           l.requantise();
           l.end_step();
         }
       },
       ""},
      {"a skipped step",
       [](TinyLife& l) {
         l.create();
         l.begin_step(0);
         l.train();
         l.end_step();
         l.begin_step(1);
         l.train();
         l.optimizer();
         l.requantise();
         l.gather();
         l.end_step();
       },
       ""},
  });
}

TEST(LifeRules, MastersComeFromTheKeptInitialValue) {
  expect_lives({
      {"from codes, although the initial value is kept",
       [](TinyLife& l) {
         l.op(QuantizeMatrix{l.of}, Purpose::setup)
             .on(l.all(l.initial))
             .on(l.all(l.codes))
             .on(l.all(l.scales));
         l.build.on(View{l.codes, 0, 0}).on(View{l.scales, 0, 0});
         for (const int rank : {0, 1})
           l.op(DequantizeBlocks{l.of, rank * TinyLife::kHalf}, Purpose::setup, {Rank{rank}})
               .on(l.half(l.codes, rank))
               .on(l.all(l.scales))
               .on(l.all(l.master));
       },
       "F52"},
      {"from codes, after the initial value was dropped",
       [](TinyLife& l) {
         l.op(QuantizeMatrix{l.of}, Purpose::setup)
             .on(l.all(l.initial))
             .on(l.all(l.codes))
             .on(l.all(l.scales));
         l.build.on(View{l.codes, 0, 0}).on(View{l.scales, 0, 0});
         l.op(Undefine{}, Purpose::setup).on(l.all(l.initial));
         for (const int rank : {0, 1})
           l.op(DequantizeBlocks{l.of, rank * TinyLife::kHalf}, Purpose::setup, {Rank{rank}})
               .on(l.half(l.codes, rank))
               .on(l.all(l.scales))
               .on(l.all(l.master));
       },
       ""},
  });
}

TEST(LifeRules, OrderBetweenStreamsNeedsAnEdge) {
  const auto overlapped = [](TinyLife& l, bool waits_before, bool waits_after) {
    l.create();
    l.begin_step(0);
    l.optimizer();
    l.requantise();
    if (waits_before) l.order(Stream::compute, Stream::reduce);
    l.on(Stream::reduce);
    l.gather();
    l.on(Stream::compute);
    if (waits_after) l.order(Stream::reduce, Stream::compute);
    l.begin_step(1);
    l.forward();
  };
  for (const bool before : {false, true}) {
    for (const bool after : {false, true}) {
      TinyLife life;
      overlapped(life, before, after);
      const auto findings = judge(life.plan);
      EXPECT_EQ(findings.empty(), before && after) << life_of(life);
      for (const Finding& finding : findings) EXPECT_EQ(finding.clause, "F46") << finding.sentence;
    }
  }
}

TEST(LifeRules, AFindingTellsTheHistoryOfTheBytes) {
  TinyLife l;
  l.create();
  l.begin_step(0);
  l.optimizer();
  l.begin_step(1);
  l.forward();
  const auto findings = judge(l.plan);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].clause, "F50");
  EXPECT_EQ(findings[0].parameter_name, "w");
  EXPECT_EQ(findings[0].rank, 0);
  EXPECT_EQ(findings[0].op.value, static_cast<std::int32_t>(l.plan.ops.size()) - 1);
  EXPECT_NE(
      findings[0].sentence.find("fprop of w on rank 0 reads codes of version 0; step 1 requires version 1"),
      std::string::npos)
      << findings[0].sentence;
  ASSERT_EQ(findings[0].history.size(), 4u);
  EXPECT_NE(findings[0].history.back().find("-> master of version 1"), std::string::npos)
      << findings[0].history.back();
}

TEST(LifeRules, APlanWithoutWeightCopiesIsNotJudged) {
  TinyLife l;
  l.create();
  l.begin_step(0);
  l.optimizer();
  l.forward();
  EXPECT_NE(life_of(l), "");
  l.plan.weight_copies.clear();
  EXPECT_EQ(life_of(l), "");
}

}  // namespace
}  // namespace shardcheck::tests
