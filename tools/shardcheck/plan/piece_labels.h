// Piece labels: pieces that lie alike get one name, so that 126 equal layers are one row of a plan. Next:
// model_plan.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/cost/pieces.h"
#include "tools/shardcheck/layout/question.h"

namespace shardcheck {

struct PieceLabels {
  std::vector<std::string> names;     ///< of a kind: "layers 0-125"
  std::vector<std::int32_t> kind_of;  ///< of a piece
};

/// At most `most` kinds; where pieces differ more than that, as buckets that cut through layers do, all of
/// them are one kind, experts apart.
PieceLabels label_pieces(const Question& question, std::span<const cost::Piece> pieces, std::size_t most);

}  // namespace shardcheck
