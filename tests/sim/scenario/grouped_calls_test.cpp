#include "sim/scenario/grouped_calls.h"

#include <gtest/gtest.h>

#include <functional>

#include "sim/scenario/validate.h"
#include "tests/sim/scenario/cases.h"

namespace shardcheck {
namespace {

using tests::small_scenario;

/// Three experts: the first two in one call, which runs twice; the third by itself in between.
Scenario two_calls() {
  Scenario s = small_scenario();
  s.data = DataMode::integers;
  s.parameters.push_back({.name = "w1", .shape = {2, 2}});
  s.parameters.push_back({.name = "w2", .shape = {2, 2}});
  s.uses = {{.parameter = 0},
            {.parameter = 1, .grouped = true},
            {.parameter = 2},
            {.parameter = 0},
            {.parameter = 1, .grouped = true}};
  return s;
}

TEST(GroupedCalls, AUseBeginsACallUnlessItIsGrouped) {
  const std::vector<GroupedCall> calls = calls_of(two_calls());
  ASSERT_EQ(calls.size(), 3u);
  const std::size_t first[] = {0, 2, 3}, last[] = {2, 3, 5};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(calls[i].first, first[i]);
    EXPECT_EQ(calls[i].last, last[i]);
  }
  EXPECT_TRUE(has_grouped_calls(two_calls()));
  EXPECT_FALSE(has_grouped_calls(small_scenario()));
}

TEST(GroupedCalls, MatesShareACall) {
  const Scenario s = two_calls();
  EXPECT_EQ(call_mates(s, 0), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(call_mates(s, 1), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(call_mates(s, 2), (std::vector<std::int32_t>{2}));
  EXPECT_EQ(describe_calls(s), " One grouped call: w0, w1. One grouped call: w0, w1.");
}

/// Each change makes the second use of the first call one that cannot be there.
TEST(GroupedCalls, MembersAreOfOneKind) {
  const std::pair<const char*, std::function<void(Scenario&)>> rows[] = {
      {"uses[0].grouped: true, and there is no use before it whose call it could join; leave it out",
       [](Scenario& s) { s.uses[0].grouped = true; }},
      {"uses[1].grouped: true, and \"unfused\" is not the producer of the call, which is \"fused\"; use one "
       "producer",
       [](Scenario& s) { s.uses[1].producer = Producer::unfused; }},
      {"uses[1].grouped: true with the producer \"other\"; a grouped call is \"fused\" or \"unfused\"",
       [](Scenario& s) { s.uses[0].producer = s.uses[1].producer = Producer::other; }},
      {"uses[1].grouped: true, and \"w1\" has another shape than \"w0\", the first of its call; give the "
       "same",
       [](Scenario& s) {
         s.parameters[1].shape = {2, 3};
       }},
      {"uses[1].grouped: true, and \"w1\" has another dtype than \"w0\", the first of its call; give the "
       "same",
       [](Scenario& s) { s.parameters[1].dtype = DType::f32; }},
      {"uses[1].grouped: true, and \"w1\" has another trainable than \"w0\", the first of its call; give the "
       "same",
       [](Scenario& s) { s.parameters[1].trainable = false; }},
      {"uses[1].grouped: true, and \"w1\" has another groups than \"w0\", the first of its call; give the "
       "same",
       [](Scenario& s) { s.parameters[1].groups = 2; }},
      {"uses[1].grouped: true, and the use runs in unit 1 and the first of its call in 0; give one unit",
       [](Scenario& s) { s.uses[1].unit = 1; }},
      {"uses[1].grouped: true, and \"w0\" is in this call already; a second use is another call",
       [](Scenario& s) { s.uses[1].parameter = 0; }},
      {"uses[1].grouped: true, and \"w1\" is silent elsewhere than \"w0\", the first of its call; an expert "
       "without tokens has token_counts of 0",
       [](Scenario& s) { s.silent = {{.parameter = 1, .microbatch = 0}}; }},
  };
  EXPECT_EQ(tests::sentence_of([] { validate(two_calls(), "f.json"); }), "");
  for (const auto& [sentence, change] : rows) {
    Scenario s = two_calls();
    change(s);
    EXPECT_EQ(tests::sentence_of([&] { validate(s, "f.json"); }), std::string("f.json: ") + sentence);
    mend_calls(s);
    EXPECT_EQ(tests::sentence_of([&] { validate(s, "f.json"); }), "") << "mended: " << sentence;
  }
}

TEST(GroupedCalls, VectorsAreNotGrouped) {
  Scenario s = two_calls();
  for (ScenarioParameter& p : s.parameters) p.shape = {4};
  for (ScenarioUse& use : s.uses) use.producer = Producer::unfused;
  EXPECT_EQ(tests::sentence_of([&] { validate(s, "f.json"); }),
            "f.json: uses[1].grouped: true, and \"w1\" is no matrix; a grouped layer has 2-D weights");
}

TEST(GroupedCalls, SilentTogetherIsFine) {
  Scenario s = two_calls();
  s.silent = {{.parameter = 1, .microbatch = 0}, {.parameter = 0, .microbatch = 0}};
  EXPECT_EQ(refusal_of_call(s, 1), std::nullopt);
}

}  // namespace
}  // namespace shardcheck
