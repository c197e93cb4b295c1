// Delayed scaling: what is pushed, when a step is closed and with what, and which scale a step meets.
#include <gtest/gtest.h>

#include "tests/core/contract/tiny_life.h"

namespace shardcheck::tests {
namespace {

/// An activation of w under delayed scaling, with a history of four.
struct Delayed : TinyLife {
  Delayed() : TinyLife("te-delayed") {
    input = allocate("x", BufferRole::inputs, DType::f32, 4);
    quantised = allocate("x8", BufferRole::activations, DType::e4m3, 4);
    open = allocate("open", BufferRole::amaxes, DType::f32, 1);
    history = allocate("history", BufferRole::amaxes, DType::f32, 4);
    state = allocate("state", BufferRole::amaxes, DType::f32, 2);
    op(Fill{0}, Purpose::setup).on(all(history));
    op(Fill{1}, Purpose::setup).on(all(state));
    create();
  }
  void zero() { op(Fill{0}, Purpose::weights).on(all(open)); }
  void push(Purpose purpose = Purpose::forward) { op(TakeAmax{of}, purpose).on(all(input)).on(all(open)); }
  void reduce_open() {
    op(Communicate{Collective::all_reduce, Reduction::maximum, 2}, Purpose::weights)
        .on(all(open))
        .on(all(open));
  }
  void close(View window) {
    op(CloseDelayedStep{}, Purpose::weights).on(all(open)).on(window).on(all(state));
  }
  void close() { close(all(history)); }
  void cast_input(Purpose purpose = Purpose::forward) {
    op(Quantize{}, purpose).on(all(input)).on(View{state, 0, 1}).on(all(quantised));
  }
  void optimise() {
    optimizer();
    round();
  }
  void whole_step(std::int16_t number) {
    begin_step(number);
    zero();
    push();
    cast_input();
    reduce_open();
    optimise();
    close();
    end_step();
  }

  BufferId input, quantised, open, history, state;
};

struct DelayedRow {
  std::string_view name;
  void (*ops)(Delayed& life);
  std::string_view clause;
};

TEST(LifeDelayed, AStepIsClosedOnceWithTheAmaxOfAllRanks) {
  const DelayedRow rows[] = {
      {"right",
       [](Delayed& d) {
         for (const std::int16_t step : {0, 1, 2}) d.whole_step(step);
       },
       ""},
      {"closed twice",
       [](Delayed& d) {
         d.whole_step(0);
         d.close();
       },
       "F54"},
      {"not reduced",
       [](Delayed& d) {
         d.begin_step(0);
         d.zero();
         d.push();
         d.optimise();
         d.close();
       },
       "F54"},
      {"over another window",
       [](Delayed& d) {
         d.whole_step(0);
         d.begin_step(1);
         d.zero();
         d.push();
         d.reduce_open();
         d.optimise();
         d.close({d.history, 0, 2});
       },
       "F54"},
      {"with the amaxes of the step before too",
       [](Delayed& d) {
         d.whole_step(0);
         d.begin_step(1);
         d.push();
         d.reduce_open();
         d.optimise();
         d.close();
       },
       "F54"},
      {"in a skipped step",
       [](Delayed& d) {
         d.whole_step(0);
         d.begin_step(1);
         d.zero();
         for (const int rank : {0, 1})
           d.op(TakeAmax{d.of, rank * TinyLife::kHalf}, Purpose::weights, {Rank{rank}})
               .on(d.all(d.rounded))
               .on(d.all(d.open));
         d.reduce_open();
         d.close();
       },
       "F56"},
      {"a history that was saved and not loaded",
       [](Delayed& d) {
         d.whole_step(0);
         const BufferId saved = d.allocate("saved", BufferRole::amaxes, DType::f32, 4);
         d.op(Copy{}, Purpose::setup).on(d.all(d.history)).on(d.all(saved));
         d.op(Undefine{}, Purpose::setup).on(d.all(d.history));
         d.whole_step(1);
       },
       "F53"},
      {"after its history was lost",
       [](Delayed& d) {
         d.whole_step(0);
         d.op(Fill{0}, Purpose::setup).on(d.all(d.history));
         d.whole_step(1);
       },
       "F53"},
      {"its own scale",
       [](Delayed& d) {
         d.begin_step(0);
         d.zero();
         d.push();
         d.reduce_open();
         d.optimise();
         d.close();
         d.cast_input();
       },
       "F54"},
      {"a step was not closed",
       [](Delayed& d) {
         d.whole_step(0);
         d.begin_step(1);
         d.optimise();
         d.begin_step(2);
         d.cast_input();
       },
       "F54"},
      {"pushed twice",
       [](Delayed& d) {
         d.begin_step(0);
         d.zero();
         d.push();
         d.push();
         d.optimise();
       },
       "F55"},
      {"pushed in recompute",
       [](Delayed& d) {
         d.begin_step(0);
         d.zero();
         d.push();
         d.push(Purpose::recompute);
         d.optimise();
       },
       "F55"},
      {"recompute by a later scale",
       [](Delayed& d) {
         d.begin_step(0);
         d.zero();
         d.push();
         d.cast_input();
         d.reduce_open();
         d.optimise();
         d.close();
         d.cast_input(Purpose::recompute);
       },
       "F55"},
  };
  for (const DelayedRow& row : rows) {
    Delayed life;
    row.ops(life);
    const auto findings = judge(life.plan);
    EXPECT_EQ(findings.empty() ? "" : findings.front().clause, row.clause) << row.name << "\n"
                                                                           << life_of(life);
  }
}

}  // namespace
}  // namespace shardcheck::tests
