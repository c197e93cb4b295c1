#include "backends/cuda/cuda_backend.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include "backends/cuda/delay.h"
#include "backends/cuda/device_digests.h"
#include "backends/cuda/elementwise.h"
#include "backends/cuda/execute_op.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/mirror.h"
#include "core/assert.h"
#include "core/delaying.h"
#include "core/digest.h"
#include "core/error.h"

namespace shardcheck {
namespace {

class CudaBackend final : public Backend, public Digesting, public Delaying {
 public:
  explicit CudaBackend(const CudaOptions& options)
      : units_(options), digests_(units_.machine), graphs_(units_.machine) {}

  BackendInfo info() const override {
    return {"cuda", units_.machine.describe(), units_.machine.is_hopper() ? "hopper" : "unknown",
            units_.machine.gpus()};
  }
  bool holds(const Plan& plan, Rank rank) const override {
    return units_.machine.has(units_.memory.fold_of(plan).gpu_of(rank));
  }
  const std::vector<std::string>& algorithms() const { return units_.gemm.algorithms(); }
  const GraphCounts& graphs() const { return graphs_.counts(); }

  void execute(const Plan& plan, OpIndex first, OpIndex last) override;
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override;
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override;
  std::vector<std::uint64_t> digests(const Plan& plan, std::span<const Rank> ranks,
                                     std::span<const View> views) override;
  void hold_back(const std::optional<Delay>& delay) override { delay_ = delay; }

 private:
  void stand_still(const Plan& plan, Stream stream);
  std::string why_op_by_op(const Plan& plan, const GraphRegion& region, OpIndex last) const;
  bool run_graph(const Plan& plan, const GraphRegion& region, OpIndex last);

  gpu::Units units_;
  gpu::Mirror mirror_;
  gpu::DeviceDigests digests_;
  gpu::Graphs graphs_;
  std::optional<Delay> delay_;
};

void CudaBackend::execute(const Plan& plan, OpIndex first, OpIndex last) {
  SC_ASSERT(first.value >= 0 && first <= last && static_cast<std::size_t>(last.value) <= plan.ops.size(),
            "the plan has no such ops");
  mirror_.forget();
  if (first.value == 0) {
    units_.memory.start(plan);
    units_.events.start();
    graphs_.start();
  }
  for (std::int32_t i = first.value; i < last.value; ++i) {
    if (const auto region = region_at(plan, OpIndex{i}); region && run_graph(plan, *region, last)) {
      i = region->end;
      continue;
    }
    const Op& op = plan.ops[static_cast<std::size_t>(i)];
    if (delay_ && delay_->before.value == i) stand_still(plan, op.stream);
    gpu::execute_op(units_, plan, op);
    if (units_.machine.options().streams == StreamUse::serialised) units_.machine.await();
  }
  units_.memory.finish();
}

/// Why the region is not executed as a graph; empty where it can be.
std::string CudaBackend::why_op_by_op(const Plan& plan, const GraphRegion& region, OpIndex last) const {
  if (region.end >= last.value) return "it is executed in parts";
  if (units_.machine.options().streams == StreamUse::serialised) return "streams are serialised";
  return why_not_captured(plan, region);
}

/// The whole region, replayed or captured; false where it must be executed op by op.
bool CudaBackend::run_graph(const Plan& plan, const GraphRegion& region, OpIndex last) {
  const Op& end = plan.ops[static_cast<std::size_t>(region.end)];
  if (std::string reason = why_op_by_op(plan, region, last); !reason.empty()) {
    graphs_.not_captured(reason);
    return false;
  }
  // A replay is a unit: what is late in it makes all of it late.
  if (delay_ && delay_->before.value >= region.first - 1 && delay_->before.value <= region.end)
    stand_still(plan, end.stream);
  gpu::Graphs::Region graph{.graph = region.graph, .stream = end.stream};
  const Fold fold = units_.memory.fold_of(plan);
  std::set<int> gpus;
  for (Rank rank : plan.ranks_of(end)) {
    if (units_.machine.has(fold.gpu_of(rank))) gpus.insert(fold.gpu_of(rank));
  }
  graph.gpus.assign(gpus.begin(), gpus.end());
  const std::span<const Op> ops = std::span(plan.ops).subspan(
      static_cast<std::size_t>(region.first), static_cast<std::size_t>(region.end - region.first));
  for (const Op& op : ops) {
    graph.work.push_back(gpu::work_of(units_, plan, op));
    gpu::prepare_op(units_, plan, op);
  }
  return graphs_.run(std::move(graph), [&] {
    for (const Op& op : ops) gpu::execute_op(units_, plan, op);
  });
}

/// Holds the stream back, in front of the op of delay_.
void CudaBackend::stand_still(const Plan& plan, Stream stream) {
  const int gpu = units_.memory.fold_of(plan).gpu_of(delay_->rank);
  if (units_.machine.has(gpu)) gpu::launch_delay(delay_->length, units_.machine.gpu(gpu).begin_op(stream));
}

void CudaBackend::write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) {
  mirror_.forget();
  const bool is_new = units_.memory.allocate_for_write(plan, rank, view.buffer);
  const gpu::Range range = units_.memory.at(plan, rank, view);
  SC_ASSERT(std::ssize(bytes) == range.bytes(), "the bytes are not of the size of the view");
  const cudaStream_t stream = units_.machine.gpu(range.gpu).begin_host_work();
  if (is_new && view.numel < plan.buffer(view.buffer).numel) {
    const gpu::Range whole = units_.memory.at(plan, rank, {view.buffer, 0, plan.buffer(view.buffer).numel});
    gpu::Launch launch;
    launch.add(whole, whole);
    launch_fill(launch.table, bytes_of(whole.dtype), poison_bits(plan.poison, whole.dtype), stream);
  }
  // From pageable memory: the bytes are taken before the call returns.
  SC_CHECK(cudaMemcpyAsync(range.data, bytes.data(), bytes.size(), cudaMemcpyDefault, stream));
}

void CudaBackend::read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) {
  const gpu::Range range = units_.memory.at(plan, rank, view);
  SC_ASSERT(std::ssize(bytes) == range.bytes(), "the bytes are not of the size of the view");
  gpu::Gpu& gpu = units_.machine.gpu(range.gpu);
  if (!delay_) {
    const gpu::SlabPart slab = units_.memory.slab_of(plan, view.buffer, range);
    if (const std::byte* found = mirror_.find(range, slab, gpu); found != nullptr) {
      std::copy_n(found, bytes.size(), bytes.begin());
      return;
    }
    gpu.await();
  }
  const cudaStream_t stream = delay_ ? gpu.begin_op(Stream::compute) : gpu.begin_host_work();
  SC_CHECK(cudaMemcpyAsync(bytes.data(), range.data, bytes.size(), cudaMemcpyDefault, stream));
  SC_CHECK(cudaStreamSynchronize(stream));
}

std::vector<std::uint64_t> CudaBackend::digests(const Plan& plan, std::span<const Rank> ranks,
                                                std::span<const View> views) {
  SC_ASSERT(ranks.size() == views.size(), "a rank for every view");
  std::vector<gpu::Range> ranges;
  for (std::size_t i = 0; i < views.size(); ++i) ranges.push_back(units_.memory.at(plan, ranks[i], views[i]));
  return digests_.of(ranges);
}

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options) {
  if (const std::string missing = cuda_missing(); !missing.empty()) {
    throw Error(ErrorKind::machine_cannot, "cuda: " + missing);
  }
  return std::make_unique<CudaBackend>(options);
}

std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& options) {
  CudaOptions cuda = cuda_options_from_environment();
  if (options.comm_timeout) cuda.comm_timeout = *options.comm_timeout;
  return make_cuda_backend(cuda);
}

GraphCounts graph_counts(const Backend& backend) {
  const auto* cuda = dynamic_cast<const CudaBackend*>(&backend);
  return cuda == nullptr ? GraphCounts{} : cuda->graphs();
}

std::vector<std::string> gemm_algorithms(const Backend& backend) {
  const auto* cuda = dynamic_cast<const CudaBackend*>(&backend);
  return cuda == nullptr ? std::vector<std::string>{} : cuda->algorithms();
}

}  // namespace shardcheck
