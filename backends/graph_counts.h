// GraphCounts: how a backend executed the parts of plans that are graphs (core/plan/graph_region.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace shardcheck {

struct GraphCounts {
  std::int64_t captured = 0;                     ///< and launched once, each
  std::int64_t replayed = 0;                     ///< launches of what had been captured before
  std::map<std::string, std::int64_t> op_by_op;  ///< why a region was not captured: how often
  bool has_any() const { return captured > 0 || replayed > 0 || !op_by_op.empty(); }
};

/// "CUDA graphs: 2 captured, 6 replayed, 1 executed op by op: streams are serialised".
std::string to_text(const GraphCounts& counts);

}  // namespace shardcheck
