// Content classes of gradient bytes (wgrad 2.2) and their state, kept for every rank and every atom: a range
// that no view of the plan cuts. core/contract/class_rules.cpp moves them, op by op.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/contract/clocks.h"

namespace shardcheck {

/// Each byte of a destination is in exactly one class.
enum class Content : std::uint8_t {
  none,         ///< X: no storage
  undefined,    ///< UD
  zero,         ///< Z
  accumulated,  ///< A(n): contributions that must survive
  in_flight,    ///< L: handed to a collective that has not completed for this reader
  valid,        ///< V: reduced, for the consumer
  stale,        ///< S: the part of others after a reduce-scatter, or an earlier step's value
  parked,       ///< S: weights that a gather stages in the gradient buffer (wgrad 6.4)
};
std::string_view name_of(Content content);

/// What finalize has done to a gradient in this step; each happens once, in this order (W32).
enum Finalized : std::uint8_t {
  kSummed = 1,   ///< with the copy of another pipeline stage, or those of tensor-parallel ranks
  kDivided = 2,  ///< by the tokens, or by the late scale
  kClipped = 4,
  kHandedOver = 8,  ///< to the consumer
};

/// What is known about one atom on one rank.
struct Atom {
  Content content = Content::none;
  Content after = Content::none;  ///< in flight: what it becomes when the collective is done
  bool scaled = false;            ///< its contributions carry the scale already
  bool earlier_step = false;      ///< stale because a step ended
  bool outer = false;             ///< its contributions are summed over the outer groups too
  bool lease_open = false;
  std::uint8_t finalized = 0;  ///< a set of Finalized
  bool tainted = false;        ///< a finding was reported here: what follows from it is not reported again
  bool taken = true;           ///< a gradient that a replay returned: copied away, or folded
  std::uint16_t contributions = 0;
  Stream stream = Stream::compute;  ///< of the last write
  std::int32_t written = -1;        ///< position of the last write among the executed ops, -1: before them
};

/// The atoms of all destination buffers on all ranks, and which op of which stream each stream has waited
/// for.
class ContentState {
 public:
  explicit ContentState(const Plan& plan);

  /// First and one-past-last atom that `view` covers; the view must begin and end on atom borders.
  std::pair<std::int32_t, std::int32_t> atoms(View view) const;
  /// Offset of the atom inside its buffer.
  std::int64_t offset_of(std::int32_t atom) const { return offsets_[static_cast<std::size_t>(atom)]; }
  std::int32_t atoms_per_rank() const { return count_; }
  bool is_tracked(BufferId buffer) const { return first_[static_cast<std::size_t>(buffer.value)] >= 0; }

  Atom& at(Rank rank, std::int32_t atom) {
    return atoms_[static_cast<std::size_t>(rank.value) * static_cast<std::size_t>(count_) +
                  static_cast<std::size_t>(atom)];
  }

  /// True when `stream` of `rank` runs after the last write of `atom`.
  bool is_ordered(Rank rank, Stream stream, const Atom& atom) const {
    return clocks_.is_after(rank, stream, {atom.stream, atom.written});
  }
  /// An atom in flight whose collective is done for `stream` takes its class.
  void settle(Rank rank, Stream stream, Atom& atom) const {
    if (atom.content == Content::in_flight && is_ordered(rank, stream, atom)) atom.content = atom.after;
  }
  Clocks& clocks() { return clocks_; }

 private:
  std::int32_t count_ = 0;
  std::vector<std::int32_t> first_;    // a buffer: its first atom, -1 when the contract does not speak of it
  std::vector<std::int32_t> last_;     // a buffer: the atom that marks its end
  std::vector<std::int64_t> offsets_;  // an atom: its offset; each buffer ends with its size
  std::vector<Atom> atoms_;
  Clocks clocks_;
};

}  // namespace shardcheck
