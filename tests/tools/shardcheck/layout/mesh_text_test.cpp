// Meshes as people write them, and what a wrong one is told.
#include "tools/shardcheck/layout/mesh_text.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace shardcheck {
namespace {

using layout::AxisUse;

std::string error_of(const std::string& text, std::int64_t world) {
  try {
    mesh_in(text, world, "--mesh");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MeshText, NamesSayWhatAnAxisDoes) {
  const MeshText mesh = mesh_in("dp_replicate=2,dp=64,tp=8,ep=4", 1024, "--mesh");
  EXPECT_EQ(mesh.mesh.ranks_along(AxisUse::replicate), 2);
  EXPECT_EQ(mesh.mesh.ranks_along(AxisUse::shard), 64);
  EXPECT_EQ(mesh.mesh.ranks_along(AxisUse::tensor), 8);
  EXPECT_EQ(mesh.expert, 4);
  EXPECT_EQ(to_text(mesh), "dp_replicate=2,dp=64,tp=8,ep=4");
  EXPECT_EQ(mesh_in("outer=2,inner=8", 0, "--mesh").mesh.ranks_along(AxisUse::shard), 16);
}

TEST(MeshText, AWrongOneIsToldWhatWouldBeRight) {
  EXPECT_EQ(error_of("dp=64,tp=2", 16384),
            "--mesh: dp=64,tp=2 is 128 ranks, and --world says 16,384; dp=8192,tp=2 would be right");
  EXPECT_NE(error_of("dp=4,tp=3", 16).find("no size of its sharding axis"), std::string::npos);
  EXPECT_NE(error_of("dp=6,ep=4", 0).find("does not divide them"), std::string::npos);
  EXPECT_NE(error_of("dp=2,dp=2", 0).find("twice"), std::string::npos);
  EXPECT_NE(error_of("pp=2", 0).find("pipeline"), std::string::npos);
  EXPECT_NE(error_of("dq=2", 0).find("did you mean"), std::string::npos);
  for (const char* wrong :
       {"", "dp", "dp=", "dp=0", "dp=-1", "dp=x", "dp=3000000000", "dp=2,", "dp=65536,cp=65536"})
    EXPECT_NE(error_of(wrong, 0), "") << wrong;
}

}  // namespace
}  // namespace shardcheck
