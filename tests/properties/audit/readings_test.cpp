// Readings: every contribution as every rank reads it.
#include "properties/audit/readings.h"

#include <gtest/gtest.h>

#include "tests/properties/audit/right_trace.h"

namespace shardcheck {
namespace {

using audit_tests::right_trace;
using audit_tests::small_case;
using audit_tests::tensor_of;

TEST(Readings, ARightTraceReadsEachContributionOnce) {
  const auto readings = readings_of(right_trace(small_case(), 2));
  ASSERT_EQ(readings.size(), 4u);  // two steps, two parameters
  EXPECT_EQ(readings[1].parameter, 1);
  for (const GradientReading& reading : readings) {
    ASSERT_EQ(reading.readers.size(), 2u);
    EXPECT_EQ(reading.readers[1].undecoded, 0);
    // Two ranks, two microbatches, and the second parameter's two uses; nothing of another step.
    EXPECT_EQ(reading.contributions.size(), reading.parameter == 0 ? 4u : 8u);
    for (const ReadContribution& each : reading.contributions) {
      EXPECT_EQ(each.key.step, reading.step);
      EXPECT_EQ(each.expected, 1);
      EXPECT_EQ(each.times, (std::vector<std::string>{"1", "1"}));
    }
  }
}

TEST(Readings, WhatIsMissingDoubledOrForeignIsSeen) {
  AuditTrace trace = right_trace(small_case(), 1);
  TracedTensor& doubled = tensor_of(trace.ranks[0], Traced::gradient, 0, 0);
  for (float& value : doubled.values) value *= 2;
  tensor_of(trace.ranks[1], Traced::gradient, 0, 0).values[3] = 1e30F;
  // Step 1 still holds what step 0 left.
  TracedTensor& later = tensor_of(trace.ranks[0], Traced::gradient, 1, 1);
  const TracedTensor& earlier = tensor_of(trace.ranks[0], Traced::gradient, 0, 1);
  for (std::size_t i = 0; i < later.values.size(); ++i) later.values[i] += earlier.values[i];
  tensor_of(trace.ranks[1], Traced::gradient, 1, 1).is_present = false;
  tensor_of(trace.ranks[1], Traced::gradient, 1, 1).values.clear();
  const auto readings = readings_of(trace);
  EXPECT_EQ(readings[0].contributions[0].times, (std::vector<std::string>{"2", "1"}));
  EXPECT_EQ(readings[0].readers[1].undecoded, 1);
  const GradientReading& stale = readings[3];
  ASSERT_EQ(stale.contributions.size(), 16u);
  EXPECT_EQ(stale.contributions[0].key.step, 0);
  EXPECT_EQ(stale.contributions[0].expected, 0);
  EXPECT_EQ(stale.contributions[0].times, (std::vector<std::string>{"1", ""}));
  EXPECT_FALSE(stale.readers[1].is_present);
}

TEST(Readings, ElementsThatDisagreeSayBothNumbers) {
  AuditTrace trace = right_trace(small_case(), 1);
  TracedTensor& torn = tensor_of(trace.ranks[1], Traced::gradient, 0, 0);
  for (std::size_t i = 4; i < torn.values.size(); ++i) torn.values[i] = 0;  // the second row
  EXPECT_EQ(readings_of(trace)[0].contributions[0].times, (std::vector<std::string>{"1", "0 to 1"}));
}

}  // namespace
}  // namespace shardcheck
