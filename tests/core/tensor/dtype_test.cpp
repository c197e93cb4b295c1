#include "core/tensor/dtype.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

TEST(DType, NamesRoundTrip) {
  for (DType type : {DType::f32, DType::bf16, DType::f16, DType::e4m3, DType::e5m2, DType::u8})
    EXPECT_EQ(dtype_named(name_of(type)), type);
  for (const char* name : {"", "f64", "F32", "bf16 "}) EXPECT_EQ(dtype_named(name), std::nullopt) << name;
}

TEST(DType, Bytes) {
  EXPECT_EQ(bytes_of(DType::f32), 4);
  EXPECT_EQ(bytes_of(DType::bf16), 2);
  EXPECT_EQ(bytes_of(DType::f16), 2);
  for (DType type : {DType::e4m3, DType::e5m2, DType::u8}) EXPECT_EQ(bytes_of(type), 1);
}

}  // namespace
}  // namespace shardcheck
