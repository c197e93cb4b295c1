#include "tools/shardcheck/record/gemms.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/cpu/cpu_backend.h"
#include "core/numerics/profile.h"

namespace shardcheck {
namespace {

std::vector<std::string> silent(const Backend&) {
  return {};
}

TEST(RecordGemms, OffsetsAreWholeAndInOrder) {
  const auto cpu = make_cpu_backend(kHopper);
  const RecordedGemms recorded = record_gemms(*cpu, {.cases = 30, .seed = 5}, {"driver 1"}, silent);
  EXPECT_EQ(recorded.cases, 30);
  EXPECT_EQ(recorded.left_out, 0);
  const auto json = nlohmann::json::parse(recorded.json);
  EXPECT_EQ(json["versions"][0], "driver 1");
  std::size_t end = 0;
  for (const auto& c : json["cases"]) {
    EXPECT_EQ(c["off_a"], end);
    const std::size_t bytes = c["d"] == "f32" ? 4 : 2;
    end = c["off_d"].get<std::size_t>() + c["m"].get<std::size_t>() * c["n"].get<std::size_t>() * bytes;
    EXPECT_EQ(c["m"].get<int>() % 16 + c["n"].get<int>() % 16 + c["k"].get<int>() % 16, 0);
  }
  EXPECT_EQ(end, recorded.data.size());
}

/// A GPU whose library computes every other shape.
TEST(RecordGemms, WhatTheLibraryDidNotComputeIsLeftOut) {
  const auto cpu = make_cpu_backend(kHopper);
  std::vector<std::string> lines;
  const auto every_other = [&](const Backend&) {
    lines.push_back(lines.size() % 2 == 0 ? "a: cuBLASLt algorithm 1" : "b: emulated");
    return lines;
  };
  const RecordedGemms recorded = record_gemms(*cpu, {.cases = 10, .seed = 5}, {}, every_other);
  EXPECT_EQ(recorded.cases, 5);
  EXPECT_EQ(recorded.left_out, 5);
  EXPECT_EQ(nlohmann::json::parse(recorded.json)["cases"][0]["computed_by"], "a: cuBLASLt algorithm 1");
}

}  // namespace
}  // namespace shardcheck
