// The digest is FNV-1a as the records define it.
#include "core/layout/digest.h"

#include <gtest/gtest.h>

#include "tests/core/layout/notation.h"

namespace shardcheck::layout {
namespace {

TEST(Digest, OfNothingAndOfOneNumber) {
  EXPECT_EQ(hexadecimal(Fnv1a{}.value()), "cbf29ce484222325");
  Fnv1a hash;
  hash.add(0);
  // Eight zero bytes: eight multiplications by the prime.
  std::uint64_t expected = 0xcbf29ce484222325ULL;
  for (int i = 0; i < 8; ++i) expected *= 0x100000001b3ULL;
  EXPECT_EQ(hash.value(), expected);
}

// Recorded digests of an empty buffer over one and over two ranks.
TEST(Digest, OfAnEmptyBuffer) {
  Buffer buffer{.world = 1, .buckets = {{0, 0, 0}}};
  EXPECT_EQ(hexadecimal(digest_of(buffer)), "81d23fd7003c2305");
  buffer.world = 2;
  EXPECT_EQ(hexadecimal(digest_of(buffer)), "79f5eb1e5f6eec84");
}

}  // namespace
}  // namespace shardcheck::layout
