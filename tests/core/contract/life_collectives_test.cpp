// Maxima and gathers: among the right ranks, of equal counts, of one version, of own pieces only.
#include <gtest/gtest.h>

#include "tests/core/contract/tiny_life.h"

namespace shardcheck::tests {
namespace {

void measured(TinyLife& l) {
  l.create();
  l.begin_step(0);
  l.optimizer();
  l.zero_amax();
  l.round();
  for (const int rank : {0, 1}) l.measure(rank);
}

TEST(LifeCollectives, AMaximumIsAmongTheRanksThatHoldTheWeight) {
  expect_lives({
      {"groups of one",
       [](TinyLife& l) {
         measured(l);
         l.reduce(1);
         l.scale();
       },
       "F48"},
      {"a rank is missing",
       [](TinyLife& l) {
         measured(l);
         l.op(Communicate{Collective::all_reduce, Reduction::maximum, 1}, Purpose::weights, {Rank{0}})
             .on(l.all(l.amax))
             .on(l.all(l.amax));
       },
       "F45"},
      {"a rank passes another count",
       [](TinyLife& l) {
         measured(l);
         const auto view = [&](std::int32_t r) { return View{l.amax, 0, 1 - r}; };
         l.op(Communicate{Collective::all_reduce, Reduction::maximum, 2}, Purpose::weights);
         l.build.on_each(view).on_each(view);
       },
       "F45"},
      {"a rank without a piece brings undefined bytes",
       [](TinyLife& l) {
         l.create();
         l.begin_step(0);
         l.optimizer();
         l.op(Fill{0}, Purpose::weights, {Rank{0}}).on(l.all(l.amax));
         l.round();
         l.measure(0);
         l.reduce();
       },
       "F43"},
      {"one rank is a step behind",
       [](TinyLife& l) {
         measured(l);
         l.reduce();
         l.begin_step(1);
         l.optimizer();
         l.op(Fill{0}, Purpose::weights, {Rank{0}}).on(l.all(l.amax));
         l.round();
         l.measure(0);
         l.reduce();
       },
       "F50"},
  });
}

TEST(LifeCollectives, TensorsOfExpertsDoNotMix) {
  TinyLife l("te-current", 1);  // two experts, one a rank
  l.create();
  l.begin_step(0);
  l.optimizer();
  l.zero_amax();
  l.round();
  for (const int rank : {0, 1}) l.measure(rank);
  l.reduce(2);
  EXPECT_NE(life_of(l).find("F48: w is held by rank 0, but the collective is among ranks 0 to 1"),
            std::string::npos)
      << life_of(l);
}

TEST(LifeCollectives, AGatherTakesOwnPiecesOfOneVersion) {
  expect_lives({
      {"before the pieces were quantised",
       [](TinyLife& l) {
         l.create();
         l.begin_step(0);
         l.optimizer();
         l.gather();
       },
       "F50"},
      {"one rank has not quantised",
       [](TinyLife& l) {
         measured(l);
         l.reduce();
         l.scale();
         l.cast(0);
         l.gather();
       },
       "F50"},
      {"a halo instead of the piece",
       [](TinyLife& l) {
         measured(l);
         l.reduce();
         l.scale();
         for (const int rank : {0, 1}) l.cast(rank);
         l.gather();
         l.op(Communicate{Collective::all_gather, Reduction::sum, 2}, Purpose::weights);
         l.build.on_each([&](std::int32_t r) { return l.half(l.codes, 1 - r); }).on(l.all(l.codes));
       },
       "F42"},
  });
}

}  // namespace
}  // namespace shardcheck::tests
