// All 2^32 fp32 numbers through a GPU's conversion instructions, and Cast ops on a sample of them.
#include <gtest/gtest.h>

#include <cstdio>

#include "backends/cuda/cast_sweep.h"
#include "backends/cuda/cuda_backend.h"
#include "core/numerics/cast_policy.h"
#include "properties/cast_law/cast_law.h"

namespace shardcheck {
namespace {

std::string all_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += finding.clause + ": " + finding.sentence + "\n";
  return text;
}

TEST(CastLawGpu, AllInputsThroughTheHardware) {
  if (const std::string missing = cuda_missing(); !missing.empty()) GTEST_SKIP() << missing;
  double milliseconds[2][kCastPolicies.size()] = {};
  const auto findings = all_fp32_casts(CastSweeper([&](DType destination, std::int8_t policy) {
    const NamedCast cast = named_casts(*format_id_of(destination))[static_cast<std::size_t>(policy)];
    sweep_fp32_casts({&cast, 1});  // the first call loads the kernel
    const CastSweep swept = sweep_fp32_casts({&cast, 1})[0];
    milliseconds[destination == DType::e5m2][policy] = swept.milliseconds;
    return SweptCasts{swept.differences, swept.input, static_cast<std::uint8_t>(swept.by_rule),
                      static_cast<std::uint8_t>(swept.by_machine), swept.digest};
  }));
  EXPECT_EQ(all_of(findings), "");
  for (std::size_t policy = 0; policy < kCastPolicies.size(); ++policy) {
    std::printf("all fp32 casts by %s: e4m3 %.2f ms, e5m2 %.2f ms\n", kCastPolicies[policy].name.data(),
                milliseconds[0][policy], milliseconds[1][policy]);
  }
  EXPECT_LT(milliseconds[0][0] + milliseconds[1][0], 50.0);
}

TEST(CastLawGpu, CastOpsFollowTheLaw) {
  if (const std::string missing = cuda_missing(); !missing.empty()) GTEST_SKIP() << missing;
  CudaOptions options;
  options.gpus = 1;
  const auto cuda = make_cuda_backend(options);
  EXPECT_EQ(all_of(all_fp32_casts(*cuda, {65'537})), "");
}

}  // namespace
}  // namespace shardcheck
