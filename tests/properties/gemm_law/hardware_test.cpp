// F66 on a GPU, through cuBLASLt and through our own kernels. SHARDCHECK_GEMM_CASES says how many cases.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "backends/cuda/cuda_backend.h"
#include "properties/gemm_law/run.h"

namespace shardcheck {
namespace {

class GemmLawGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = cuda_missing(); !missing.empty()) GTEST_SKIP() << missing;
  }
  static void expect_law(std::int64_t emulate_below, std::int64_t cases) {
    if (const char* wanted = std::getenv("SHARDCHECK_GEMM_CASES")) cases = std::atoll(wanted);
    CudaOptions options;
    options.gpus = 1;
    options.emulate_below = emulate_below;
    const auto cuda = make_cuda_backend(options);
    const GemmLawReport report = run_gemm_law(*cuda, {.seed = 1, .cases = cases});
    std::printf("%s", to_text(report).c_str());
    EXPECT_TRUE(report.findings.empty());
    for (const std::string& line : gemm_algorithms(*cuda)) std::printf("%s\n", line.c_str());
  }
};

TEST_F(GemmLawGpu, ByTheLibrary) {
  expect_law(0, 150);
}
TEST_F(GemmLawGpu, ByOurKernels) {
  expect_law(std::int64_t{1} << 62, 60);
}

}  // namespace
}  // namespace shardcheck
