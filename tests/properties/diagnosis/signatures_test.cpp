// Each signature is recognised where its numbers are, and not where they are not.
#include "properties/diagnosis/signatures.h"

#include <gtest/gtest.h>

#include <set>

#include "sim/faults/zoo.h"
#include "tests/properties/diagnosis/cases.h"

namespace shardcheck {
namespace {

using Names = std::set<std::string>;

Names names_of(const std::vector<std::string>& sentences) {
  Names names;
  for (const std::string& sentence : sentences) names.insert(sentence.substr(0, sentence.find(':')));
  return names;
}

/// Three microbatches: two do not tell patterns apart.
Names shown_by(const std::string& fault, const std::string& clause) {
  Scenario s = test::worked_example();
  s.microbatches = 3;
  s.steps = 2;
  s.parameters[0].shape = {2, 16};
  find_fault(fault)->prepare(s);
  s.fault = fault;
  const auto cpu = test::backend();
  return names_of(test::diagnose(s, clause, *cpu).signatures);
}

TEST(Signatures, OfTheZoo) {
  EXPECT_EQ(shown_by("B-34", "W26"), Names{"doubling"});
  EXPECT_EQ(shown_by("B-33", "W25"), Names{"repeated-scaling"});
  EXPECT_EQ(shown_by("B-35", "W25"), Names{"repeated-scaling"});
  EXPECT_EQ(shown_by("B-43", "W2"), Names{"last-microbatch-only"});
  EXPECT_EQ(shown_by("B-07", "W26"), Names{"last-microbatch-only"});
  EXPECT_EQ(shown_by("B-39", "W24"), Names{"divisor-missing"});
  EXPECT_EQ(shown_by("B-36", "W28"), Names{"one-step-old"});
  EXPECT_EQ(shown_by("B-44", "W7"), Names{"poison"});
  EXPECT_EQ(shown_by("K10", "W28"), (Names{"not-reduced", "replicas-differ"}));
}

Names shown_on(const std::string& spec, const std::string& clause, std::int32_t ranks) {
  Scenario s = test::worked_example();
  s.ranks = ranks;
  s.microbatches = 1;
  s.parameters[0].shape = {2, 12};  // the digits wrap around, so that a lost one is no common ratio
  const auto on = test::backend(spec);
  return names_of(test::diagnose(s, clause, *on).signatures);
}

TEST(Signatures, OfNumericFaults) {
  EXPECT_EQ(shown_on("faulty:scale-twice", "W24", 2), Names{"divisor-too-many"});
  EXPECT_EQ(shown_on("faulty:skip-last-rank", "W2", 2), Names{"not-reduced"});
  EXPECT_EQ(shown_on("faulty:skip-last-rank", "W2", 4), Names{"rank-left-out"});
  EXPECT_EQ(shown_on("faulty:drop-last-element", "W2", 2), Names{"last-element"});
}

TEST(Signatures, ABufferThatIsNotClearedLeaksAStep) {
  Scenario s = test::worked_example();
  s.steps = 2;
  s.ranks = 1;
  s.zeroing = false;
  s.write_mode = WriteMode::r4;
  s.microbatches = 2;
  s.silent = {{0, 1, 0, 0}};  // the overwriting microbatch does not happen in step 1
  const auto cpu = test::backend();
  const Evidence evidence = examine(*cpu, s, Poison::quiet_nan);
  for (const Finding& finding : evidence.findings) {
    if (finding.step != 1) continue;
    EXPECT_EQ(names_of(diagnose(s, finding, *cpu).signatures), Names{"step-leaks"});
    return;
  }
  FAIL() << "nothing leaked";
}

/// Symptoms with the given vectors and nothing else.
Names shown_by_values(const std::vector<double>& wanted, const std::vector<double>& read) {
  const Scenario s = test::worked_example();
  const Subject subject(s, {.clause = "W1", .rank = 0, .parameter = 0, .element = 0}, Poison::quiet_nan);
  Symptoms symptoms{.subject = subject, .actual = read[0], .expected = wanted[0]};
  symptoms.read = read;
  symptoms.wanted = wanted;
  return names_of(recognised(symptoms));
}

TEST(Signatures, OfTheWholeParameter) {
  EXPECT_EQ(shown_by_values({257, 3, 5, 515}, {256, 3, 5, 516}), Names{"low-bits-lost"});
  EXPECT_EQ(shown_by_values({1, 2, 3, 4, 5, 6}, {3, 4, 5, 6, 0, 0}), Names{"shift"});
  EXPECT_EQ(shown_by_values({1, 2, 3, 4, 5, 6}, {9, 1, 2, 3, 4, 5}), Names{"shift"});
  EXPECT_EQ(shown_by_values({1, 2, 3, 4}, {1, 7, 3, 9}), Names{"odd-lanes"});
  EXPECT_EQ(shown_by_values({1, 2, 3, 4}, {3, 6, 9, 12}), Names{"divisor-missing"});
  EXPECT_EQ(shown_by_values({3, 6, 9, 12}, {1, 2, 3, 4}), Names{"divisor-too-many"});
}

TEST(Signatures, ClaimNothingOfNoise) {
  EXPECT_EQ(shown_by_values({1, 2, 3, 4, 5, 6}, {1, 8, 3, 2, 7, 6}), Names{});
  EXPECT_EQ(shown_by_values({1, 1, 1, 1}, {2, 1, 1, 1}), Names{});
  EXPECT_EQ(shown_by_values({1, 2, 3, 4}, {1, 2, 3, 4}), Names{});
}

TEST(Signatures, TwoMicrobatchesComeWithACaveat) {
  Scenario s = test::worked_example();
  s.parameters[0].shape = {2, 16};
  find_fault("B-34")->prepare(s);
  s.fault = "B-34";
  const auto cpu = test::backend();
  const auto sentences = test::diagnose(s, "W26", *cpu).signatures;
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_TRUE(sentences[0].ends_with("Two microbatches do not tell this from one wrong weight; three do"));
}

}  // namespace
}  // namespace shardcheck
