// Sweeps over parts of the inputs: the CPU's casts hold, a digest is that of the loop, and a wrong cast is
// seen. All 2^32 are the business of `shardcheck fp8 certify`.
#include "properties/cast_law/certificate.h"

#include <gtest/gtest.h>

#include "properties/cast_law/digest.h"
#include "properties/cast_law/nearest_code.h"

namespace shardcheck {
namespace {

constexpr std::uint64_t kAll = std::uint64_t{1} << 32;

std::vector<NamedCast> all_casts() {
  std::vector<NamedCast> casts;
  for (const Format& format : kFormats) {
    for (const NamedCast& cast : named_casts(format.id)) casts.push_back(cast);
  }
  return casts;
}

SweepOptions part(CastPath path, std::uint64_t begin, std::uint64_t end) {
  return {.path = path, .begin = begin, .end = end, .threads = 2, .progress = {}};
}

/// Around the seam of the signs, the overflow of E4M3, and the end: positive and negative, NaNs among them.
TEST(Certificate, EveryCastHoldsOnParts) {
  std::vector<SweptCast> casts;
  for (const NamedCast& cast : all_casts()) casts.emplace_back(cast);
  const std::pair<std::uint64_t, std::uint64_t> parts[] = {{0, 3000},
                                                           {0x3F7FF000u, 0x3F811234u},
                                                           {0x43E7F000u, 0x43E80FFFu},
                                                           {0x7F7FF001u, 0x80000123u},
                                                           {kAll - 5000, kAll}};
  for (const auto& [begin, end] : parts) {
    for (CastPath path : {CastPath::fast, CastPath::readable}) {
      const auto seen = sweep_fp32(casts, part(path, begin, end));
      ASSERT_EQ(seen.size(), casts.size());
      for (std::size_t i = 0; i < casts.size(); ++i) {
        EXPECT_EQ(seen[i].differences, 0u) << casts[i].cast.name << " " << std::hex << seen[i].input;
        if (casts[i].cast.format == FormatId::ue4m3) continue;
        EXPECT_EQ(seen[i].inputs, end - begin);
      }
    }
  }
}

TEST(Certificate, ADigestIsThatOfTheCodes) {
  const NamedCast cast = named_casts(FormatId::e5m2).front();
  constexpr std::uint64_t kBegin = 0x476F0000u, kEnd = 0x4770FFFFu;
  std::uint64_t digest = 0;
  for (std::uint64_t input = kBegin; input < kEnd; ++input) {
    const auto bits = static_cast<std::uint32_t>(input);
    digest += std::uint64_t{bits * 0x9E3779B1u + 0x7F4A7C15u} * (cast.code_of(bits) + 1u);
  }
  const SweptCast swept(cast);
  EXPECT_EQ(sweep_fp32(std::span(&swept, 1), part(CastPath::fast, kBegin, kEnd))[0].digest, digest);
  // Held against another definition the codes are the same, and so is their digest.
  const SweptCast misjudged(cast, named_casts(FormatId::e5m2)[1]);
  const auto seen = sweep_fp32(std::span(&misjudged, 1), part(CastPath::fast, kBegin, kEnd));
  EXPECT_EQ(seen[0].digest, digest);
  EXPECT_EQ(seen[0].differences, kEnd - 0x47700000u);  // nv_nosat overflows from 61440
  EXPECT_EQ(seen[0].input, 0x47700000u);
  EXPECT_EQ(seen[0].expected, 0x7Cu);
  EXPECT_EQ(seen[0].actual, 0x7Bu);
}

TEST(Certificate, A16BitCastThatErrsIsSeen) {
  const NamedCast cast = named_casts(FormatId::e4m3).front();
  const auto honest = [&](DType source) { return codes_of_16_bit(cast, CastPath::fast, source); };
  const CastCertificate held = certify_16_bit(cast, honest);
  EXPECT_EQ(held.inputs, 131072u);
  EXPECT_EQ(held.differences, 0u);
  const CastCertificate seen = certify_16_bit(cast, [&](DType source) {
    auto codes = honest(source);
    if (source == DType::f16) codes[0x3C00] ^= 1;  // 1.0
    return codes;
  });
  EXPECT_EQ(seen.differences, 1u);
  EXPECT_EQ(seen.input, 0x3F800000u);
  EXPECT_EQ(seen.expected, 0x38u);
  EXPECT_EQ(seen.actual, 0x39u);
  EXPECT_EQ(seen.digest - held.digest, std::uint64_t{(0x10000u + 0x3C00u) * 0x9E3779B1u + 0x7F4A7C15u});
}

TEST(Certificate, EveryCastOf16BitNumbersHolds) {
  for (const NamedCast& cast : all_casts()) {
    for (CastPath path : {CastPath::fast, CastPath::readable}) {
      const auto seen =
          certify_16_bit(cast, [&](DType source) { return codes_of_16_bit(cast, path, source); });
      EXPECT_EQ(seen.differences, 0u) << cast.name << " " << std::hex << seen.input;
    }
  }
}

TEST(Certificate, AStoppedSweepSaysFewerInputs) {
  const std::atomic<bool> stop = true;
  const SweptCast swept(named_casts(FormatId::e4m3).front());
  SweepOptions options = part(CastPath::fast, 0, kAll);
  options.stop = &stop;
  EXPECT_EQ(sweep_fp32(std::span(&swept, 1), options)[0].inputs, 0u);
}

}  // namespace
}  // namespace shardcheck
