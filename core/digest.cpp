#include "core/digest.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/assert.h"
#include "core/numerics/same_code.h"

namespace shardcheck {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kBlockWords = 512;  // 4 KiB: stays in the first cache between the two loops
using Block = std::array<std::uint64_t, kBlockWords>;

template <class Code>
void make_canonical(DType type, Block& block) {
  const NanRule rule = nan_rule_of(type);
  const auto mask = static_cast<Code>(rule.magnitude_mask), limit = static_cast<Code>(rule.limit),
             canonical = static_cast<Code>(rule.canonical);
  std::array<Code, kBlockWords * kWord / sizeof(Code)> codes;
  std::memcpy(codes.data(), block.data(), sizeof(block));
  for (Code& code : codes) code = static_cast<Code>(code & mask) > limit ? canonical : code;
  std::memcpy(block.data(), codes.data(), sizeof(block));
}

void make_canonical(DType type, Block& block) {
  switch (bytes_of(type)) {
    case 4: return make_canonical<std::uint32_t>(type, block);
    case 2: return make_canonical<std::uint16_t>(type, block);
    default: return make_canonical<std::uint8_t>(type, block);
  }
}

}  // namespace

void Digest::add(std::span<const std::byte> bytes) {
  SC_ASSERT(numel_ * bytes_of(type_) == words_ * static_cast<std::int64_t>(kWord),
            "only the last piece of a digest may end inside a word");
  numel_ += std::ssize(bytes) / bytes_of(type_);
  Block block;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(block)) {
    const std::size_t size = std::min(sizeof(block), bytes.size() - at);
    const std::size_t words = (size + kWord - 1) / kWord;
    if (size < sizeof(block)) block.fill(0);
    std::memcpy(block.data(), bytes.data() + at, size);
    make_canonical(type_, block);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < words; ++i)
      sum += digest_term(block[i], words_ + static_cast<std::int64_t>(i));
    sum_ += sum;
    words_ += static_cast<std::int64_t>(words);
  }
}

std::uint64_t digest_of(DType type, std::span<const std::byte> bytes) {
  Digest digest(type);
  digest.add(bytes);
  return digest.value();
}

}  // namespace shardcheck
