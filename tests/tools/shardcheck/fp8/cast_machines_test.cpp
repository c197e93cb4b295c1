// The two machines of the CPU on few inputs; the GPU's turn is a GPU test's.
#include "tools/shardcheck/fp8/cast_machines.h"

#include <gtest/gtest.h>

#include "backends/cuda/cuda_backend.h"
#include "core/error.h"

namespace shardcheck::fp8 {
namespace {

SweepOptions few() {
  return {.path = CastPath::fast, .begin = 0, .end = 5000, .threads = 1, .progress = {}};
}

TEST(CastMachines, TheCpuAndTheReferenceAgree) {
  const auto& machines = cast_machines();
  ASSERT_EQ(machines.size(), 3u);
  for (FormatId format : {FormatId::e4m3, FormatId::e3m2, FormatId::ue4m3}) {
    const auto casts = named_casts(format);
    const Certification cpu = machines[0].certify(casts, few()),
                        reference = machines[1].certify(casts, few());
    ASSERT_EQ(cpu.certified.size(), casts.size());
    for (std::size_t i = 0; i < casts.size(); ++i) {
      EXPECT_TRUE(cpu.certified[i].holds()) << casts[i].name;
      EXPECT_EQ(cpu.certified[i].wide.digest, reference.certified[i].wide.digest);
      EXPECT_EQ(cpu.certified[i].narrow.digest, reference.certified[i].narrow.digest);
    }
  }
}

TEST(CastMachines, ADigestAloneBreaksACertificate) {
  const auto casts = named_casts(FormatId::e4m3);
  Certified certified = cast_machines()[0].certify(std::span(casts).first(1), few()).certified[0];
  certified.wide.digest += 1;
  EXPECT_FALSE(certified.holds());
}

/// On a GPU: all inputs of every format and policy, with the definition's digests.
TEST(CastMachines, TheGpuSweepsEveryFormat) {
  std::vector<NamedCast> casts;
  for (const Format& format : kFormats) {
    for (const NamedCast& cast : named_casts(format.id)) casts.push_back(cast);
  }
  SweepOptions all = few();
  all.end = std::uint64_t{1} << 32;
  if (!cuda_missing().empty()) {
    EXPECT_THROW(cast_machines()[2].certify(casts, all), Error);
    return;
  }
  const Certification found = cast_machines()[2].certify(casts, all);
  ASSERT_EQ(found.certified.size(), casts.size());
  for (const Certified& each : found.certified)
    EXPECT_TRUE(each.holds()) << format_of(each.cast.format).name << " " << each.cast.name;
}

}  // namespace
}  // namespace shardcheck::fp8
