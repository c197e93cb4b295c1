// The first op at which an element's state is wrong. Three witnesses, in the order of the plan: the monitor,
// who judges the plan; the reference (the same job by R5, without the fault), whose history is laid beside
// this one op by op, by what each op is for; and, where the plan is right, ideal arithmetic, which the
// backend's numbers must follow.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "properties/diagnosis/history.h"

namespace shardcheck {

struct FirstWrong {
  std::optional<OpIndex> last_right;  ///< the write of these bytes before it
  std::optional<OpIndex> first_wrong;
  std::string sentence;  ///< how it is known; empty when nothing is wrong
};

/// The two histories laid beside each other on `ranks`. It says "differs", "is not in the reference", or what
/// the reference does and this plan never does.
FirstWrong compare_with_reference(const Subject& subject, std::span<const Rank> ranks);

/// The first event whose number is not the one that ideal arithmetic gives.
FirstWrong compare_with_arithmetic(const Subject& subject, std::span<const ByteEvent> events);

/// All three. `found` is the finding's own op, where the monitor made it, or -1.
FirstWrong first_wrong(const Subject& subject, std::span<const Rank> ranks, std::span<const ByteEvent> events,
                       OpIndex found);

}  // namespace shardcheck
