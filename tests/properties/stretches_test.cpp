#include "properties/stretches.h"

#include <gtest/gtest.h>

#include "backends/registry.h"
#include "core/error.h"

namespace shardcheck {
namespace {

RunOptions options_of(std::int32_t threads) {
  RunOptions options;
  options.threads = threads;
  options.make_backend = [] { return make_backend("cpu", {.profile = "ideal"}); };
  return options;
}

TEST(Stretches, ComeInOrderWhateverTheThreads) {
  for (const std::int32_t threads : {1, 2, 5}) {
    const auto reports = run_stretches(40, options_of(threads), [](std::int64_t number, const auto&) {
      return StretchReport{.cases = number};
    });
    ASSERT_EQ(reports.size(), 40u);
    for (std::int64_t i = 0; i < 40; ++i) EXPECT_EQ(reports[static_cast<std::size_t>(i)].cases, i);
  }
}

TEST(Stretches, TheFirstFailureWinsAndLaterOnesAreNotCounted) {
  for (const std::int32_t threads : {1, 2, 5}) {
    const auto reports = run_stretches(40, options_of(threads), [](std::int64_t number, const auto&) {
      StretchReport report{.cases = 1};
      if (number % 10 == 7) report.failing = counterexample_of({.name = std::to_string(number)});
      return report;
    });
    ASSERT_EQ(reports.size(), 8u);
    EXPECT_EQ(reports.back().failing->scenario.name, "7");
  }
}

TEST(Stretches, WhatAThreadThrowsComesOut) {
  for (const std::int32_t threads : {1, 3}) {
    const auto run = [&] {
      run_stretches(40, options_of(threads), [](std::int64_t number, const auto&) -> StretchReport {
        if (number == 3) throw Error(ErrorKind::machine_cannot, "the GPU is gone");
        return {};
      });
    };
    EXPECT_THROW(run(), Error);
  }
  RunOptions without_machine = options_of(2);
  without_machine.make_backend = []() -> std::unique_ptr<Backend> {
    throw Error(ErrorKind::machine_cannot, "no GPU");
  };
  EXPECT_THROW(run_stretches(4, without_machine, [](auto, const auto&) { return StretchReport{}; }), Error);
}

TEST(Stretches, ProgressEndsAtTheNumberOfCases) {
  std::int64_t last = 0;
  RunOptions options = options_of(2);
  options.progress = [&](std::int64_t done) { last = done; };
  run_stretches(10, options, [](std::int64_t, const StretchContext& context) {
    for (int i = 0; i < 30; ++i) context.case_done();
    return StretchReport{.cases = 30};
  });
  EXPECT_EQ(last, 300);
}

TEST(Stretches, NoTimeIsNoStretch) {
  RunOptions options = options_of(2);
  options.seconds = 0;
  EXPECT_TRUE(run_stretches(10, options, [](auto, const auto&) { return StretchReport{}; }).empty());
}

}  // namespace
}  // namespace shardcheck
