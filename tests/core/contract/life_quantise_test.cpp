// From masters to codes: what is measured, what scales are made of, what is cast by them, and how often.
#include <gtest/gtest.h>

#include "tests/core/contract/tiny_life.h"

namespace shardcheck::tests {
namespace {

void stepped(TinyLife& l) {
  l.create();
  l.begin_step(0);
  l.optimizer();
}

TEST(LifeQuantise, AmaxesAreOfTheWholeWeightAndOfNothingElse) {
  expect_lives({
      {"not reduced",
       [](TinyLife& l) {
         stepped(l);
         l.zero_amax();
         l.round();
         for (const int rank : {0, 1}) l.measure(rank);
         l.scale();
         for (const int rank : {0, 1}) l.cast(rank);
       },
       "F41"},
      {"a piece is not measured",
       [](TinyLife& l) {
         stepped(l);
         l.zero_amax();
         l.round();
         l.measure(0);
         l.reduce();
         l.scale();
         for (const int rank : {0, 1}) l.cast(rank);
       },
       "F41"},
      {"not set to zero since the last step",
       [](TinyLife& l) {
         stepped(l);
         l.requantise();
         l.begin_step(1);
         l.optimizer();
         l.round();
         l.measure(0);
       },
       "F50"},
      {"never set to zero",
       [](TinyLife& l) {
         stepped(l);
         l.round();
         l.measure(0);
       },
       "F43"},
      {"another element's place",
       [](TinyLife& l) {
         stepped(l);
         l.zero_amax();
         l.round();
         l.measure(1, l.all(l.rounded), 0);
       },
       "F42"},
      {"before the optimizer step",
       [](TinyLife& l) {
         l.create();
         l.begin_step(0);
         l.zero_amax();
         l.round();
         for (const int rank : {0, 1}) l.measure(rank);
         l.reduce();
         l.optimizer();
         l.scale();
       },
       "F50"},
  });
}

TEST(LifeQuantise, CodesAreCastByScalesOfTheSameNumbers) {
  expect_lives({
      {"scales of the step before",
       [](TinyLife& l) {
         stepped(l);
         l.requantise();
         l.begin_step(1);
         l.optimizer();
         l.round();
         l.cast(0);
       },
       "F38"},
      {"amax of masters, codes of rounded masters",
       [](TinyLife& l) {
         stepped(l);
         l.zero_amax();
         l.round();
         for (const int rank : {0, 1}) l.measure(rank, l.all(l.master), rank * TinyLife::kHalf);
         l.reduce();
         l.scale();
         l.cast(0);
       },
       "F47"},
      {"before the masters were rounded again",
       [](TinyLife& l) {
         stepped(l);
         l.requantise();
         l.begin_step(1);
         l.optimizer();
         l.cast(0);
       },
       "F50"},
      {"outside of the own piece",
       [](TinyLife& l) {
         stepped(l);
         l.make_scales();
         l.cast(0, l.all(l.rounded), TinyLife::kHalf, l.half(l.codes, 1));
       },
       "F42"},
  });
}

TEST(LifeQuantise, CodesAreMadeOnceAStep) {
  expect_lives({
      {"again in the next microbatch",
       [](TinyLife& l) {
         stepped(l);
         l.requantise();
         l.gather();
         l.begin_step(1);
         l.begin_microbatch(1);
         l.requantise();
         l.optimizer();
       },
       "F51"},
      {"in a skipped step",
       [](TinyLife& l) {
         stepped(l);
         l.requantise();
         l.gather();
         l.begin_step(1);
         l.requantise();
       },
       "F56"},
      {"a whole matrix, again",
       [](TinyLife& l) {
         l.create();
         l.op(QuantizeMatrix{l.of}, Purpose::weights)
             .on(l.all(l.initial))
             .on(l.all(l.codes))
             .on(l.all(l.scales));
         l.build.on(View{l.codes, 0, 0}).on(View{l.scales, 0, 0});
       },
       "F50"},
  });
}

TEST(LifeQuantise, AColumnCopyIsDerivedOfWholeAndCurrentCodes) {
  expect_lives({
      {"before the gather",
       [](TinyLife& l) {
         stepped(l);
         l.requantise();
         l.derive();
       },
       "F50"},
      {"of codes without their scale",
       [](TinyLife& l) {
         l.create();
         l.op(Undefine{}, Purpose::weights).on(l.all(l.scales));
         l.derive();
       },
       "F38"},
  });
}

}  // namespace
}  // namespace shardcheck::tests
