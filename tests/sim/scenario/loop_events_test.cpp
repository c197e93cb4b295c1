#include "sim/scenario/loop_events.h"

#include <gtest/gtest.h>

#include <functional>

#include "sim/scenario/json.h"
#include "sim/scenario/validate.h"
#include "tests/sim/scenario/cases.h"

namespace shardcheck {
namespace {

/// Three steps; one weight of unit 1 that is used twice, the second time by unit 2.
Scenario three_steps() {
  Scenario s = tests::small_scenario();
  s.steps = 3;
  s.parameters[0].shape = {8, 32};
  s.parameters[0].unit = 1;
  s.uses = {{.parameter = 0}, {.parameter = 0, .unit = 2}};
  return s;
}

std::string sentence(const std::function<void(Scenario&)>& change) {
  Scenario s = three_steps();
  change(s);
  return tests::sentence_of([&] { validate(s, "f.json"); });
}

TEST(LoopEvents, AreWrittenAndReadBack) {
  Scenario s = three_steps();
  s.loop.aborts = {{.step = 0, .microbatch = 1, .after_uses = 2}, {.step = 2}};
  s.loop.resumes = {0, 1};
  s.parameters[0].thaws_at = 1;
  for (const Recomputed& recompute : {Recomputed{}, Recomputed{true, {}}, Recomputed{false, {1, 2}}}) {
    s.loop.recompute = recompute;
    const std::string text = to_json(s);
    EXPECT_EQ(scenario_from_json(text, "f.json"), s) << text;
  }
  EXPECT_EQ(to_json(three_steps()).find("recompute"), std::string::npos) << "what is absent is not written";
}

TEST(LoopEvents, TheUnitOfAUseIsItsOwnOrTheParameters) {
  Scenario s = three_steps();
  EXPECT_EQ(unit_of_use(s, 0), 1);
  EXPECT_EQ(unit_of_use(s, 1), 2);
  s.loop.recompute.units = {2};
  EXPECT_FALSE(is_recomputed(s, 1));
  EXPECT_TRUE(is_recomputed(s, 2));
  s.loop.recompute = {.all = true, .units = {}};
  EXPECT_TRUE(is_recomputed(s, 1));
}

TEST(LoopEvents, NothingGoesOnAfterTheLastStep) {
  Scenario s = three_steps();
  s.loop.resumes = {0, 2};
  EXPECT_TRUE(is_resumed_after(s, 0));
  EXPECT_FALSE(is_resumed_after(s, 1));
  EXPECT_FALSE(is_resumed_after(s, 2));
}

TEST(LoopEvents, WhatDoesNotFitIsRefused) {
  EXPECT_EQ(sentence([](Scenario&) {}), "");
  EXPECT_EQ(sentence([](Scenario& s) { s.loop.recompute.units = {3}; }),
            "f.json: schedule.recompute[0]: no use runs in unit 3; give a unit that has one");
  EXPECT_EQ(sentence([](Scenario& s) {
              s.loop.recompute.units = {2, 1};
            }),
            "f.json: schedule.recompute[1]: 1 does not follow 2; give ascending units");
  EXPECT_EQ(sentence([](Scenario& s) {
              s.loop.recompute = {true, {1}};
            }),
            "f.json: schedule.recompute: true stands for all units; give true or a list");
  EXPECT_EQ(sentence([](Scenario& s) { s.loop.aborts = {{.step = 3}}; }),
            "f.json: schedule.aborts[0].step: 3 is out of range; the scenario has the steps 0 to 2");
  EXPECT_EQ(sentence([](Scenario& s) {
              s.loop.aborts = {{.step = 1}, {.step = 0}};
            }),
            "f.json: schedule.aborts[1].step: 0 comes after 1; order the aborts by step");
  EXPECT_EQ(
      sentence([](Scenario& s) { s.loop.aborts = {{.step = 0, .microbatch = 2}}; }),
      "f.json: schedule.aborts[0].microbatch: 2 is out of range; the scenario has the microbatches 0 to 1, "
      "and -1 is after the last backward");
  EXPECT_EQ(sentence([](Scenario& s) { s.loop.aborts = {{.microbatch = 0, .after_uses = 3}}; }),
            "f.json: schedule.aborts[0].after_uses: 3 is out of range; give 0 to 2");
  EXPECT_EQ(
      sentence([](Scenario& s) { s.loop.aborts = {{.after_uses = 1}}; }),
      "f.json: schedule.aborts[0].after_uses: 1 is out of range; give 0 to 0, as no backward is under way");
  EXPECT_EQ(sentence([](Scenario& s) {
              s.loop.resumes = {1, 1};
            }),
            "f.json: schedule.resumes[1]: 1 does not follow 1; give ascending steps");
  EXPECT_EQ(sentence([](Scenario& s) { s.parameters[0].thaws_at = 3; }),
            "f.json: parameters[0].thaws_at: 3 is out of range; the scenario has the steps 0 to 2, and 0 is "
            "trainable from the begin");
  EXPECT_EQ(sentence([](Scenario& s) {
              s.parameters[0].thaws_at = 1;
              s.parameters[0].trainable = false;
            }),
            "f.json: parameters[0].thaws_at: \"w0\" is frozen for good; leave out \"trainable\": false, or "
            "thaws_at");
}

TEST(LoopEvents, Fp8WeightsHaveALifeOfTheirOwn) {
  EXPECT_EQ(
      sentence([](Scenario& s) {
        s.fp8 = Fp8Training{};
        s.loop.resumes = {0};
      }),
      "f.json: fp8: FP8 weights have recompute, skipped steps and reloads of their own; say them in the fp8 "
      "section, or leave it out");
  EXPECT_EQ(
      sentence([](Scenario& s) {
        s.fp8 = Fp8Training{};
        s.parameters[0].thaws_at = 1;
      }),
      "f.json: fp8: FP8 weights are trained from the first step on; leave thaws_at out, or the fp8 section");
}

TEST(LoopEvents, WhatIsGoneIsMended) {
  Scenario s = three_steps();
  s.loop.recompute.units = {1, 2};
  s.loop.aborts = {{.step = 0, .microbatch = 1, .after_uses = 2}, {.step = 2}};
  s.loop.resumes = {0, 2};
  s.parameters[0].thaws_at = 2;
  s.steps = 2;
  s.microbatches = 1;
  s.uses.pop_back();
  mend_loop(s);
  EXPECT_EQ(s.loop.recompute.units, std::vector<std::int32_t>{1});
  EXPECT_EQ(s.loop.aborts, (std::vector<Abort>{{.step = 0, .microbatch = 0, .after_uses = 1}}));
  EXPECT_EQ(s.loop.resumes, std::vector<std::int32_t>{0});
  EXPECT_EQ(s.parameters[0].thaws_at, 1);
  EXPECT_EQ(tests::sentence_of([&] { validate(s, "f.json"); }), "");
}

TEST(LoopEvents, AreSaidInSentences) {
  Scenario s = three_steps();
  EXPECT_EQ(describe_loop(s), "");
  s.loop.recompute.units = {1, 2};
  s.loop.aborts = {{.step = 0, .microbatch = 1, .after_uses = 1}, {.step = 2}};
  s.loop.resumes = {0};
  EXPECT_EQ(
      describe_loop(s),
      " Recomputed in backward: units 1, 2. Step 0 is given up in the backward of microbatch 1, after 1 use, "
      "and run again. Step 2 is given up after its last backward and run again. A fresh process goes on "
      "after "
      "step 0.");
  s.parameters[0].thaws_at = 1;
  EXPECT_NE(describe(s).find("thaws at step 1"), std::string::npos);
}

TEST(LoopEvents, AParameterHasNoUsesBeforeItThaws) {
  Scenario s = three_steps();
  s.parameters[0].thaws_at = 1;
  EXPECT_FALSE(is_used(s, 0, 0, 0, 0));
  EXPECT_TRUE(is_used(s, 0, 1, 0, 0));
  EXPECT_FALSE(is_trained(s.parameters[0], 0));
  EXPECT_TRUE(is_trained(s.parameters[0], 1));
}

}  // namespace
}  // namespace shardcheck
