#include "core/error.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

TEST(Error, CarriesItsSentenceAndWhoHasToAct) {
  const Error input = bad_input("a.json: $.ranks", "0 is too small");
  EXPECT_STREQ(input.what(), "a.json: $.ranks: 0 is too small");
  EXPECT_EQ(input.kind(), ErrorKind::bad_input);
  EXPECT_EQ(static_cast<int>(ErrorKind::bad_input), 2);
  EXPECT_EQ(static_cast<int>(ErrorKind::machine_cannot), 3);
}

}  // namespace
}  // namespace shardcheck
