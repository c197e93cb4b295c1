// What a product demands: whole codes of the version that its step requires, the scales that they were made
// by, and a column copy of the same version, or a quantisation of its own.
#include <gtest/gtest.h>

#include "tests/core/contract/tiny_life.h"

namespace shardcheck::tests {
namespace {

void next_step(TinyLife& l, std::int16_t step) {
  l.begin_step(step);
  l.train();
  l.optimizer();
  l.requantise();
  l.gather();
  l.end_step();
}

TEST(LifeUses, CodesAreWholeAndCurrent) {
  expect_lives({
      {"requantisation skipped",
       [](TinyLife& l) {
         l.create();
         l.begin_step(0);
         l.optimizer();
         l.begin_step(1);
         l.forward();
       },
       "F50"},
      {"no gather",
       [](TinyLife& l) {
         l.create();
         l.begin_step(0);
         l.optimizer();
         l.requantise();
         l.begin_step(1);
         l.forward();
       },
       "F50"},
      {"resharded",
       [](TinyLife& l) {
         l.create();
         l.reshard();
         l.begin_step(0);
         l.forward();
       },
       "F50"},
  });
}

TEST(LifeUses, ADerivedCopyFollowsTheCodes) {
  expect_lives({
      {"kept over a step",
       [](TinyLife& l) {
         l.create();
         l.begin_step(0);
         l.derive();
         l.backward();
         l.optimizer();
         l.requantise();
         l.gather();
         l.begin_step(1);
         l.forward();
         l.backward();
       },
       "F50"},
      {"discarded and not made again",
       [](TinyLife& l) {
         l.create();
         l.begin_step(0);
         l.train();
         l.begin_microbatch(1);
         l.forward();
         l.backward();
       },
       "F50"},
      {"outlives the row copy",
       [](TinyLife& l) {
         l.create();
         l.begin_step(0);
         l.derive();
         l.backward();
         l.reshard();
         l.begin_microbatch(1);
       },
       "F50"},
      {"outlives it as declared",
       [](TinyLife& l) {
         l.plan.weight_copies[1].is_kept = true;
         l.create();
         l.begin_step(0);
         l.derive();
         l.backward();
         l.reshard();
         l.begin_microbatch(1);
       },
       ""},
      {"made before a load",
       [](TinyLife& l) {
         l.create();
         next_step(l, 0);
         l.begin_step(1);
         l.derive();
         const BufferId saved = l.allocate("saved", BufferRole::master, DType::f32, TinyLife::kHalf);
         l.op(Copy{}, Purpose::setup).on(l.all(l.master)).on(l.all(saved));
         l.optimizer();
         l.requantise();
         l.gather();
         l.derive();
         l.op(Copy{}, Purpose::setup).on(l.all(saved)).on(l.all(l.master));
         l.begin_step(2);
         l.backward();
       },
       "F53"},
  });
}

TEST(LifeUses, ScalesAreThoseOfTheCodes) {
  expect_lives({
      {"of the step before",
       [](TinyLife& l) {
         l.create();
         const BufferId saved = l.allocate("saved", BufferRole::scales, DType::f32, 1);
         l.op(Copy{}, Purpose::setup).on(l.all(l.scales)).on(l.all(saved));
         next_step(l, 0);
         l.op(Copy{}, Purpose::setup).on(l.all(saved)).on(l.all(l.scales));
         l.begin_step(1);
         l.forward();
       },
       "F38"},
      {"undefined",
       [](TinyLife& l) {
         l.create();
         l.op(Undefine{}, Purpose::setup).on(l.all(l.scales));
         l.begin_step(0);
         l.forward();
       },
       "F38"},
  });
}

TEST(LifeUses, TheOtherDirectionIsAQuantisationOfItsOwn) {
  const auto backward_of_rows = [](TinyLife& l) {
    l.create();
    l.begin_step(0);
    l.use(Purpose::backward, l.codes, l.scales);
  };
  expect_lives({{"one scale a block of a row", backward_of_rows, "F34", "te-mxfp8"},
                {"one scale for all", backward_of_rows, ""}});
}

TEST(LifeUses, TheGridOfATransposedCopyIsTransposed) {
  TinyLife l("te-block-128x128");
  const BufferId grid = l.allocate("grid", BufferRole::scales, DType::f32, 4);
  const BufferId columns = l.allocate("column_grid", BufferRole::scales, DType::f32, 4);
  l.scales = grid;
  l.transpose_scales = columns;
  l.create();
  l.begin_step(0);
  l.derive();
  l.backward();
  EXPECT_EQ(life_of(l), "");
  l.op(Copy{}, Purpose::weights).on(l.all(grid)).on(l.all(columns));
  l.backward();
  EXPECT_EQ(life_of(l).substr(0, 4), "F33:") << life_of(l);
}

}  // namespace
}  // namespace shardcheck::tests
