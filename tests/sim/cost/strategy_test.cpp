// Every number of the tables of shard-layouts 5, as printed there.
#include "sim/cost/strategy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace shardcheck::cost {
namespace {

constexpr double kLlama8b = 8'030'261'248, kDeepSeek = 671'026'419'200;

std::string gigabytes(double bytes, int digits) {
  return fmt::format("{:.{}f}", bytes / 1e9, digits);
}

TEST(Strategy, KeepsWhatTheTableSays) {
  const Job at64{.elements = kLlama8b, .inner = 64};
  EXPECT_EQ(gigabytes(bytes_kept(Strategy::ddp, at64), 1), "144.5");
  EXPECT_EQ(gigabytes(bytes_kept(Strategy::zero1, at64), 1), "49.7");
  EXPECT_EQ(gigabytes(bytes_kept(Strategy::zero2, at64), 1), "18.1");
  EXPECT_EQ(gigabytes(bytes_kept(Strategy::zero3, at64), 2), "2.26");
  EXPECT_EQ(gigabytes(bytes_kept(Strategy::zero3, {.elements = kDeepSeek, .inner = 1024}), 1), "11.8");
  const Job on8x8{.elements = kLlama8b, .inner = 8, .outer = 8};
  EXPECT_EQ(gigabytes(bytes_kept(Strategy::hsdp, on8x8), 1), "18.1");
  EXPECT_EQ(gigabytes(bytes_kept(Strategy::hfsdp, on8x8), 1), "7.5");
}

TEST(Strategy, SendsWhatTheFormulasSay) {
  // N = 64, e_w = 2, e_g = 4, and worlds whose shares are exact: A(4) = 3/4, A(2) = 1/2.
  const Widths widths{.weight_wire = 2, .gradient_wire = 4};
  const Job flat{.elements = 64, .inner = 4, .microbatches = 3, .widths = widths};
  EXPECT_EQ(bytes_sent(Strategy::ddp, flat), 2 * 0.75 * 64 * 4);
  EXPECT_EQ(bytes_sent(Strategy::zero1, flat), 0.75 * 64 * 6);
  EXPECT_EQ(bytes_sent(Strategy::zero2, flat), 0.75 * 64 * (3 * 4 + 2));
  EXPECT_EQ(bytes_sent(Strategy::zero3, flat), 0.75 * 64 * 3 * (4 + 4));
  const Job mesh{.elements = 64, .inner = 4, .outer = 2, .microbatches = 3, .widths = widths};
  EXPECT_EQ(bytes_sent(Strategy::hsdp, mesh), 0.75 * 64 * 3 * 8 + 2 * 0.5 * 16 * 4);
  EXPECT_EQ(bytes_sent(Strategy::hfsdp, mesh), 0.75 * 64 * 3 * 8 + 0.5 * 16 * 6);
}

TEST(Strategy, QuantisedWeightsHaveTheirBytes) {
  EXPECT_EQ(find_storage("mxfp8")->weight, 2.0625);
  EXPECT_EQ(find_storage("mxfp8-one-way")->weight_wire, 1.03125);
  EXPECT_EQ(find_storage("fp8-128x128")->weight, 1 + 4.0 / 16384);
  EXPECT_EQ(find_storage("nvfp4")->weight, 0.5 + 1.0 / 16);
  EXPECT_EQ(find_storage("int3"), nullptr);
  EXPECT_EQ(name_of(Strategy::hfsdp), "HFSDP");
}

}  // namespace
}  // namespace shardcheck::cost
