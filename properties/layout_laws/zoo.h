// The zoo of layouts: known bugs as small corruptions of a claim, a reshard plan or a checkpoint index, each
// with the smallest model that shows it and the law that must catch it (shard-layouts 6). Entries B... are of
// that catalogue; entries M... are ours, so that every judged law has a killer. Next: judge.h.
#pragma once

#include <span>
#include <string_view>

#include "core/checkpoint/sharded_index.h"
#include "properties/layout_laws/moves.h"

namespace shardcheck::laws {

struct LayoutFault {
  std::string_view id;     ///< "B27"
  std::string_view title;  ///< what goes wrong, one sentence
  std::string_view law;    ///< that must catch it
  Asked (*model)();        ///< the smallest model that shows it
  // Exactly one of these is not null.
  void (*corrupt_claim)(Claim& claim) = nullptr;
  void (*corrupt_index)(checkpoint::ShardedIndex& index) = nullptr;
  void (*corrupt_moves)(Moves& moves) = nullptr;  ///< to the same layout on three ranks
};

std::span<const LayoutFault> layout_zoo();

/// Null when there is none of that id.
const LayoutFault* find_layout_fault(std::string_view id);

/// The findings on the fault's model, with the fault switched on.
Findings findings_of(const LayoutFault& fault);

/// The same without the fault: nothing but declared quirks.
Findings findings_without(const LayoutFault& fault);

}  // namespace shardcheck::laws
