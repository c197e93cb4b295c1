// The signalling clauses W10 to W15, each with a plan that breaks it and a neighbour that does not. W14 is
// about bytes: class_rules_test.cpp.
#include "core/contract/signalling.h"

#include <gtest/gtest.h>

#include "tests/core/contract/tiny_plan.h"

namespace shardcheck::tests {
namespace {

void say(TinyPlan& p, Action action, ParamId parameter = TinyPlan::w) {
  p.op(action, Purpose::none, kCompute, parameter);
}
/// A fused use: write, flag, placeholder.
void fused(TinyPlan& p) {
  p.write(1, p.main);
  say(p, Flag{true});
  say(p, Return{Returned::zero_dummy});
}
/// The product of one of two experts that the weight holds.
void part(TinyPlan& p, std::int64_t which) {
  const View whole = p.of_w(p.main);
  p.op(Gemm{1, 1, whole.numel / 2, true}, Purpose::write, kCompute, TinyPlan::w);
  p.build.on({p.inputs, TinyPlan::kNumel, 1}).on({p.inputs, 0, whole.numel / 2});
  p.build.on({whole.buffer, whole.offset + which * (whole.numel / 2), whole.numel / 2});
}
/// An unfused use: a real gradient for autograd.
void real(TinyPlan& p) {
  p.op(Gemm{1, 1, TinyPlan::kNumel, false}, Purpose::write, kCompute, TinyPlan::w);
  p.build.on({p.inputs, TinyPlan::kNumel, 1}).on({p.inputs, 0, TinyPlan::kNumel}).on(p.all(p.grad));
  say(p, Return{Returned::real});
}
void hook(TinyPlan& p, HookAction action) {
  say(p, Hook{action});
  if (action == HookAction::add || action == HookAction::copy) p.fold(action == HookAction::add, p.main);
}
/// The destination as a step of a persistent owner begins.
void zeroed(TinyPlan& p) {
  p.zero(p.all(p.main));
}

TEST(Signalling, FrozenParametersStayOut) {
  expect_rows({
      {"no use", [](TinyPlan& p) { say(p, Return{Returned::nothing}, TinyPlan::frozen); }, ""},
      {"an unshard may write False", [](TinyPlan& p) { say(p, Flag{false}, TinyPlan::frozen); }, ""},
      {"flag", [](TinyPlan& p) { say(p, Flag{true}, TinyPlan::frozen); }, "W10"},
      {"returned", [](TinyPlan& p) { say(p, Return{Returned::dummy}, TinyPlan::frozen); }, "W10"},
      {"ready", [](TinyPlan& p) { say(p, Ready{}, TinyPlan::frozen); }, "W10"},
      {"ready, but trained", [](TinyPlan& p) { say(p, Ready{}); }, ""},
      {"write",
       [](TinyPlan& p) {
         p.op(Gemm{1, 1, TinyPlan::kNumel, false}, Purpose::write, kCompute, TinyPlan::frozen);
         p.build.on({p.inputs, TinyPlan::kNumel, 1}).on({p.inputs, 0, TinyPlan::kNumel}).on(p.of_w(p.main));
       },
       "W10"},
  });
}

/// The flag is raised in backward; the write is drained when the backwards of the step are over.
void deferred(TinyPlan& p, bool says_so) {
  say(p, Flag{true});
  p.plan.ops.back().why.deferred = says_so;
  say(p, Return{Returned::zero_dummy});
  hook(p, HookAction::drop);
}

TEST(Signalling, AFlagOfADeferredWriteIsNoLie) {
  expect_rows({
      {"deferred", [](TinyPlan& p) { zeroed(p), deferred(p, true); }, ""},
      {"not said", [](TinyPlan& p) { zeroed(p), deferred(p, false); }, "W11"},
  });
}

TEST(Signalling, AParameterStaysOutUntilItThaws) {
  for (const std::int16_t step : {std::int16_t{0}, std::int16_t{1}}) {
    TinyPlan tiny;
    tiny.plan.parameters[0].thaws_at = 1;
    tiny.build.op(Ready{}, {.parameter = TinyPlan::w, .step = step}, kCompute, tiny.ranks);
    EXPECT_EQ(broken(tiny.plan), step == 0 ? "W10" : "");
  }
}

TEST(Signalling, AnInterruptForgetsWhatWasSaid) {
  for (const bool interrupted : {false, true}) {
    TinyPlan tiny;
    zeroed(tiny);
    say(tiny, Flag{true});
    if (interrupted) tiny.op(Interrupt{Ended::attempt}, Purpose::none);
    hook(tiny, HookAction::drop);
    EXPECT_EQ(broken(tiny.plan), interrupted ? "" : "W11");
  }
}

TEST(Signalling, ARaisedFlagHasItsWrite) {
  expect_rows({
      {"written", [](TinyPlan& p) { zeroed(p), fused(p), hook(p, HookAction::drop); }, ""},
      {"written later, as delayed execution does",
       [](TinyPlan& p) { zeroed(p), say(p, Flag{true}), p.write(1, p.main), hook(p, HookAction::drop); }, ""},
      {"never written", [](TinyPlan& p) { zeroed(p), say(p, Flag{true}), hook(p, HookAction::drop); }, "W11"},
      {"one of two written",
       [](TinyPlan& p) { zeroed(p), fused(p), say(p, Flag{true}), hook(p, HookAction::drop); }, "W11"},
      {"written in two parts",
       [](TinyPlan& p) { zeroed(p), part(p, 0), part(p, 1), say(p, Flag{true}), hook(p, HookAction::drop); },
       ""},
      {"a part written",
       [](TinyPlan& p) { zeroed(p), part(p, 0), say(p, Flag{true}), hook(p, HookAction::drop); }, "W11"},
  });
}

TEST(Signalling, TheFlagSpeaksOfOneInterval) {
  expect_rows({
      {"sticky, and the next use is fused too",
       [](TinyPlan& p) {
         zeroed(p), fused(p), hook(p, HookAction::drop), fused(p), hook(p, HookAction::drop);
       },
       ""},
      {"sticky, so a real gradient is dropped",
       [](TinyPlan& p) {
         zeroed(p), fused(p), hook(p, HookAction::drop), real(p), hook(p, HookAction::drop);
       },
       "W12"},
      {"sticky, so nothing is written",
       [](TinyPlan& p) {
         zeroed(p), fused(p), hook(p, HookAction::drop);
         say(p, Return{Returned::zero_dummy}), hook(p, HookAction::drop);
       },
       "W12"},
      {"lowered between two intervals",
       [](TinyPlan& p) {
         zeroed(p), fused(p), hook(p, HookAction::drop), say(p, Flag{false}), real(p);
         hook(p, HookAction::add);
       },
       ""},
      {"lowered before the hook, which adds the placeholder",
       [](TinyPlan& p) { zeroed(p), fused(p), say(p, Flag{false}), hook(p, HookAction::add); }, "W12"},
      {"lowered before the hook, which copies",
       [](TinyPlan& p) { zeroed(p), fused(p), real(p), say(p, Flag{false}), hook(p, HookAction::copy); },
       "W12"},
      {"lowered before the hook, which zero-fills",
       [](TinyPlan& p) { zeroed(p), fused(p), say(p, Flag{false}), hook(p, HookAction::zero_fill); }, "W12"},
  });
}

TEST(Signalling, TheHookAddsExactlyWhatIsMissing) {
  expect_rows({
      {"unfused, added", [](TinyPlan& p) { zeroed(p), real(p), hook(p, HookAction::add); }, ""},
      {"unfused, copied onto zeros", [](TinyPlan& p) { zeroed(p), real(p), hook(p, HookAction::copy); }, ""},
      {"unfused twice, added",
       [](TinyPlan& p) { zeroed(p), real(p), hook(p, HookAction::add), real(p), hook(p, HookAction::add); },
       ""},
      {"unfused twice, the second copied over",
       [](TinyPlan& p) { zeroed(p), real(p), hook(p, HookAction::add), real(p), hook(p, HookAction::copy); },
       "W13"},
      {"mixed, added", [](TinyPlan& p) { zeroed(p), fused(p), real(p), hook(p, HookAction::add); }, ""},
      {"mixed, dropped", [](TinyPlan& p) { zeroed(p), fused(p), real(p), hook(p, HookAction::drop); }, "W13"},
      {"mixed, copied", [](TinyPlan& p) { zeroed(p), fused(p), real(p), hook(p, HookAction::copy); }, "W13"},
      {"unfused, nothing done", [](TinyPlan& p) { zeroed(p), real(p), hook(p, HookAction::nothing); }, "W13"},
      {"fused, nothing done", [](TinyPlan& p) { zeroed(p), fused(p), hook(p, HookAction::nothing); }, ""},
  });
}

/// A captured fused use writes the destination.
void replay_fused(TinyPlan& p) {
  zeroed(p);
  p.order(kCompute, Stream::graph);
  p.write(1, p.main, Stream::graph);
  p.order(Stream::graph, kCompute);
}

TEST(Signalling, AReplayRaisesTheFlag) {
  expect_rows({
      {"raised", [](TinyPlan& p) { replay_fused(p), say(p, Flag{true}), hook(p, HookAction::drop); }, ""},
      {"not raised",
       [](TinyPlan& p) { replay_fused(p), say(p, Return{Returned::real}), hook(p, HookAction::add); }, "W35"},
      {"eager, not raised", [](TinyPlan& p) { zeroed(p), p.write(1, p.main), hook(p, HookAction::drop); },
       ""},
  });
}

TEST(Signalling, NobodyReturnsTheDestination) {
  for (const Returned what : {Returned::real, Returned::dummy, Returned::zero_dummy, Returned::nothing}) {
    TinyPlan p;
    say(p, Return{what});
    EXPECT_EQ(broken(p.plan), "");
  }
  TinyPlan p;
  say(p, Return{Returned::alias});
  EXPECT_EQ(broken(p.plan), "W15");
}

TEST(Signalling, AutogradAddsNoGradientToItself) {
  static constexpr auto kSum = [](TinyPlan& p, BufferId from) {
    zeroed(p), real(p), p.write(0, p.main);
    p.op(Add{}, Purpose::none, kCompute, TinyPlan::w).on(p.of_w(from)).on(p.of_w(p.grad));
    hook(p, HookAction::add);
  };
  expect_rows({{"of another use", [](TinyPlan& p) { kSum(p, p.placeholder); }, ""},
               {"the same storage", [](TinyPlan& p) { kSum(p, p.grad); }, "W15"}});
}

TEST(Signalling, EachRankAndParameterHasItsOwnInterval) {
  TinyPlan p;
  zeroed(p);
  p.ranks = {Rank{0}};
  fused(p);
  hook(p, HookAction::drop);
  p.ranks = {Rank{1}};
  say(p, Flag{true});
  hook(p, HookAction::drop);
  const auto findings = judge(p.plan);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].clause, "W11");
  EXPECT_EQ(findings[0].rank, 1);
  EXPECT_EQ(findings[0].parameter_name, "w");
}

TEST(Signalling, TheFoldOfABrokenHookIsNotReportedAgain) {
  TinyPlan p;
  p.ranks = {Rank{0}};
  zeroed(p);
  fused(p);
  real(p);
  hook(p, HookAction::copy);
  EXPECT_EQ(judge(p.plan).size(), 1u);
}

}  // namespace
}  // namespace shardcheck::tests
