#include "backends/cuda/execute_op.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include "backends/cpu/casts.h"
#include "backends/cuda/block_unit.h"
#include "backends/cuda/casts.h"
#include "backends/cuda/elementwise.h"
#include "backends/cuda/fp8_edges.h"
#include "backends/cuda/launch.h"
#include "backends/protocol_event.h"
#include "core/assert.h"
#include "core/integers.h"

namespace shardcheck::gpu {
namespace {

/// Enqueues one op: what each kind of action means on the op's ranks.
struct Run {
  Units& units;
  const Plan& plan;
  const Op& op;

  Rank rank(std::size_t i) const { return plan.ranks_of(op)[i]; }
  /// Operand `operand` on the i-th rank of the op.
  Range range(int operand, std::size_t i) const {
    SC_ASSERT(operand < op.operands, "an op lacks an operand");
    return units.memory.at(plan, rank(i), plan.operand(op, operand)[i]);
  }

  /// Calls body(gpu index, positions of the op's ranks on it), at most kRanksPerLaunch positions a call.
  template <class Body>
  void on_each_gpu(Body body) const {
    const Fold fold = units.memory.fold_of(plan);
    std::vector<std::size_t> positions;
    for (int gpu = 0; gpu < fold.gpus; ++gpu) {
      if (!units.machine.has(gpu)) continue;
      for (std::size_t i = 0; i < static_cast<std::size_t>(op.ranks); ++i) {
        if (fold.gpu_of(rank(i)) != gpu) continue;
        positions.push_back(i);
        if (positions.size() == kRanksPerLaunch) {
          body(gpu, std::span<const std::size_t>(positions));
          positions.clear();
        }
      }
      if (!positions.empty()) body(gpu, std::span<const std::size_t>(positions));
      positions.clear();
    }
  }
  cudaStream_t begin_on(int gpu) const { return units.machine.gpu(gpu).begin_op(op.stream); }

  /// An op that changes operand 0 alone.
  template <class Enqueue>
  void in_place(Enqueue enqueue) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      Launch launch;
      for (std::size_t i : positions) launch.add(range(0, i), range(0, i));
      enqueue(launch, begin_on(gpu));
    });
  }
  /// An op that reads operand 0 and changes operand 1.
  template <class Enqueue>
  void source_to(Enqueue enqueue) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      const std::vector<Range> sources = apart_from_destinations(gpu, positions);
      Launch launch;
      for (std::size_t n = 0; n < positions.size(); ++n) launch.add(sources[n], range(1, positions[n]));
      enqueue(launch, begin_on(gpu));
    });
  }
  std::vector<Range> apart_from_destinations(int gpu, std::span<const std::size_t> positions) const;
  void fill_with_poison(const Launch& launch, cudaStream_t stream) const {
    const DType type = launch.types.destination;
    launch_fill(launch.table, bytes_of(type), poison_bits(plan.poison, type), stream);
  }
  void poison() const {
    in_place([&](const Launch& launch, cudaStream_t stream) { fill_with_poison(launch, stream); });
  }

  /// The poison of a fresh buffer is no op of the plan's streams: everything later comes after it.
  void operator()(const Allocate&) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      for (std::size_t i : positions) units.memory.allocate(plan, rank(i), plan.operand(op, 0)[i].buffer);
      Launch launch;
      for (std::size_t i : positions) {
        const BufferId id = plan.operand(op, 0)[i].buffer;
        const Range whole = units.memory.at(plan, rank(i), {id, 0, plan.buffer(id).numel});
        launch.add(whole, whole);
      }
      fill_with_poison(launch, units.machine.gpu(gpu).begin_host_work());
    });
  }
  void operator()(const Undefine&) const { poison(); }
  void operator()(const OpenLease&) const { poison(); }
  void operator()(const Fill& fill) const {
    in_place([&](const Launch& launch, cudaStream_t stream) {
      const DType type = launch.types.destination;
      launch_fill(launch.table, bytes_of(type), bits_of(type, fill.value), stream);
    });
  }
  std::vector<GemmRanges> gemm_ranges(std::span<const std::size_t> positions) const {
    std::vector<GemmRanges> ranks;
    for (std::size_t i : positions) ranks.push_back({range(0, i), range(1, i), range(2, i)});
    return ranks;
  }
  void operator()(const Gemm& gemm) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      const std::vector<GemmRanges> ranks = gemm_ranges(positions);
      const cudaStream_t stream = begin_on(gpu);
      units.gemm.run(gemm, ranks, units.machine.gpu(gpu), stream);
    });
  }
  /// Before a capture: what must not be decided in it.
  void prepare(const Gemm& gemm) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      const std::vector<GemmRanges> ranks = gemm_ranges(positions);
      begin_on(gpu);
      units.gemm.prepare(gemm, ranks, units.machine.gpu(gpu));
    });
  }
  /// What a graph is captured from.
  GraphWork work() const {
    GraphWork work{op.action, {}};
    on_each_gpu([&](int, std::span<const std::size_t> positions) {
      for (int operand = 0; operand < op.operands; ++operand) {
        for (std::size_t i : positions) work.operands.push_back(range(operand, i));
      }
    });
    return work;
  }
  void operator()(const Matmul& matmul) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      std::vector<MatmulRanges> ranks;
      for (std::size_t i : positions) {
        ranks.push_back({range(0, i), range(1, i), range(2, i), range(3, i), range(4, i)});
      }
      const cudaStream_t stream = begin_on(gpu);
      units.gemm.run(matmul, ranks, units.machine.gpu(gpu), stream);
    });
  }
  /// Operand `from` becomes operand `to`, with FP8 on one side; operand `scale`, where it is not negative,
  /// holds the factor.
  struct Conversion {
    int from, scale, to;
  };
  void convert(Conversion operands, std::int8_t policy) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      Launch launch;
      ConvertTable table{};
      for (std::size_t i : positions) {
        const Range source = range(operands.from, i), destination = range(operands.to, i);
        SC_ASSERT(!source.overlaps(destination) || (source.data == destination.data &&
                                                    bytes_of(source.dtype) == bytes_of(destination.dtype)),
                  "a cast overlaps its source without being in its place");
        if (operands.scale >= 0) table.scale[launch.table.ranks] = scale_in(range(operands.scale, i));
        launch.add(source, destination);
      }
      table.ranks = launch.table;
      if (is_fp8(launch.types.destination)) {
        table.edges = edges_of(launch.types.destination, cpu::policy_of(policy));
      }
      launch_convert(table, launch.types, begin_on(gpu));
    });
  }
  static bool is_fp8(DType type) { return type == DType::e4m3 || type == DType::e5m2; }
  static const float* scale_in(const Range& range) {
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
  template <BlockAction Action>
  void operator()(const Action& action) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      std::vector<BlockRanges> ranks;
      for (std::size_t i : positions) {
        BlockRanges& operands = ranks.emplace_back();
        for (int o = 0; o < op.operands; ++o) operands[static_cast<std::size_t>(o)] = range(o, i);
      }
      const std::int64_t needed = scratch_for(action, ranks.size());
      std::byte* scratch = needed == 0 ? nullptr : units.machine.gpu(gpu).scratch(op.stream, needed);
      enqueue(action, {ranks, scratch, begin_on(gpu)});
    });
  }
  void operator()(const Copy&) const {
    source_to([](const Launch& launch, cudaStream_t stream) {
      if (launch.types.source == launch.types.destination) {
        launch_copy_bits(launch.table, bytes_of(launch.types.source), stream);
      } else {
        launch_cast(launch.table, launch.types, stream);
      }
    });
  }
  void operator()(const Add&) const {
    source_to(
        [](const Launch& launch, cudaStream_t stream) { launch_add(launch.table, launch.types, stream); });
  }
  void operator()(const Scale& scale) const {
    in_place([&](const Launch& launch, cudaStream_t stream) {
      launch_scale(launch.table, launch.types.destination, scale.factor, stream);
    });
  }
  void operator()(const SgdStep& sgd) const {
    source_to([&](const Launch& launch, cudaStream_t stream) {
      SC_ASSERT(launch.types.destination == DType::f32, "master weights are fp32");
      launch_sgd_step(launch.table, launch.types.source, sgd.rate, stream);
    });
  }
  void operator()(const Communicate& communicate) const {
    SC_ASSERT(op.operands >= 2, "an op lacks an operand");
    const auto from = plan.operand(op, 0), to = plan.operand(op, 1);
    std::vector<Range> inputs, outputs;
    for (std::size_t i = 0; i < static_cast<std::size_t>(op.ranks); ++i) {
      inputs.push_back(units.memory.at_or_elsewhere(plan, rank(i), from[i]));
      outputs.push_back(units.memory.at_or_elsewhere(plan, rank(i), to[i]));
    }
    units.collectives.run(communicate, op.stream, {plan.ranks_of(op), inputs, outputs, from, to},
                          units.memory.fold_of(plan));
  }
  void operator()(const Record& record) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      units.events.record_on({gpu, op.stream, begin_on(gpu)}, record.event);
      for (std::size_t i : positions) units.events.recorded(rank(i), op.stream, record.event);
    });
  }
  void operator()(const Wait& wait) const {
    on_each_gpu([&](int gpu, std::span<const std::size_t> positions) {
      const PlanEvents::Queue queue{gpu, op.stream, begin_on(gpu)};
      // All ranks of the GPU that recorded it on one stream mean one event.
      std::set<Stream> awaited;
      for (std::size_t i : positions) {
        const std::optional<Stream> on = units.events.awaited(queue, rank(i), wait.event);
        if (on && awaited.insert(*on).second) units.events.wait(queue, *on, wait.event);
      }
    });
  }
  template <ProtocolEvent Event>
  void operator()(const Event&) const {}
};

/// Operand 0 on the ranks at `positions`; where it overlaps operand 1 without being the same view, a copy of
/// it, because a kernel reads and writes in no particular order.
std::vector<Range> Run::apart_from_destinations(int gpu, std::span<const std::size_t> positions) const {
  constexpr std::int64_t kAlignment = 256;
  std::vector<Range> sources;
  std::int64_t needed = 0;
  const auto is_in_the_way = [&](const Range& source, std::size_t i) {
    const Range destination = range(1, i);
    return source.overlaps(destination) && source.data != destination.data;
  };
  for (std::size_t i : positions) {
    sources.push_back(range(0, i));
    if (is_in_the_way(sources.back(), i)) needed += round_up(sources.back().bytes(), kAlignment);
  }
  if (needed == 0) return sources;
  std::byte* scratch = units.machine.gpu(gpu).scratch(op.stream, needed);
  const cudaStream_t stream = begin_on(gpu);
  Launch launch;
  for (std::size_t n = 0; n < positions.size(); ++n) {
    if (!is_in_the_way(sources[n], positions[n])) continue;
    Range copy = sources[n];
    copy.data = scratch;
    scratch += round_up(copy.bytes(), kAlignment);
    launch.add(sources[n], copy);
    sources[n] = copy;
  }
  launch_copy_bits(launch.table, bytes_of(launch.types.source), stream);
  return sources;
}

}  // namespace

void execute_op(Units& units, const Plan& plan, const Op& op) {
  std::visit(Run{units, plan, op}, op.action);
}

void prepare_op(Units& units, const Plan& plan, const Op& op) {
  if (const auto* gemm = std::get_if<Gemm>(&op.action)) Run{units, plan, op}.prepare(*gemm);
}

GraphWork work_of(Units& units, const Plan& plan, const Op& op) {
  return Run{units, plan, op}.work();
}

}  // namespace shardcheck::gpu
