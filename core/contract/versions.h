// Versions: what lies in the bytes of an FP8 parameter (fp8 4.9), for every rank and byte range, without a
// value: the master's version that they were computed from, and where they come from. Ranges split where
// views cut them and move with the bytes. core/contract/life_rules.h moves them, op by op.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/contract/clocks.h"

namespace shardcheck {

/// What kind of number lies there.
enum class Held : std::uint8_t {
  nothing,  ///< undefined: fresh, freed, or poison
  number,   ///< written, but of no parameter: padding, zeros
  value,    ///< of the parameter in high precision
  amax,     ///< the largest magnitudes of what was measured
  scale,    ///< made from amaxes of the parameter
  codes,
  delayed,  ///< history or scale of delayed scaling
};
std::string_view name_of(Held held);

/// Where the bytes of a range come from. Two equal stamps with consecutive elements are one range.
struct Stamp {
  Held held = Held::nothing;
  bool is_from_codes = false;    ///< passed through FP8 and was decoded again
  bool is_derived = false;       ///< a column copy made out of the row copy
  bool is_tainted = false;       ///< a finding was reported here; what follows from it is not reported again
  DType precision = DType::f32;  ///< narrowest high-precision type that it passed
  recipe::Direction direction = recipe::Direction::row;
  std::int8_t recipe = -1;
  std::int32_t owner = -1;  ///< of codes: the rank that quantised them, if it is the one that holds them
  std::int32_t parameter = -1;
  std::int32_t tensor = 0;    ///< experts have one id and several tensors: rank modulo the number of tensors
  std::int32_t version = -1;  ///< in VersionTable; of `delayed`: the step that was closed
  std::int32_t measured = 0;  ///< in MeasuredSets, of an amax
  std::int32_t scaling = -1;  ///< in Scalings: which scales these are, or these codes were made by
  bool operator==(const Stamp&) const = default;
};

/// The last read on each stream.
using Reads = std::array<Moment, kStreams>;
inline constexpr Reads kUnread = {Moment{Stream::compute, -1}, Moment{Stream::reduce, -1},
                                  Moment{Stream::graph, -1}};

struct ByteRange {
  std::int64_t begin = 0, end = 0;  ///< in its buffer
  std::int64_t element = -1;        ///< of the parameter, at `begin`; -1 where it has none
  Stamp stamp;
  Moment written;
  Reads read = kUnread;

  std::int64_t element_at(std::int64_t offset) const { return element < 0 ? -1 : element + offset - begin; }
};

/// One buffer on one rank.
class ByteRanges {
 public:
  explicit ByteRanges(std::int64_t numel = 0) {
    if (numel > 0) ranges_.push_back({.end = numel});
  }
  /// The ranges inside [begin, end), cut to it. Valid until the next call.
  std::span<ByteRange> cut(std::int64_t begin, std::int64_t end);
  /// Replaces what `ranges` cover, which are consecutive, and joins what belongs together.
  void assign(std::span<const ByteRange> ranges);
  std::span<const ByteRange> all() const { return ranges_; }

 private:
  std::size_t border(std::int64_t at);
  std::vector<ByteRange> ranges_;
};

/// All tracked buffers on all ranks.
class VersionState {
 public:
  explicit VersionState(const Plan& plan);

  bool is_tracked(BufferId buffer) const { return is_tracked_[static_cast<std::size_t>(buffer.value)]; }
  std::span<ByteRange> at(Rank rank, View view) {
    return buffer(rank, view.buffer).cut(view.offset, view.offset + view.numel);
  }
  ByteRanges& buffer(Rank rank, BufferId id) {
    return buffers_[static_cast<std::size_t>(id.value) * static_cast<std::size_t>(ranks_) +
                    static_cast<std::size_t>(rank.value)];
  }

 private:
  std::int32_t ranks_;
  std::vector<bool> is_tracked_;
  std::vector<ByteRanges> buffers_;
};

/// Masters through time. A version is a row: the number of optimizer steps that made it, and from which it
/// was made.
class VersionTable {
 public:
  struct Version {
    std::int32_t parameter = 0, tensor = 0, steps = 0, before = -1, step = -1;
    OpIndex made_by{-1};
  };
  /// The version of the initial value; the same at every call.
  std::int32_t first(std::int32_t parameter, std::int32_t tensor);
  /// What an optimizer step in `step` makes of it; the pieces of all ranks become the same version.
  std::int32_t next(std::int32_t version, std::int32_t step, OpIndex op);
  /// True when `than` was made from `version` by optimizer steps.
  bool is_older(std::int32_t version, std::int32_t than) const;
  const Version& operator[](std::int32_t version) const { return rows_[static_cast<std::size_t>(version)]; }

 private:
  std::vector<Version> rows_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> first_;  // of a tensor of a parameter
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> next_;   // of a version, in a step
};

}  // namespace shardcheck
