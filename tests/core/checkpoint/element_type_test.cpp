// Names of element types and back.
#include "core/checkpoint/element_type.h"

#include <gtest/gtest.h>

namespace shardcheck::checkpoint {
namespace {

TEST(ElementType, EveryTypeOfAPlanHasOneSpelling) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::e4m3, DType::e5m2, DType::u8}) {
    const ElementType* type = find_element_type(element_type_name(dtype));
    ASSERT_NE(type, nullptr);
    EXPECT_EQ(type->dtype, dtype);
    EXPECT_EQ(type->bits, 8 * bytes_of(dtype));
  }
}

TEST(ElementType, UnknownNames) {
  EXPECT_EQ(find_element_type("F12"), nullptr);
}

}  // namespace
}  // namespace shardcheck::checkpoint
