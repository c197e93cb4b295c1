// Graphs: the regions of a plan that run as CUDA graphs. A region is captured when its graph is met first,
// and replayed wherever the same work meets the same addresses again; else it is captured anew, for the plan
// says what happens. What cannot be captured is enqueued op by op, and counted with the reason. Next:
// core/plan/graph_region.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/memory.h"
#include "core/plan/graph_region.h"

namespace shardcheck::gpu {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
struct DestroyGraphExec {
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using OwnedGraph = std::unique_ptr<CUgraph_st, DestroyGraph>;
using OwnedGraphExec = std::unique_ptr<CUgraphExec_st, DestroyGraphExec>;

/// What a graph is captured from: an op's action, and its operands on each rank of this process.
struct GraphWork {
  Action action;
  std::vector<Range> operands;
};

class Graphs {
 public:
  explicit Graphs(Machine& machine) : machine_(machine) {}

  /// A plan starts: the graphs of the last one are freed.
  void start() { graphs_.clear(); }

  struct Region {
    GraphId graph;
    Stream stream;
    std::vector<int> gpus;  ///< of this process, that have a part in it
    std::vector<GraphWork> work;
  };
  /// Replays the graph of the region, or captures it from what `enqueue` enqueues and launches it. False
  /// where it cannot be captured: then nothing has been enqueued.
  bool run(Region region, const std::function<void()>& enqueue);

  /// A region is about to be enqueued op by op.
  void not_captured(const std::string& reason) { ++counts_.op_by_op[reason]; }
  const GraphCounts& counts() const { return counts_; }

 private:
  struct Captured {
    std::vector<GraphWork> work;
    std::map<int, OwnedGraphExec> on;  ///< a GPU
  };
  std::map<int, OwnedGraphExec> capture(const Region& region, const std::function<void()>& enqueue);
  void launch(const Region& region, const Captured& graph);

  Machine& machine_;
  std::map<GraphId, std::vector<Captured>> graphs_;
  GraphCounts counts_;
};

}  // namespace shardcheck::gpu
