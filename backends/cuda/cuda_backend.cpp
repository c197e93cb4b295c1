#include "backends/cuda/cuda_backend.h"

#include <algorithm>
#include <span>

#include "backends/cpu/casts.h"
#include "backends/cuda/block_unit.h"
#include "backends/cuda/casts.h"
#include "backends/cuda/collectives.h"
#include "backends/cuda/delay.h"
#include "backends/cuda/device_digests.h"
#include "backends/cuda/elementwise.h"
#include "backends/cuda/fp8_edges.h"
#include "backends/cuda/gemm.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/mirror.h"
#include "backends/cuda/plan_events.h"
#include "backends/protocol_event.h"
#include "core/assert.h"
#include "core/delaying.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/integers.h"

namespace shardcheck {
namespace {

class CudaBackend final : public Backend, public Digesting, public Delaying {
 public:
  explicit CudaBackend(const CudaOptions& options)
      : machine_(options), memory_(machine_), digests_(machine_), gemm_(options), collectives_(machine_) {}

  BackendInfo info() const override {
    return {"cuda", machine_.describe(), machine_.is_hopper() ? "hopper" : "unknown", machine_.gpus()};
  }
  bool holds(const Plan& plan, Rank rank) const override {
    return machine_.has(memory_.fold_of(plan).gpu_of(rank));
  }
  const std::vector<std::string>& algorithms() const { return gemm_.algorithms(); }

  void execute(const Plan& plan, OpIndex first, OpIndex last) override;
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override;
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override;
  std::vector<std::uint64_t> digests(const Plan& plan, std::span<const Rank> ranks,
                                     std::span<const View> views) override;
  void hold_back(const std::optional<Delay>& delay) override { delay_ = delay; }

 private:
  struct Run;
  void stand_still(const Plan& plan, Stream stream);

  gpu::Machine machine_;
  gpu::Memory memory_;
  gpu::Mirror mirror_;
  gpu::DeviceDigests digests_;
  gpu::GemmUnit gemm_;
  gpu::CollectiveUnit collectives_;
  gpu::PlanEvents events_;
  std::optional<Delay> delay_;
};

/// Enqueues one op: what each kind of action means on the op's ranks.
struct CudaBackend::Run {
  CudaBackend& self;
  const Plan& plan;
  const Op& op;

  Rank rank(std::size_t i) const { return plan.ranks_of(op)[i]; }
  /// Operand `operand` on the i-th rank of the op.
  gpu::Range range(int operand, std::size_t i) const {
    SC_ASSERT(operand < op.operands, "an op lacks an operand");
    return self.memory_.at(plan, rank(i), plan.operand(op, operand)[i]);
  }

  /// Calls body(gpu index, positions of the op's ranks on it), at most kRanksPerLaunch positions a call.
  template <class Body>
  void on_each_gpu(Body body) const {
    const Fold fold = self.memory_.fold_of(plan);
    std::vector<std::size_t> positions;
    for (int gpu = 0; gpu < fold.gpus; ++gpu) {
      if (!self.machine_.has(gpu)) continue;
      for (std::size_t i = 0; i < static_cast<std::size_t>(op.ranks); ++i) {
        if (fold.gpu_of(rank(i)) != gpu) continue;
        positions.push_back(i);
        if (positions.size() == gpu::kRanksPerLaunch) {
          body(gpu, std::span<const std::size_t>(positions));
          positions.clear();
        }
      }
      if (!positions.empty()) body(gpu, std::span<const std::size_t>(positions));
      positions.clear();
    }
  }
  cudaStream_t begin_on(int gpu) const { return self.machine_.gpu(gpu).begin_op(op.stream); }

  /// An op that changes operand 0 alone.
  template <class Enqueue>
  void in_place(Enqueue enqueue) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      gpu::Launch launch;
      for (std::size_t i : positions) launch.add(range(0, i), range(0, i));
      enqueue(launch, begin_on(gpu));
    });
  }
  /// An op that reads operand 0 and changes operand 1.
  template <class Enqueue>
  void source_to(Enqueue enqueue) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      const std::vector<gpu::Range> sources = apart_from_destinations(gpu, positions);
      gpu::Launch launch;
      for (std::size_t n = 0; n < positions.size(); ++n) launch.add(sources[n], range(1, positions[n]));
      enqueue(launch, begin_on(gpu));
    });
  }
  std::vector<gpu::Range> apart_from_destinations(int gpu, std::span<const std::size_t> positions) const;
  void fill_with_poison(const gpu::Launch& launch, cudaStream_t stream) const {
    const DType type = launch.types.destination;
    launch_fill(launch.table, bytes_of(type), poison_bits(plan.poison, type), stream);
  }
  void poison() const {
    in_place([&](const gpu::Launch& launch, cudaStream_t stream) { fill_with_poison(launch, stream); });
  }

  /// The poison of a fresh buffer is no op of the plan's streams: everything later comes after it.
  void operator()(const Allocate&) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      for (std::size_t i : positions) self.memory_.allocate(plan, rank(i), plan.operand(op, 0)[i].buffer);
      gpu::Launch launch;
      for (std::size_t i : positions) {
        const BufferId id = plan.operand(op, 0)[i].buffer;
        const gpu::Range whole = self.memory_.at(plan, rank(i), {id, 0, plan.buffer(id).numel});
        launch.add(whole, whole);
      }
      fill_with_poison(launch, self.machine_.gpu(gpu).begin_host_work());
    });
  }
  void operator()(const Undefine&) const { poison(); }
  void operator()(const OpenLease&) const { poison(); }
  void operator()(const Fill& fill) const {
    in_place([&](const gpu::Launch& launch, cudaStream_t stream) {
      const DType type = launch.types.destination;
      launch_fill(launch.table, bytes_of(type), gpu::bits_of(type, fill.value), stream);
    });
  }
  void operator()(const Gemm& gemm) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      std::vector<gpu::GemmRanges> ranks;
      for (std::size_t i : positions) ranks.push_back({range(0, i), range(1, i), range(2, i)});
      const cudaStream_t stream = begin_on(gpu);
      self.gemm_.run(gemm, ranks, self.machine_.gpu(gpu), stream);
    });
  }
  void operator()(const Matmul& matmul) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      std::vector<gpu::MatmulRanges> ranks;
      for (std::size_t i : positions) {
        ranks.push_back({range(0, i), range(1, i), range(2, i), range(3, i), range(4, i)});
      }
      const cudaStream_t stream = begin_on(gpu);
      self.gemm_.run(matmul, ranks, self.machine_.gpu(gpu), stream);
    });
  }
  /// Operand `from` becomes operand `to`, with FP8 on one side; operand `scale`, where it is not negative,
  /// holds the factor.
  struct Conversion {
    int from, scale, to;
  };
  void convert(Conversion operands, std::int8_t policy) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      gpu::Launch launch;
      gpu::ConvertTable table{};
      for (std::size_t i : positions) {
        const gpu::Range source = range(operands.from, i), destination = range(operands.to, i);
        SC_ASSERT(!source.overlaps(destination) || (source.data == destination.data &&
                                                    bytes_of(source.dtype) == bytes_of(destination.dtype)),
                  "a cast overlaps its source without being in its place");
        if (operands.scale >= 0) table.scale[launch.table.ranks] = scale_in(range(operands.scale, i));
        launch.add(source, destination);
      }
      table.ranks = launch.table;
      if (is_fp8(launch.types.destination)) {
        table.edges = gpu::edges_of(launch.types.destination, cpu::policy_of(policy));
      }
      launch_convert(table, launch.types, begin_on(gpu));
    });
  }
  static bool is_fp8(DType type) { return type == DType::e4m3 || type == DType::e5m2; }
  static const float* scale_in(const gpu::Range& range) {
    SC_ASSERT(range.dtype == DType::f32 && range.numel == 1, "a scale is one fp32 number");
    return reinterpret_cast<const float*>(range.data);
  }
  void operator()(const Cast& cast) const { convert({0, -1, 1}, cast.policy); }
  void operator()(const Quantize& quantize) const {
    SC_ASSERT(!is_fp8(range(0, 0).dtype), "quantisation starts from f32, bf16 or f16");
    convert({0, 1, 2}, quantize.policy);
  }
  void operator()(const Dequantize&) const {
    SC_ASSERT(is_fp8(range(0, 0).dtype) && !is_fp8(range(2, 0).dtype),
              "dequantisation goes from FP8 to floats");
    convert({0, 1, 2}, 0);
  }
  template <gpu::BlockAction Action>
  void operator()(const Action& action) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      std::vector<gpu::BlockRanges> ranks;
      for (std::size_t i : positions) {
        gpu::BlockRanges& operands = ranks.emplace_back();
        for (int o = 0; o < op.operands; ++o) operands[static_cast<std::size_t>(o)] = range(o, i);
      }
      const std::int64_t needed = gpu::scratch_for(action, ranks.size());
      std::byte* scratch = needed == 0 ? nullptr : self.machine_.gpu(gpu).scratch(op.stream, needed);
      gpu::enqueue(action, {ranks, scratch, begin_on(gpu)});
    });
  }
  void operator()(const Copy&) const {
    source_to([](const gpu::Launch& launch, cudaStream_t stream) {
      if (launch.types.source == launch.types.destination) {
        launch_copy_bits(launch.table, bytes_of(launch.types.source), stream);
      } else {
        launch_cast(launch.table, launch.types, stream);
      }
    });
  }
  void operator()(const Add&) const {
    source_to([](const gpu::Launch& launch, cudaStream_t stream) {
      launch_add(launch.table, launch.types, stream);
    });
  }
  void operator()(const Scale& scale) const {
    in_place([&](const gpu::Launch& launch, cudaStream_t stream) {
      launch_scale(launch.table, launch.types.destination, scale.factor, stream);
    });
  }
  void operator()(const SgdStep& sgd) const {
    source_to([&](const gpu::Launch& launch, cudaStream_t stream) {
      SC_ASSERT(launch.types.destination == DType::f32, "master weights are fp32");
      launch_sgd_step(launch.table, launch.types.source, sgd.rate, stream);
    });
  }
  void operator()(const Communicate& communicate) const {
    SC_ASSERT(op.operands >= 2, "an op lacks an operand");
    const auto from = plan.operand(op, 0), to = plan.operand(op, 1);
    std::vector<gpu::Range> inputs, outputs;
    for (std::size_t i = 0; i < static_cast<std::size_t>(op.ranks); ++i) {
      inputs.push_back(self.memory_.at_or_elsewhere(plan, rank(i), from[i]));
      outputs.push_back(self.memory_.at_or_elsewhere(plan, rank(i), to[i]));
    }
    self.collectives_.run(communicate, op.stream, {plan.ranks_of(op), inputs, outputs, from, to},
                          self.memory_.fold_of(plan));
  }
  void operator()(const Record& record) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      self.events_.record_on({gpu, op.stream, begin_on(gpu)}, record.event);
      for (std::size_t i : positions) self.events_.recorded(rank(i), op.stream, record.event);
    });
  }
  void operator()(const Wait& wait) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      const gpu::PlanEvents::Queue queue{gpu, op.stream, begin_on(gpu)};
      // With two streams there is one that can be waited for, and its event is the same for all ranks of the
      // GPU.
      for (std::size_t i : positions) {
        if (self.events_.wait(queue, rank(i), wait.event)) break;
      }
    });
  }
  template <ProtocolEvent Event>
  void operator()(const Event&) const {}
};

/// Operand 0 on the ranks at `positions`; where it overlaps operand 1 without being the same view, a copy of
/// it, because a kernel reads and writes in no particular order.
std::vector<gpu::Range> CudaBackend::Run::apart_from_destinations(
    int gpu, std::span<const std::size_t> positions) const {
  constexpr std::int64_t kAlignment = 256;
  std::vector<gpu::Range> sources;
  std::int64_t needed = 0;
  const auto is_in_the_way = [&](const gpu::Range& source, std::size_t i) {
    const gpu::Range destination = range(1, i);
    return source.overlaps(destination) && source.data != destination.data;
  };
  for (std::size_t i : positions) {
    sources.push_back(range(0, i));
    if (is_in_the_way(sources.back(), i)) needed += round_up(sources.back().bytes(), kAlignment);
  }
  if (needed == 0) return sources;
  std::byte* scratch = self.machine_.gpu(gpu).scratch(op.stream, needed);
  const cudaStream_t stream = begin_on(gpu);
  gpu::Launch launch;
  for (std::size_t n = 0; n < positions.size(); ++n) {
    if (!is_in_the_way(sources[n], positions[n])) continue;
    gpu::Range copy = sources[n];
    copy.data = scratch;
    scratch += round_up(copy.bytes(), kAlignment);
    launch.add(sources[n], copy);
    sources[n] = copy;
  }
  launch_copy_bits(launch.table, bytes_of(launch.types.source), stream);
  return sources;
}

void CudaBackend::execute(const Plan& plan, OpIndex first, OpIndex last) {
  SC_ASSERT(first.value >= 0 && first <= last && static_cast<std::size_t>(last.value) <= plan.ops.size(),
            "the plan has no such ops");
  mirror_.forget();
  if (first.value == 0) {
    memory_.start(plan);
    events_.start();
  }
  for (auto i = static_cast<std::size_t>(first.value); i < static_cast<std::size_t>(last.value); ++i) {
    const Op& op = plan.ops[i];
    if (delay_ && delay_->before.value == static_cast<std::int32_t>(i)) stand_still(plan, op.stream);
    std::visit(Run{*this, plan, op}, op.action);
    if (machine_.options().streams == StreamUse::serialised) machine_.await();
  }
  memory_.finish();
}

/// Holds the stream back, in front of the op of delay_.
void CudaBackend::stand_still(const Plan& plan, Stream stream) {
  const int gpu = memory_.fold_of(plan).gpu_of(delay_->rank);
  if (machine_.has(gpu)) gpu::launch_delay(delay_->length, machine_.gpu(gpu).begin_op(stream));
}

void CudaBackend::write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) {
  mirror_.forget();
  const bool is_new = memory_.allocate_for_write(plan, rank, view.buffer);
  const gpu::Range range = memory_.at(plan, rank, view);
  SC_ASSERT(std::ssize(bytes) == range.bytes(), "the bytes are not of the size of the view");
  const cudaStream_t stream = machine_.gpu(range.gpu).begin_host_work();
  if (is_new && view.numel < plan.buffer(view.buffer).numel) {
    const gpu::Range whole = memory_.at(plan, rank, {view.buffer, 0, plan.buffer(view.buffer).numel});
    gpu::Launch launch;
    launch.add(whole, whole);
    launch_fill(launch.table, bytes_of(whole.dtype), poison_bits(plan.poison, whole.dtype), stream);
  }
  // From pageable memory: the bytes are taken before the call returns.
  SC_CHECK(cudaMemcpyAsync(range.data, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream));
}

void CudaBackend::read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) {
  const gpu::Range range = memory_.at(plan, rank, view);
  SC_ASSERT(std::ssize(bytes) == range.bytes(), "the bytes are not of the size of the view");
  gpu::Gpu& gpu = machine_.gpu(range.gpu);
  if (!delay_) {
    const gpu::SlabPart slab = memory_.slab_of(plan, view.buffer, range);
    if (const std::byte* found = mirror_.find(range, slab, gpu); found != nullptr) {
      std::copy_n(found, bytes.size(), bytes.begin());
      return;
    }
    gpu.await();
  }
  const cudaStream_t stream = delay_ ? gpu.begin_op(Stream::compute) : gpu.begin_host_work();
  SC_CHECK(cudaMemcpyAsync(bytes.data(), range.data, bytes.size(), cudaMemcpyDeviceToHost, stream));
  SC_CHECK(cudaStreamSynchronize(stream));
}

std::vector<std::uint64_t> CudaBackend::digests(const Plan& plan, std::span<const Rank> ranks,
                                                std::span<const View> views) {
  SC_ASSERT(ranks.size() == views.size(), "a rank for every view");
  std::vector<gpu::Range> ranges;
  for (std::size_t i = 0; i < views.size(); ++i) ranges.push_back(memory_.at(plan, ranks[i], views[i]));
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

std::vector<std::string> gemm_algorithms(const Backend& backend) {
  const auto* cuda = dynamic_cast<const CudaBackend*>(&backend);
  return cuda == nullptr ? std::vector<std::string>{} : cuda->algorithms();
}

}  // namespace shardcheck
