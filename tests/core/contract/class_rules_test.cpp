// Tables 2.2 (writes) and 2.4 (the other events, up to the launch) of the specification, cell by cell. The
// rows from LAUNCH on are in reduction_rules_test.cpp.
#include "core/contract/class_rules.h"

#include <gtest/gtest.h>

#include "tests/core/contract/tiny_plan.h"

namespace shardcheck::tests {
namespace {

// ---- Table 2.2: a destination class a row, its two betas, the clause of each.

using Prepare = void (*)(TinyPlan& p, BufferId id);

struct Class {
  std::string_view name;
  Prepare prepare;
  std::string_view overwrite, accumulate;  // "" where the table says legal
};

void expect_classes(BufferRole role, std::initializer_list<Class> classes) {
  for (const Class& c : classes) {
    for (const int beta : {0, 1}) {
      TinyPlan tiny;
      const BufferId id = role == BufferRole::main_grad ? tiny.main : tiny.slot;
      c.prepare(tiny, id);
      ASSERT_EQ(broken(tiny.plan), "") << c.name;
      tiny.write(beta, id);
      EXPECT_EQ(broken(tiny.plan), beta == 0 ? c.overwrite : c.accumulate) << c.name << ", beta = " << beta;
    }
  }
}

void nothing(TinyPlan&, BufferId) {}
void zeroed(TinyPlan& p, BufferId id) {
  p.zero(p.all(id));
}
void filled(TinyPlan& p, BufferId id) {
  p.fill(id);
}
void filled_twice(TinyPlan& p, BufferId id) {
  p.fill(id);
  p.write(1, id);
}
void arrived(TinyPlan& p, BufferId id) {
  in_flight(p, id);
  p.order(kReduce, kCompute);
}
void reduced(TinyPlan& p, BufferId id) {
  p.reduce(id);
}
void aborted(TinyPlan& p, BufferId id) {
  p.fill(id);
  p.begin_step();
}
void moved_away(TinyPlan& p, BufferId id) {
  p.fill(id);
  p.stage();
}
void opened(TinyPlan& p, BufferId) {
  p.open();
}
void opened_and_zeroed(TinyPlan& p, BufferId id) {
  p.open();
  p.zero(p.all(id));
}
void opened_again(TinyPlan& p, BufferId id) {
  p.open();
  p.write(0, id);
  p.reduce_scatter(id);
  p.accumulate(false, id);
  p.close();
  p.open();
}

TEST(ClassRules, Table22OfAPersistentDestination) {
  expect_classes(BufferRole::main_grad, {{"UD", nothing, "", "W6"},
                                         {"Z", zeroed, "", ""},
                                         {"A(1)", filled, "W4", ""},
                                         {"A(2)", filled_twice, "W4", ""},
                                         {"L", in_flight, "W22", "W22"},
                                         {"V", reduced, "W21", "W21"},
                                         {"L that arrived: V", arrived, "W21", "W21"},
                                         {"S, of an earlier step", consumed, "", "W6"},
                                         {"S, of an aborted step", aborted, "", "W6"},
                                         {"S, local sums that moved away", moved_away, "W21", "W6"}});
}

TEST(ClassRules, Table22OfALease) {
  expect_classes(BufferRole::lease_slot, {{"X, never lent", nothing, "W19", "W19"},
                                          {"X, returned", closed, "W19", "W19"},
                                          {"UD", opened, "", "W4"},
                                          {"Z", opened_and_zeroed, "", ""},
                                          {"A(1)", filled, "W4", ""},
                                          {"L", in_flight, "W22", "W22"},
                                          {"V", reduced, "W21", "W21"},
                                          {"S as the first write of a new lease", opened_again, "", "W4"}});
}

TEST(ClassRules, AFoldIsAWriteExceptThatItsOverwritingIsNamedAfterTheHook) {
  expect_rows({
      {"UD, copy", [](TinyPlan& p) { p.fold(false, p.main); }, ""},
      {"UD, add", [](TinyPlan& p) { p.fold(true, p.main); }, "W6"},
      {"UD lease, add", [](TinyPlan& p) { p.open(), p.fold(true, p.slot); }, "W4"},
      {"A, copy", [](TinyPlan& p) { p.fill(p.main), p.fold(false, p.main); }, "W13"},
      {"A, add", [](TinyPlan& p) { p.fill(p.main), p.fold(true, p.main); }, ""},
      {"V, add", [](TinyPlan& p) { p.reduce(p.main), p.fold(true, p.main); }, "W21"},
  });
}

TEST(ClassRules, AWrongBetaIsNamedAfterTheProxyThatChoseIt) {
  constexpr std::pair<BetaRule, std::string_view> kClauses[] = {
      {BetaRule::first_touch, "W4"},      {BetaRule::constant, "W4"},      {BetaRule::strategy_flag, "W4"},
      {BetaRule::lease_flag, "W4"},       {BetaRule::call_order, "W5"},    {BetaRule::microbatch_index, "W5"},
      {BetaRule::other_parameter, "W17"}, {BetaRule::forward_time, "W17"}, {BetaRule::captured, "W35"}};
  for (const auto& [rule, clause] : kClauses) {
    TinyPlan lost, right;
    lost.fill(lost.main);
    right.fill(right.main);
    lost.rule = right.rule = rule;
    lost.write(0, lost.main);
    right.write(1, right.main);
    EXPECT_EQ(broken(lost.plan), clause) << name_of(rule);
    EXPECT_EQ(broken(right.plan), "") << name_of(rule);
    EXPECT_NE(judge(lost.plan).front().sentence.find(name_of(rule)), std::string::npos);
  }
}

// ---- Table 2.4.

TEST(ClassRules, Zero) {
  expect_rows({
      {"UD", [](TinyPlan& p) { p.zero(p.all(p.main)); }, ""},
      {"Z", [](TinyPlan& p) { p.zero(p.all(p.main)), p.zero(p.all(p.main)); }, ""},
      {"S", [](TinyPlan& p) { consumed(p, p.main), p.zero(p.all(p.main)); }, ""},
      {"A", [](TinyPlan& p) { p.fill(p.main), p.zero(p.all(p.main)); }, "W2"},
      {"A of an aborted step", [](TinyPlan& p) { aborted(p, p.main), p.zero(p.all(p.main)); }, ""},
      {"V before the next step", [](TinyPlan& p) { p.reduce(p.main), p.zero(p.all(p.main)); }, "W6"},
      {"L", [](TinyPlan& p) { in_flight(p, p.main), p.zero(p.all(p.main)); }, "W22"},
      {"X", [](TinyPlan& p) { closed(p, p.slot), p.zero(p.all(p.slot)); }, "W19"},
  });
}

TEST(ClassRules, ScaleKeepsTheClassAndMarksContributions) {
  expect_rows({
      {"A", [](TinyPlan& p) { p.fill(p.main), p.scale(p.all(p.main), 0.5f); }, ""},
      {"Z", [](TinyPlan& p) { p.zero(p.all(p.main)), p.scale(p.all(p.main), 0.5f), p.write(1, p.main); }, ""},
      {"A, then a write",
       [](TinyPlan& p) { p.fill(p.main), p.scale(p.all(p.main), 0.5f), p.write(1, p.main); }, "W25"},
      {"A, then a fold",
       [](TinyPlan& p) { p.fill(p.main), p.scale(p.all(p.main), 0.5f), p.fold(true, p.main); }, "W25"},
      {"A by 1, then a write",
       [](TinyPlan& p) { p.fill(p.main), p.scale(p.all(p.main), 1), p.write(1, p.main); }, ""},
      {"a new step forgets it",
       [](TinyPlan& p) {
         p.fill(p.main), p.scale(p.all(p.main), 0.5f), p.begin_step();
         p.write(0, p.main), p.write(1, p.main);
       },
       ""},
      {"V", [](TinyPlan& p) { p.reduce(p.main), p.scale(p.all(p.main), 0.5f); }, "W25"},
      {"V in finalize", [](TinyPlan& p) { p.reduce(p.main), p.divide(p.all(p.main)); }, ""},
      {"L", [](TinyPlan& p) { in_flight(p, p.main), p.scale(p.all(p.main), 0.5f); }, "W22"},
      {"UD", [](TinyPlan& p) { p.scale(p.all(p.main), 0.5f); }, "W7"},
      {"S", [](TinyPlan& p) { consumed(p, p.main), p.scale(p.all(p.main), 0.5f); }, ""},
      {"X", [](TinyPlan& p) { closed(p, p.slot), p.scale(p.all(p.slot), 0.5f); }, "W19"},
  });
}

TEST(ClassRules, APlaceholderIsZeroedBeforeAutogradAddsIt) {
  const auto add = [](TinyPlan& p) {
    p.op(Add{}, Purpose::dummy, kCompute, TinyPlan::w).on(p.all(p.placeholder)).on(p.all(p.grad));
  };
  TinyPlan undefined, zeroed;
  undefined.op(Undefine{}, Purpose::dummy, kCompute, TinyPlan::w).on(undefined.all(undefined.placeholder));
  add(undefined);
  zeroed.op(Fill{0}, Purpose::dummy, kCompute, TinyPlan::w).on(zeroed.all(zeroed.placeholder));
  add(zeroed);
  EXPECT_EQ(broken(undefined.plan), "W14");
  EXPECT_EQ(broken(zeroed.plan), "");
}

// ---- Streams: E9 and E17 of 6.2.

/// A captured unfused use leaves its gradient where the next one will.
void replay_unfused(TinyPlan& p) {
  p.order(kCompute, Stream::graph);
  p.write(0, p.grad, Stream::graph);
  p.order(Stream::graph, kCompute);
}

TEST(ClassRules, WhatAReplayReturnsIsTakenBeforeTheNextOne) {
  expect_rows({
      {"folded",
       [](TinyPlan& p) { replay_unfused(p), p.zero(p.all(p.main)), p.fold(true, p.main), replay_unfused(p); },
       ""},
      {"an alias of it is still held", [](TinyPlan& p) { replay_unfused(p), replay_unfused(p); }, "W35"},
      {"eager: each use has storage of its own", [](TinyPlan& p) { p.write(0, p.grad), p.write(0, p.grad); },
       ""},
  });
}

TEST(ClassRules, AProductAddsToParamGradUntilTheHookHasFoldedIt) {
  static constexpr auto kChain = [](TinyPlan& p, int beta) {
    p.rule = BetaRule::gradient;
    p.write(beta, p.grad);
  };
  static constexpr auto kBegin = [](TinyPlan& p) {
    p.zero(p.all(p.main)), kChain(p, 0), kChain(p, 1), p.fold(true, p.main);
  };
  expect_rows({
      {"a chain and its fold", [](TinyPlan& p) { kBegin(p); }, ""},
      {"the next one begins anew", [](TinyPlan& p) { kBegin(p), kChain(p, 0), p.fold(true, p.main); }, ""},
      {"or goes on with what is folded", [](TinyPlan& p) { kBegin(p), kChain(p, 1); }, "W13"},
      {"folded again", [](TinyPlan& p) { kBegin(p), p.fold(true, p.main); }, "W13"},
      {"a later use overwrites", [](TinyPlan& p) { kChain(p, 0), kChain(p, 0); }, "W4"},
      {"onto what a step left", [](TinyPlan& p) { kChain(p, 0), p.begin_step(), kChain(p, 1); }, "W6"},
      {"an unfused use begins anew in any case", [](TinyPlan& p) { p.write(0, p.grad), p.write(0, p.grad); },
       ""},
  });
}

TEST(ClassRules, AWriteWaitsForTheZeroing) {
  for (const bool waits : {false, true}) {
    TinyPlan p;
    p.open();
    p.order(kCompute, kReduce);
    p.zero(p.all(p.slot), kReduce);
    if (waits) p.order(kReduce, kCompute);
    p.write(1, p.slot);
    EXPECT_EQ(broken(p.plan), waits ? "" : "W4");
  }
}

// ---- A step that is given up (W40), and sums that a step leaves behind (W29).

TEST(ClassRules, WhatAnAbandonedStepSummedMayBeZeroed) {
  for (const bool says_so : {true, false}) {
    TinyPlan tiny;
    tiny.begin_step();
    tiny.fill(tiny.main);
    if (says_so) tiny.op(Interrupt{Ended::attempt}, Purpose::none);
    tiny.zero(tiny.all(tiny.main));
    EXPECT_EQ(broken(tiny.plan), says_so ? "" : "W2");
  }
}

TEST(ClassRules, WhatAnAbandonedStepSummedIsStale) {
  TinyPlan tiny;
  tiny.begin_step();
  tiny.fill(tiny.main);
  tiny.op(Interrupt{Ended::attempt}, Purpose::none);
  tiny.begin_step();
  tiny.write(1, tiny.main);
  EXPECT_EQ(broken(tiny.plan), "W6") << "the step that is run again zeroes again";
}

}  // namespace
}  // namespace shardcheck::tests
