#include "properties/cast_law/digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace shardcheck {
namespace {

std::uint32_t weight(std::uint32_t x) {
  return x * 0x9E3779B1u + 0x7F4A7C15u;
}

TEST(CastDigest, SumsOfWeightsAreThoseOfTheLoop) {
  std::uint64_t sum = 0;
  for (std::uint32_t x = 0; x < 100'000; ++x) {
    ASSERT_EQ(sum_of_weights(x), sum) << x;
    sum += weight(x);
  }
}

/// Far from zero, over a range that can be walked.
TEST(CastDigest, SumsOfWeightsHoldAtTheEnd) {
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 32, kBegin = kEnd - 1'000'000;
  std::uint64_t sum = 0;
  for (std::uint64_t x = kBegin; x < kEnd; ++x) sum += weight(static_cast<std::uint32_t>(x));
  EXPECT_EQ(sum_of_weights(kEnd) - sum_of_weights(kBegin), sum);
}

/// Parts add up, and one that can be walked is that of the loop: over the seam of the signs, in a format
/// without signs, and with codes of 16 bits.
TEST(CastDigest, PartsAreThoseOfTheLoop) {
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 32, kFrom = 0x7F7F0000u, kTo = 0x80010000u;
  for (FormatId format : {FormatId::e4m3, FormatId::e8m0, FormatId::ue4m3, FormatId::f16}) {
    const NamedCast cast = named_casts(format)[1];
    const NearestCode codes(cast);
    std::uint64_t digest = 0;
    for (std::uint64_t x = kFrom; x < kTo; ++x) {
      const auto bits = static_cast<std::uint32_t>(x);
      if (cast.takes(bits)) digest += std::uint64_t{weight(bits)} * (codes(bits) + 1u);
    }
    EXPECT_EQ(cast_digest(codes, {kFrom, kTo}), digest) << cast.name;
    EXPECT_EQ(cast_digest(codes, {0, kFrom}) + digest + cast_digest(codes, {kTo, kEnd}), cast_digest(codes));
  }
}

/// All 2^32 inputs one by one; minutes. SHARDCHECK_ALL_FP32=1 asks for it.
TEST(CastDigest, IsThatOfTheLoop) {
  if (std::getenv("SHARDCHECK_ALL_FP32") == nullptr) GTEST_SKIP() << "takes minutes: SHARDCHECK_ALL_FP32=1";
  const NearestCode codes(format_of(FormatId::e4m3), kNvSaturating);
  std::uint64_t digest = 0;
  for (std::uint64_t x = 0; x < std::uint64_t{1} << 32; ++x) {
    const auto bits = static_cast<std::uint32_t>(x);
    digest += std::uint64_t{weight(bits)} * (codes(bits) + 1u);
  }
  EXPECT_EQ(cast_digest(codes), digest);
}

bool same_codes(const NearestCode& a, const NearestCode& b) {
  const auto same = [](const NearestCode::Run& x, const NearestCode::Run& y) {
    return x.first == y.first && x.code[0] == y.code[0] && x.code[1] == y.code[1];
  };
  return std::equal(a.runs().begin(), a.runs().end(), b.runs().begin(), b.runs().end(), same);
}

/// Policies that no input tells apart in a format share a digest (E4M3 has one NaN for both NaN codes), and
/// no others do.
TEST(CastDigest, DiffersWhereTheCodesDo) {
  std::vector<NearestCode> all;
  for (FormatId format : {FormatId::e4m3, FormatId::e5m2}) {
    for (const NamedCastPolicy& named : kCastPolicies) all.emplace_back(format_of(format), named.policy);
  }
  int different = 0;
  for (const NearestCode& a : all) {
    for (const NearestCode& b : all) {
      EXPECT_EQ(cast_digest(a) == cast_digest(b), same_codes(a, b));
      different += same_codes(a, b) ? 0 : 1;
    }
  }
  EXPECT_GT(different, 150);
}

}  // namespace
}  // namespace shardcheck
