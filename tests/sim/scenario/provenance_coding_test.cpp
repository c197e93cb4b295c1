#include "sim/scenario/provenance_coding.h"

#include <gtest/gtest.h>

#include "tests/sim/scenario/cases.h"

namespace shardcheck {
namespace {

using Coding = ProvenanceCoding;

TEST(ProvenanceCoding, TwoRanksAndTwoMicrobatchesFitOneElement) {
  const Scenario s = tests::small_scenario();
  EXPECT_EQ(provenance_contributions(s, 0, use_counts(s, 0)), 4);
  EXPECT_EQ(provenance_coding(s, 0), (Coding{.digits = 12, .lanes = 1, .along_columns = true}));
}

TEST(ProvenanceCoding, TheSmallestSignificandDecidesTheDigits) {
  Scenario s = tests::small_scenario();
  s.parameters[0].dtype = DType::f32;
  const auto digits = [&](DType main_grad, DType comm) {
    s.main_grad = main_grad;
    s.comm = comm;
    return provenance_digits(s, 0, use_counts(s, 0));
  };
  EXPECT_EQ(digits(DType::f32, DType::f32), 12);
  EXPECT_EQ(digits(DType::f32, DType::bf16), 4);
  EXPECT_EQ(digits(DType::f16, DType::f32), 5);
  EXPECT_EQ(digits(DType::f16, DType::bf16), 4);
}

TEST(ProvenanceCoding, AutogradSumsSeveralReturnedGradientsInTheParametersType) {
  Scenario s = tests::small_scenario();
  const auto digits = [&](DType own, std::initializer_list<Producer> producers) {
    s.parameters[0].dtype = own;
    s.uses.clear();
    for (const Producer producer : producers) s.uses.push_back({.parameter = 0, .producer = producer});
    return provenance_digits(s, 0, use_counts(s, 0));
  };
  EXPECT_EQ(digits(DType::bf16, {Producer::unfused}), 12);
  EXPECT_EQ(digits(DType::bf16, {Producer::unfused, Producer::fused}), 12);
  EXPECT_EQ(digits(DType::bf16, {Producer::unfused, Producer::other, Producer::unfused}), 4);
  EXPECT_EQ(digits(DType::f32, {Producer::unfused, Producer::unfused}), 12);
  EXPECT_EQ(digits(DType::f16, {Producer::fused, Producer::fused}), 8);
  EXPECT_EQ(digits(DType::f16, {Producer::unfused, Producer::unfused}), 5);
  s.write_mode = WriteMode::r7;
  EXPECT_EQ(digits(DType::bf16, {Producer::fused, Producer::fused}), 4);
  s.write_mode = WriteMode::r8;
  EXPECT_EQ(digits(DType::bf16, {Producer::fused, Producer::fused}), 12) << "param.grad is a local sum";
  s.write_mode = WriteMode::r7;  // fused uses return a gradient, too
  EXPECT_EQ(digits(DType::bf16, {Producer::fused, Producer::fused}), 4);
  EXPECT_EQ(digits(DType::bf16, {Producer::fused, Producer::other}), 12);
}

TEST(ProvenanceCoding, LanesAreColumnsThenRowsThenNothing) {
  Scenario s = tests::small_scenario();
  s.steps = 3;
  s.microbatches = 4;  // 24 contributions: 2 lanes
  const auto coding = [&](std::vector<std::int64_t> shape) {
    s.parameters[0].shape = shape;
    return provenance_coding(s, 0);
  };
  EXPECT_EQ(coding({1, 2}), (Coding{12, 2, true}));
  EXPECT_EQ(coding({2, 2}), (Coding{12, 2, true}));
  EXPECT_EQ(coding({2, 1}), (Coding{12, 2, false}));
  EXPECT_EQ(coding({2}), (Coding{12, 2, false}));
  EXPECT_EQ(coding({1, 1}), std::nullopt);
  EXPECT_EQ(coding({0, 2}), std::nullopt);
  EXPECT_EQ(coding({2, 0}), std::nullopt);
  s.microbatches = 5;  // 30: 3 lanes
  EXPECT_EQ(coding({2, 2}), std::nullopt);
  EXPECT_EQ(coding({2, 3}), (Coding{12, 3, true}));
}

TEST(ProvenanceCoding, ExpertsHaveTheContributionsOfTheirOwnDomain) {
  Scenario s = tests::small_scenario();
  s.ranks = 8;
  s.expert_parallel = 4;
  EXPECT_EQ(provenance_contributions(s, 0, use_counts(s, 0)), 16);
  s.parameters[0].expert = true;
  EXPECT_EQ(provenance_contributions(s, 0, use_counts(s, 0)), 4);
}

TEST(ProvenanceCoding, AnUnusedParameterHasOneLane) {
  Scenario s = tests::small_scenario();
  s.uses.clear();
  EXPECT_EQ(provenance_coding(s, 0), (Coding{12, 1, true}));
}

}  // namespace
}  // namespace shardcheck
