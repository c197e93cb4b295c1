#include "tools/shardcheck/fingerprint/as_text.h"

#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

TEST(FingerprintText, SubjectsWithTheSameFactsAreToldOnce) {
  Fingerprint fingerprint{{"cpu", "a machine", "hopper", 1}, {}, {}};
  for (const char* subject : {"end of x", "end of y", "end of z"}) {
    fingerprint.facts.push_back({subject, "first", "1", "seen", {}});
    fingerprint.facts.push_back(
        {subject, "second", subject == std::string("end of z") ? "3" : "2", "seen", {}});
  }
  const std::string text = fingerprint_text({}, fingerprint, {"driver 1"});
  EXPECT_TRUE(holds(text, "first 1 all: seen second 2 x; y: seen 3 z")) << text;
  EXPECT_TRUE(holds(text, "versions driver 1")) << text;
  EXPECT_TRUE(holds(text, "6 of 6 facts observed")) << text;
}

TEST(FingerprintText, WhatWasNotObservedSaysWhy) {
  const Fingerprint fingerprint{
      {"cpu", "", "", 1}, {}, {{"reductions", "maximum with NaN", "", "no op takes one", {}}}};
  const std::string text = fingerprint_text({}, fingerprint, {});
  EXPECT_TRUE(holds(text, "maximum with NaN not observed reductions: no op takes one")) << text;
  EXPECT_TRUE(holds(text, "0 of 1 fact observed")) << text;
}

TEST(FingerprintText, CastsAreARowEach) {
  Fingerprint fingerprint{{"cpu", "", "", 1}, {}, {}};
  for (const char* source : {"f32", "bf16"}) {
    const std::string subject = std::string("cast ") + source + " -> e4m3, nv_saturating";
    fingerprint.facts.push_back({subject, "rounding", "nearest_even", "seen", {}});
    fingerprint.facts.push_back({subject, "infinity", "as_overflow", "seen", {}});
  }
  const std::string text = fingerprint_text({}, fingerprint, {});
  EXPECT_TRUE(holds(text, "rounding infinity cast nearest_even as_overflow f32, bf16 -> e4m3, nv_saturating"))
      << text;
}

TEST(FingerprintText, DifferencesAreATable) {
  const std::string text = differences_text({}, {{"accumulator", "kept bits", "13", ""}});
  EXPECT_TRUE(holds(text, "accumulator kept bits 13 not observed")) << text;
}

}  // namespace
}  // namespace shardcheck
