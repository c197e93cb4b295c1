#include "backends/graph_counts.h"

#include <fmt/format.h>

namespace shardcheck {

std::string to_text(const GraphCounts& counts) {
  std::string text = fmt::format("CUDA graphs: {} captured, {} replayed", counts.captured, counts.replayed);
  for (const auto& [reason, times] : counts.op_by_op)
    text += fmt::format(", {} executed op by op: {}", times, reason);
  return text;
}

}  // namespace shardcheck
