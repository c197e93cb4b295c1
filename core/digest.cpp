#include "core/digest.h"

#include <cstring>

#include "core/assert.h"

namespace shardcheck {
namespace {

constexpr std::int64_t kWord = sizeof(std::uint64_t);

std::uint64_t word_at(const std::byte* from, std::int64_t size) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, static_cast<std::size_t>(size));
  return word;
}

}  // namespace

void Digest::add(std::span<const std::byte> bytes) {
  SC_ASSERT(numel_ * bytes_of(type_) == words_ * kWord,
            "only the last piece of a digest may end inside a word");
  numel_ += std::ssize(bytes) / bytes_of(type_);
  const NanLanes lanes = nan_lanes_of(type_);
  const std::int64_t whole = std::ssize(bytes) / kWord, rest = std::ssize(bytes) % kWord;
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < whole; ++i) {
    sum += digest_term(lanes.canonical_word(word_at(bytes.data() + i * kWord, kWord)), words_ + i);
  }
  if (rest > 0) {
    sum += digest_term(lanes.canonical_word(word_at(bytes.data() + whole * kWord, rest)), words_ + whole);
  }
  sum_ += sum;
  words_ += whole + (rest > 0 ? 1 : 0);
}

std::uint64_t digest_of(DType type, std::span<const std::byte> bytes) {
  Digest digest(type);
  digest.add(bytes);
  return digest.value();
}

}  // namespace shardcheck
