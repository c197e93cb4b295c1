#include <gtest/gtest.h>

#include "backends/cuda/cuda_backend.h"
#include "core/error.h"

namespace shardcheck {
namespace {

TEST(NoCuda, TheAbsenceHasAReasonAndIsThrown) {
  const std::string reason = cuda_missing();
  if (reason.empty()) GTEST_SKIP() << "this build has the CUDA backend";
  EXPECT_TRUE(reason.starts_with("not built: ")) << reason;
  EXPECT_THROW(make_cuda_backend({.profile = ""}), Error);
}

}  // namespace
}  // namespace shardcheck
