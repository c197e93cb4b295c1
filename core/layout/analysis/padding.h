// Padding, attributed: every element of a buffer that belongs to no parameter, and the rule of the layout
// that put it there. Invariant: the attributed elements are all the padding there is and no more (tested for
// every layout over random models). Next: shard_bound.h, whether less was possible.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"

namespace shardcheck::layout {

/// Why an element is padding.
enum class PaddingRule : std::uint8_t {
  alignment,  ///< a tensor starts at a multiple of 64 elements or 16 bytes
  row,        ///< no row is cut: a start at a multiple of a row, or dimension 0 rounded up to W rows
  block,      ///< no block of rows is cut
  chunk,    ///< the last chunk of C elements of a tensor that nothing else filled (shard-layouts 2.5 to 2.7)
  balance,  ///< every shard is as long as the fullest one, and tensors are not cut
  bucket_end,  ///< a bucket is rounded up to what its shards ask for
  rank_tail,   ///< every rank's part is rounded up to the longest
};
inline constexpr int kPaddingRules = 7;
std::string_view name_of(PaddingRule rule);
/// One sentence: what the rule asks for.
std::string_view sentence_of(PaddingRule rule);

/// A range of a flat buffer without data.
struct Hole {
  std::int32_t bucket = 0;
  std::int64_t lo = 0, hi = 0;
  PaddingRule rule = PaddingRule::alignment;
  ParamId because{-1};  ///< the tensor that would have used or filled it; -1: none
};

/// Elements a rule, over all ranks; a replicated buffer counts once.
struct PaddingSums {
  std::array<std::int64_t, kPaddingRules> elements{};
  std::int64_t& operator[](PaddingRule rule) { return elements[static_cast<std::size_t>(rule)]; }
  std::int64_t operator[](PaddingRule rule) const { return elements[static_cast<std::size_t>(rule)]; }
  std::int64_t total() const;
};

/// What the attribution needs to know of the layout that made the buffer.
struct Attributed {
  std::string_view layout;  ///< name in the registry
  std::span<const Parameter> parameters;
  std::int64_t block_rows = 1;  ///< b of mfsdp-v2-block-atomic
};

/// The holes of a buffer that is flat, ascending; none for Cut::per_parameter and Cut::mesh, whose padding is
/// behind each tensor in every rank. Cost: linear in the slots.
std::vector<Hole> holes_of(const Buffer& buffer, const Attributed& of);

/// Padding by rule. Throws Error when a size does not fit 64 bits.
PaddingSums padding_of(const Buffer& buffer, const Attributed& of);

/// All padding of a buffer, from its sizes alone: what padding_of adds up to.
std::int64_t padding_in(const Buffer& buffer);

/// Real elements of a buffer, each once.
std::int64_t payload_of(const Buffer& buffer);

/// The padding behind one tensor in all ranks together, under Cut::per_parameter.
std::int64_t padding_behind(const Buffer& buffer, const Slot& slot);

}  // namespace shardcheck::layout
