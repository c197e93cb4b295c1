#include "backends/cuda/doctor.h"

#include "tests/backends/cuda/twins.h"

namespace shardcheck {
namespace {

using Doctor = OnGpu;

TEST_F(Doctor, NamesGpusAndVersions) {
  std::string text;
  for (const std::string& line : cuda_doctor()) text += line + "\n";
  for (const char* word : {"GPU 0", "driver", "cuBLASLt", "NCCL"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
}

TEST_F(Doctor, AHopperConfirmsItsArithmetic) {
  if (make_cuda_backend(one_gpu())->info().profile != "hopper") GTEST_SKIP() << "no Hopper GPU";
  const ArithmeticConfirmation confirmation = confirm_arithmetic();
  std::string text;
  for (const std::string& line : confirmation.lines) text += line + "\n";
  EXPECT_TRUE(confirmation.confirmed) << text;
}

}  // namespace
}  // namespace shardcheck
