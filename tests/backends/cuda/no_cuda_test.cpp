#include <gtest/gtest.h>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/doctor.h"
#include "core/error.h"

namespace shardcheck {
namespace {

TEST(NoCuda, TheAbsenceHasAReasonAndIsThrown) {
  const std::string reason = cuda_missing();
  if (reason.empty()) GTEST_SKIP() << "this machine has the CUDA backend";
  EXPECT_TRUE(reason.starts_with("not built: ") || reason.find("NVIDIA GPU") != std::string::npos) << reason;
  EXPECT_THROW(make_cuda_backend({.profile = ""}), Error);
  EXPECT_FALSE(cuda_doctor().empty());
  EXPECT_FALSE(confirm_arithmetic().confirmed);
}

}  // namespace
}  // namespace shardcheck
