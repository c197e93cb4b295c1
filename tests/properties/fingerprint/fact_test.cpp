#include "properties/fingerprint/fact.h"

#include <gtest/gtest.h>

#include <array>

namespace shardcheck {
namespace {

TEST(Fact, CodesHaveTheDigitsOfTheirType) {
  EXPECT_EQ(hex(DType::e4m3, 0x7), "0x07");
  EXPECT_EQ(hex(DType::bf16, 0x3F8), "0x03f8");
  EXPECT_EQ(hex(DType::f32, 1), "0x00000001");
}

TEST(Fact, ListsAreOfBytesOrOfCodes) {
  const std::array<std::byte, 4> bytes = {std::byte{0x80}, std::byte{0x3F}, std::byte{0}, std::byte{0x80}};
  const std::array<std::uint32_t, 2> codes = {0x3F80, 0x8000};
  const CodeList list = code_list("A", DType::bf16, bytes);
  EXPECT_EQ(list, code_list("A", DType::bf16, codes));
  EXPECT_EQ(list.codes, (std::vector<std::string>{"0x3f80", "0x8000"}));
  EXPECT_EQ(list.type, "bf16");
}

TEST(Fact, WithoutAValueItWasNotObserved) {
  EXPECT_FALSE((Fact{"s", "n", "", "why", {}}).is_observed());
  EXPECT_TRUE((Fact{"s", "n", "v", "how", {}}).is_observed());
}

}  // namespace
}  // namespace shardcheck
