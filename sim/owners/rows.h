// Rows of the owners' state machines (wgrad 3): what an owner can do in a step, and what each strategy's
// table calls it. Owners note every row that they take (Job::take), so that a search can say which rows it
// has been in; a row that no case reached is a gap.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sim/scenario/scenario.h"

namespace shardcheck {

/// One kind of transition. Which state it leaves and what triggers it is the strategy's own.
enum class Row : std::uint8_t {
  zero,              ///< the accumulator is zeroed at the begin of a step
  replace,           ///< the first reduced gradient of a step replaces what the accumulator held
  add,               ///< a later one is added
  open,              ///< a temporary destination begins a lease
  open_recycled,     ///< in storage that an earlier lease used
  write_first,       ///< a producer's write onto a destination without a contribution
  write_again,       ///< and onto one that has some
  hook_drop,         ///< the hook drops a placeholder
  hook_add,          ///< the hook adds a real gradient
  hook_copy,         ///< the hook copies a real gradient: the first touch
  hook_nothing,      ///< the hook finds nothing
  fill_silent,       ///< ranges that nobody touched are zero-filled before the reduction
  launch,            ///< all parameters of a bucket are ready: its reduction starts in backward
  launch_leftover,   ///< a bucket that never became ready is reduced at the end of backward
  launch_in_finish,  ///< reductions of a persistent owner that start when the step ends
  skip_sync,         ///< a backward without a reduction: sums stay where they are
  no_collective,     ///< a group of size one reduces nothing
  stage,             ///< through a communication buffer in another type
  stage_weights,     ///< weights are gathered through the gradient buffer
  outer,             ///< the outer reduction of the last microbatch
  outer_every,       ///< the outer reduction of every microbatch
  gather_weights,    ///< a unit's weights are gathered and become whole
  keep_weights,      ///< and are left whole for a later pass
  reshard,           ///< and are given up but for the own piece
  offload,           ///< a reduced gradient is moved to the host
  rewrite_flags,     ///< an unshard rewrites today's flags
  sum_tied,          ///< finalize sums the copies of a weight that two pipeline stages have
  sum_tensor,        ///< finalize sums the copies of a parameter that tensor-parallel ranks have
  divide,            ///< finalize divides the reduced gradient
  clip,              ///< finalize clips the reduced gradient
  finish,            ///< the step's gradients become readable
};
inline constexpr int kRows = 31;

using RowSet = std::bitset<kRows>;

/// A row as the table of its strategy has it.
struct OwnerRow {
  Strategy strategy;
  Row row;
  std::string_view state;  ///< "G3", of the specification's table
  std::string_view event;
  std::string_view effect;
};

/// All rows of all strategies, by strategy.
std::span<const OwnerRow> owner_rows();

/// What the owner keeps and when it reduces, in a line.
std::string_view describe(Strategy strategy);

/// "deepspeed-2 Q1: later backward, the partition list is added to".
std::string describe(const OwnerRow& row);

}  // namespace shardcheck
