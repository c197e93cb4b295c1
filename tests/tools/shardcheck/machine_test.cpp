#include "tools/shardcheck/machine.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace shardcheck {
namespace {

TEST(Machine, TheProfileIsTheCpus) {
  EXPECT_EQ(make_machine({})->info().profile, "ideal");
  EXPECT_EQ(make_machine({.backend = "cpu", .profile = "hopper"})->info().profile, "hopper");
  EXPECT_TRUE(versions_of({}).empty());
  EXPECT_THROW(make_machine({.backend = "abacus", .profile = ""}), Error);
}

TEST(Machine, ALibrarysProductIsToldFromAnEmulatedOne) {
  EXPECT_TRUE(is_by_library("GPU 0: GEMM ...: cuBLASLt algorithm 66, tile 10"));
  EXPECT_FALSE(is_by_library("GPU 0: GEMM ...: emulated (profile hopper): cuBLASLt offers no algorithm"));
}

}  // namespace
}  // namespace shardcheck
