// The sections that `shardcheck layout` prints, each a text for a terminal of some width: what lies where,
// why it is padded, which blocks are cut, what another layout would move, and what it costs. Next: json.h and
// page.h say the same to scripts and browsers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/layout/analysis/straddle.h"
#include "core/layout/analysis/traffic.h"
#include "sim/cost/collectives.h"
#include "tools/shardcheck/layout/kinds.h"
#include "tools/shardcheck/layout/question.h"
#include "tools/shardcheck/terminal.h"

namespace shardcheck {

/// A layout that has been made, with its kinds.
struct Answered {
  Question question;
  layout::Layout layout;
  std::vector<Kind> kinds;
};

/// Makes the layout and folds it. Throws as layout::layout_named.
Answered answered(Question question);

/// Sums over a layout; elements count all ranks.
struct Sizes {
  std::int64_t tensors = 0, payload = 0, padded = 0, padding = 0;
  std::int64_t most_held = 0;  ///< elements of the fullest rank
  std::int64_t cut = 0;        ///< tensors on more than one rank
};
Sizes sizes_of(const Answered& answered);
Sizes sizes_of(const Answered& answered, const Kind& kind);  ///< of all its places

/// Ranks of a bucket that hold no element of any tensor.
std::int64_t empty_ranks(const layout::Layout& layout, Place place);

/// The summary: one row for each kind of bucket, and the first ranks of the largest kind.
std::string summary_text(const Answered& answered, const Terminal& terminal);

/// Everything that one rank of the mesh holds, kinds folded.
std::string rank_text(const Answered& answered, Rank rank, const Terminal& terminal);

/// Which ranks hold which rows of one tensor. Throws Error(bad_input) for an unknown name.
std::string tensor_text(const Answered& answered, const std::string& name, const Terminal& terminal);

/// --why: padding by rule, the least possible, and what each rule costs.
std::string why_text(const Answered& answered, const Terminal& terminal);

/// Blocks of tensors that differ in numbers only and are cut as often.
struct StraddleRow {
  std::string tensor;  ///< folded
  ParamId example;     ///< the tensor of the first place
  std::int64_t tensors = 0;
  layout::Straddle each;
  std::vector<layout::SharedBlocks> groups;  ///< of the example, the first ones
  std::int64_t most_ranks = 0;               ///< that share one block of the example
};

/// Of the matrices that recipes quantise, or of all matrices when there are none. Throws Error(bad_input) for
/// a 1 x 32 or 32 x 1 block that does not divide a tensor.
std::vector<StraddleRow> straddles_of(const Answered& answered, layout::BlockShape shape);
std::string blocks_text(const std::vector<StraddleRow>& rows, layout::BlockShape shape,
                        const Terminal& terminal);

/// --diff: two layouts of one model side by side, and the reshard between them.
std::string difference_text(const Answered& from, const Answered& to, const layout::TrafficReport& traffic,
                            const Terminal& terminal);

/// The constants of --cost.
struct PriceFlags {
  cost::Network network;
  std::int64_t microbatches = 1;
  std::vector<std::string> storages;  ///< names of cost::storages(); empty: bf16 and mxfp8
};

struct Price {
  std::string strategy, storage;
  double kept = 0;     ///< bytes a rank
  double sent = 0;     ///< bytes a rank and step
  double seconds = 0;  ///< of all collectives of a step, one after another
};

/// Every strategy with every storage over the padded elements of this layout, experts in their own groups.
/// Throws Error(bad_input) for an unknown storage.
std::vector<Price> prices_of(const Answered& answered, const PriceFlags& flags);
std::string cost_text(const Answered& answered, const std::vector<Price>& prices, const PriceFlags& flags,
                      const Terminal& terminal);

/// "0.12 %", "7.7 %", "331 %", "0".
std::string share_text(std::int64_t part, std::int64_t whole);

/// "1.2 GB", "436 MB", "12 B".
std::string bytes_text(double bytes);

}  // namespace shardcheck
