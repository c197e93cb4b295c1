#include "backends/cuda/graphs.h"

#include <algorithm>

#include "core/error.h"

namespace shardcheck::gpu {
namespace {

bool is_same(const GraphWork& a, const GraphWork& b) {
  const auto is_same_range = [](const Range& x, const Range& y) {
    return x.data == y.data && x.dtype == y.dtype && x.numel == y.numel && x.gpu == y.gpu;
  };
  return is_same_action(a.action, b.action) && std::ranges::equal(a.operands, b.operands, is_same_range);
}

/// Streams that are being captured. What is open when it goes, as after an error, is thrown away.
class Capture {
 public:
  ~Capture() {
    for (const auto& [gpu, stream] : open_) {
      cudaGraph_t graph = nullptr;
      if (cudaStreamEndCapture(stream, &graph) == cudaSuccess) cudaGraphDestroy(graph);
    }
    if (!open_.empty()) cudaGetLastError();  // take the error off the thread: it is handled here
  }
  void begin(int gpu, cudaStream_t stream) {
    SC_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    open_.emplace(gpu, stream);
  }
  OwnedGraph end(int gpu) {
    cudaGraph_t graph = nullptr;
    const cudaStream_t stream = open_.at(gpu);
    open_.erase(gpu);
    SC_CHECK(cudaStreamEndCapture(stream, &graph));
    return OwnedGraph(graph);
  }

 private:
  std::map<int, cudaStream_t> open_;
};

}  // namespace

bool Graphs::run(Region region, const std::function<void()>& enqueue) {
  std::vector<Captured>& known = graphs_[region.graph];
  const auto found = std::ranges::find_if(
      known, [&](const Captured& graph) { return std::ranges::equal(graph.work, region.work, is_same); });
  if (found != known.end()) {
    launch(region, *found);
    ++counts_.replayed;
    return true;
  }
  try {
    Captured graph{region.work, capture(region, enqueue)};
    launch(region, graph);
    known.push_back(std::move(graph));
    ++counts_.captured;
    return true;
  } catch (const Error& error) {
    cudaGetLastError();
    not_captured(error.what());
    return false;
  }
}

std::map<int, OwnedGraphExec> Graphs::capture(const Region& region, const std::function<void()>& enqueue) {
  Capture capture;
  for (const int gpu : region.gpus) capture.begin(gpu, machine_.gpu(gpu).begin_op(region.stream));
  enqueue();
  std::map<int, OwnedGraphExec> graphs;
  for (const int gpu : region.gpus) {
    machine_.gpu(gpu).begin_op(region.stream);  // it becomes the current one
    const OwnedGraph graph = capture.end(gpu);
    cudaGraphExec_t executable = nullptr;
    SC_CHECK(cudaGraphInstantiate(&executable, graph.get(), 0));
    graphs.emplace(gpu, executable);
  }
  return graphs;
}

void Graphs::launch(const Region& region, const Captured& graph) {
  for (const auto& [gpu, executable] : graph.on)
    SC_CHECK(cudaGraphLaunch(executable.get(), machine_.gpu(gpu).begin_op(region.stream)));
}

}  // namespace shardcheck::gpu
