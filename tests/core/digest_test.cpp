// Digests agree with elementwise equality, piece by piece and whole, and are what their definition says.
#include "core/digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/numerics/same_code.h"

namespace shardcheck {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f16, DType::e4m3, DType::e5m2, DType::u8};

std::vector<std::byte> random_bytes(std::size_t size, std::mt19937_64& random) {
  std::vector<std::byte> bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

/// The definition in core/digest.h, word for word.
std::uint64_t by_definition(DType type, std::span<const std::byte> bytes) {
  const int size = bytes_of(type), per_word = 8 / size;
  const auto numel = std::ssize(bytes) / size;
  std::uint64_t sum = digest_term(static_cast<std::uint64_t>(numel), -1);
  for (std::int64_t word = 0; word * per_word < numel; ++word) {
    std::uint64_t packed = 0;
    for (int i = 0; i < per_word && word * per_word + i < numel; ++i) {
      const std::uint64_t code = canonical_code(type, code_at(type, bytes, word * per_word + i));
      packed |= code << (8 * size * i);
    }
    sum += digest_term(packed, word);
  }
  return sum;
}

TEST(Digest, IsItsDefinitionInPiecesToo) {
  std::mt19937_64 random(1);
  for (DType type : kTypes) {
    for (std::size_t numel : {0, 1, 3, 8, 9, 1023, 2048, 5001}) {
      const auto bytes = random_bytes(numel * static_cast<std::size_t>(bytes_of(type)), random);
      const std::uint64_t expected = by_definition(type, bytes);
      EXPECT_EQ(digest_of(type, bytes), expected) << name_of(type) << " " << numel;
      Digest pieces(type);
      const std::size_t cut = std::min<std::size_t>(bytes.size(), 8 * (random() % 600));
      pieces.add(std::span(bytes).first(cut / 8 * 8));
      pieces.add(std::span(bytes).subspan(cut / 8 * 8));
      EXPECT_EQ(pieces.value(), expected) << name_of(type) << " " << numel << " cut at " << cut;
    }
  }
}

TEST(Digest, AgreesWithElementwiseEquality) {
  std::mt19937_64 random(2);
  for (DType type : kTypes) {
    for (int round = 0; round < 400; ++round) {
      const auto size = static_cast<std::size_t>(bytes_of(type));
      auto a = random_bytes((1 + random() % 40) * size, random), b = a;
      const std::size_t at = random() % (a.size() / size) * size;
      if (round % 2 == 0) {  // two codes that may both be NaN
        for (auto* bytes : {&a, &b})
          for (std::size_t i = 0; i < size; ++i) (*bytes)[at + i] = static_cast<std::byte>(random() | 0x7C);
      } else {
        b[at + random() % size] ^= std::byte{0x80};
      }
      const bool same = differing(type, {a, b}).count == 0;
      EXPECT_EQ(digest_of(type, a) == digest_of(type, b), same) << name_of(type);
    }
  }
}

TEST(Digest, KnowsOrderLengthAndTheSignOfZero) {
  const std::uint32_t zero = 0, minus_zero = 0x80000000u;
  const std::vector<std::uint32_t> a = {1, 2, 3}, b = {2, 1, 3}, c = {1, 2}, d = {1, 2, 3, 0};
  std::set<std::uint64_t> digests;
  for (const auto* values : {&a, &b, &c, &d})
    digests.insert(digest_of(DType::f32, std::as_bytes(std::span(*values))));
  EXPECT_EQ(digests.size(), 4u);
  EXPECT_NE(digest_of(DType::f32, std::as_bytes(std::span(&zero, 1))),
            digest_of(DType::f32, std::as_bytes(std::span(&minus_zero, 1))));
}

TEST(Digest, TermsAreBijective) {
  std::set<std::uint64_t> terms;
  for (std::uint64_t word = 0; word < 50'000; ++word) terms.insert(digest_term(word, 7));
  EXPECT_EQ(terms.size(), 50'000u);
}

}  // namespace
}  // namespace shardcheck
