// Op: one operation of a plan. An op names the ranks that it runs on, with a view of each operand on each of
// them (the same local op on eight ranks is one op, so that a GPU can batch it), its stream, and why it
// exists. What the bytes may hold before and after it is judged by core/contract/monitor.h. Next:
// core/plan/plan.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "core/recipe/recipe.h"
#include "core/types.h"

namespace shardcheck {

/// A contiguous range of one buffer, in elements of the buffer's type.
struct View {
  BufferId buffer;
  std::int64_t offset = 0;
  std::int64_t numel = 0;
  bool operator==(const View&) const = default;
};

/// The in-order queues of a rank. Work on two of them is ordered only by events.
enum class Stream : std::uint8_t {
  compute,
  reduce,
  graph,  ///< replays of captured work
};
inline constexpr int kStreams = 3;
std::string_view name_of(Stream stream);

using EventId = Strong<struct EventTag, std::int32_t>;
using GraphId = Strong<struct GraphTag, std::int32_t>;

// ---- Ops that touch bytes. "Class" is the exactness class of architecture 3; all are exact unless said.

/// The buffer comes into being on the op's ranks; its content is undefined (a backend fills it with poison).
struct Allocate {};
/// The content of operand 0 is promised to nobody any more: a recycled slot, a placeholder, a stale slice. A
/// backend overwrites it with poison, so that a result which depends on it shows.
struct Undefine {};
/// operand 0 := value.
struct Fill {
  float value = 0;
  bool operator==(const Fill&) const = default;
};
/// Weight gradient: operand 2 (rows x columns, row-major) := dy^T x, or += when `accumulate` (beta = 1), with
/// operand 0 = dy (tokens x rows) and operand 1 = x (tokens x columns). tokens = 0 writes zeros, or nothing
/// when accumulating (W9). Exact under an arithmetic profile, else bounded.
struct Gemm {
  std::int64_t tokens = 0, rows = 0, columns = 0;
  bool accumulate = false;
  bool operator==(const Gemm&) const = default;
};
/// operand 1 := operand 0, rounded to nearest even when operand 1 is narrower.
struct Copy {};
/// operand 1 := operand 0 cast by a named policy (core/numerics/cast_policy.h); FP8 on either side. Widening
/// is exact.
struct Cast {
  std::int8_t policy = 0;  ///< index in kCastPolicies
};
/// operand 2 (FP8) := encode(RN(operand 0 * operand 1)), operand 1 one fp32 scale, by a named policy
/// (fp8 2.8).
struct Quantize {
  std::int8_t policy = 0;
};
/// operand 2 := RN(decode(operand 0) * operand 1), operand 0 FP8, operand 1 one fp32 scale inverse, rounded
/// once more when operand 2 is narrower than fp32.
struct Dequantize {};
/// How an operand of Matmul lies in memory, as cuBLASLt sees it: column-major, transposed or not.
enum class OperandLayout : std::uint8_t { transposed, plain };
/// Which scales an FP8 operand of Matmul has (ScaleMode of core/numerics/gemm.h, in its order).
enum class ScaleKind : std::uint8_t { none, tensor, outer_vector, vector128, block128x128 };
/// D (operand 4, m x n, column-major) := alpha op(A) op(B) + beta D; operand 0 A, 1 B, 2 scales of A, 3
/// scales of B (fp32; views of zero elements where there are none). Exact under an arithmetic profile, else
/// bounded.
struct Matmul {
  std::int64_t m = 0, n = 0, k = 0;
  OperandLayout a = OperandLayout::transposed, b = OperandLayout::plain;
  ScaleKind scales_a = ScaleKind::none, scales_b = ScaleKind::none;
  bool fast_accumulation = false;
  bool accumulate = false;  ///< beta = 1
  float alpha = 1;
};
/// Which quantised copy of which matrix a block op speaks of (fp8 3): a recipe of core/recipe/catalogue.h
/// with 8-bit elements and one level of scales, a direction, and the row-major matrix. Codes have the
/// elements of the operand's type; a plane of scales lies as the recipe stores it, padding included.
struct BlockCopy {
  std::int8_t recipe = 0;  ///< index in recipe::recipes()
  recipe::Direction direction = recipe::Direction::row;
  std::int64_t rows = 0, columns = 0;
};
/// operand 1 (fp32, one a block, row-major over the grid of blocks) := the larger of itself and of the
/// magnitudes of operand 0 in its block; operand 0 is elements [start, start + numel) of the matrix.
struct TakeAmax {
  BlockCopy of;
  std::int64_t start = 0;
};
/// From the amaxes of all blocks (operand 0): operand 1 (fp32, one a block) := what elements meet,
/// operand 2 := the plane of stored scales.
struct ScaleFromAmax {
  BlockCopy of;
};
/// operand 2 := encode(operand 0 by the factor of its block in operand 1), for elements [start, start +
/// numel) of the matrix, in the order of the source.
struct QuantizeBlocks {
  BlockCopy of;
  std::int64_t start = 0;
};
/// operand 2 := RN(decode(operand 0) * stored scale of its block in operand 1), rounded once more when
/// operand 2 is narrower than fp32. Codes in the order of the source, elements [start, start + numel).
struct DequantizeBlocks {
  BlockCopy of;
  std::int64_t start = 0;
};
/// A whole matrix (operand 0) on one rank becomes both of its copies: 1 row codes, 2 row scales, 3 column
/// codes, 4 column scales, each as the recipe stores it; views of zero elements where a copy is not wanted.
/// `of.direction` says nothing here.
struct QuantizeMatrix {
  BlockCopy of;
};
/// The column copy (operand 2 codes, operand 3 scales) out of the row copy (operands 0 and 1), where the
/// recipe derives it (F32, F33).
struct DeriveColumnCopy {
  BlockCopy of;
};
/// Delayed scaling closes a step (fp8 3.1): operand 0 the amax of the group (fp32, one), operand 1 the
/// history (fp32, slot 0 is the open step), operand 2 the scale and its inverse (fp32, two).
struct CloseDelayedStep {
  bool most_recent = false;    ///< else the largest of the window
  bool rolls_on_zero = false;  ///< a step whose amax is 0 moves the window too
  std::int8_t margin = 0;
  float largest = 448;  ///< fmax of the elements
};
/// operand 1 := operand 1 + operand 0, one rounding to the type of operand 1.
struct Add {};
/// operand 0 := operand 0 * factor, the factor in fp32, one rounding to the type of operand 0.
struct Scale {
  float factor = 1;
};
enum class Collective : std::uint8_t { all_reduce, reduce_scatter, all_gather };
/// average: every addend is first multiplied by 1/R rounded to the element type, as NCCL does (wgrad 8.3).
/// maximum: of fp32 numbers without NaN; a NaN is dropped (fp8 3.0).
enum class Reduction : std::uint8_t { sum, average, maximum };
/// Over consecutive groups of `group` ranks of the op's list. Operand 0 is the input, operand 1 the output,
/// which may lie inside the input. A reduction adds in ascending order of the ranks, one rounding to the
/// element type an addition. reduce_scatter: rank i of the group gets part i of `group` equal parts;
/// all_gather is its inverse.
struct Communicate {
  Collective collective = Collective::all_reduce;
  Reduction reduction = Reduction::sum;
  std::int32_t group = 1;
};
/// The host of each of the op's ranks enqueues a collective on the op's stream, with operands as Communicate
/// has them. It tells of a program that differs from rank to rank: where a plan has an Enqueue of a
/// communicator, Enqueues say which rank calls what there, in the order of the plan (core/plan/symmetry.h).
/// Without one, every rank calls every Communicate where that stands. Bytes move in Communicate alone.
struct Enqueue {
  Communicate what;
  std::int32_t members = 0;  ///< the communicator is `what.group` ranks from here on in Plan::rank_arena
};
/// operand 1 (fp32 master weights) := operand 1 - rate * operand 0: one rounded product, one rounded
/// difference.
struct SgdStep {
  float rate = 0;
};

// ---- Ordering between streams.

struct Record {
  EventId event;
};
struct Wait {
  EventId event;
};

// ---- Captured work.

/// From here to EndGraph, on this stream, runs what a graph holds: the ops between the two are what happens.
/// A backend may capture them when it meets the graph first and replay them wherever they are the same again
/// (core/plan/graph_region.h).
struct BeginGraph {
  GraphId graph;
};
struct EndGraph {};

// ---- Protocol events: they move no byte that is promised to anybody, and are what the contract speaks of.

struct BeginStep {};
struct BeginMicrobatch {};
/// A temporary destination begins a life in operand 0 (ACQ that opens); its content is undefined. `bucket`
/// says which parameters lie in it (Plan::buckets).
struct OpenLease {
  std::int32_t bucket = -1;
};
/// The producer fetches its destination again (ACQ inside a lease), operand 0.
struct Acquire {};
/// The storage of operand 0 goes back to the pool (FREE).
struct CloseLease {};
/// grad_added_to_main_grad := value.
struct Flag {
  bool value = false;
};
/// What the producer hands to autograd (RET).
/// chained: the storage of param.grad, which the producer has added to and cleared meanwhile (R8).
enum class Returned : std::uint8_t { real, dummy, zero_dummy, alias, nothing, chained };
struct Return {
  Returned what = Returned::nothing;
};
/// What the owner's hook does with param.grad.
enum class HookAction : std::uint8_t { drop, add, copy, zero_fill, nothing };
struct Hook {
  HookAction action = HookAction::nothing;
};
/// The parameter is counted as ready for reduction.
struct Ready {};
/// From here on the consumer may read operand 0, the owned part (FIN).
struct Finish {};
/// The consumer has finished (STEP).
struct EndStep {};
/// Activations of this FSDP unit are computed again: up to EndRecompute, forward runs inside backward. It
/// leaves the protocol alone (W37).
struct BeginRecompute {
  std::int32_t unit = -1;
};
struct EndRecompute {};
/// What ends before its time: the attempt at a step, which is begun again, or, after a step, the process.
enum class Ended : std::uint8_t { attempt, process };
/// All that hosts knew about the current step is gone, and gradients in any buffer are nobody's (W40).
struct Interrupt {
  Ended ended = Ended::attempt;
};

using Action =
    std::variant<Allocate, Undefine, Fill, Gemm, Copy, Cast, Quantize, Dequantize, Matmul, TakeAmax,
                 ScaleFromAmax, QuantizeBlocks, DequantizeBlocks, QuantizeMatrix, DeriveColumnCopy,
                 CloseDelayedStep, Add, Scale, Communicate, Enqueue, SgdStep, Record, Wait, BeginGraph,
                 EndGraph, BeginStep, BeginMicrobatch, OpenLease, Acquire, CloseLease, Flag, Return, Hook,
                 Ready, Finish, EndStep, BeginRecompute, EndRecompute, Interrupt>;

/// The part that an op plays in the contract; the same Add is a fold of param.grad or a shard accumulation.
enum class Purpose : std::uint8_t {
  none,
  setup,          ///< allocation, initial weights
  zero,           ///< the owner's ZERO of a destination
  write,          ///< WR, the producer's write into a destination, or into a fresh gradient when unfused
  dummy,          ///< the placeholder handed to autograd, and its arithmetic inside autograd
  fold,           ///< the owner's FOLD of param.grad
  scale,          ///< SCALE of contributions before they are reduced
  stage,          ///< copy of local sums into a communication buffer
  reduce,         ///< LAUNCH
  reduce_outer,   ///< LAUNCH over the outer groups of a hybrid mesh
  unstage,        ///< copy back of reduced values
  accumulate,     ///< ACC onto the running shard
  reduce_tied,    ///< finalize: the sum over the copies of a weight on two pipeline stages
  reduce_tensor,  ///< finalize: the sum over the copies that tensor-parallel ranks have
  reduce_shards,  ///< a producer's own reduction, over the ranks that share a distributed weight (GTP)
  divide,         ///< finalize: token division
  clip,           ///< finalize: clipping by the global norm
  consume,        ///< the optimizer
  weights,        ///< cast and gather of parameters
  forward,        ///< product with a weight, and what quantises its operands (fp8 4.9 E9)
  backward,       ///< the same for the data gradient (E10)
  recompute,      ///< forward again, because its activations were dropped (E14)
};
std::string_view name_of(Purpose purpose);

/// How a producer arrived at its beta. A wrong beta is named after the proxy that chose it (W4, W5, W17,
/// W35).
enum class BetaRule : std::uint8_t {
  first_touch,       ///< the lease's own touched bit, read when the write is issued
  constant,          ///< the layer's or the owner's strategy decides once and for all
  strategy_flag,     ///< overwrite_main_grad, a flag per strategy
  lease_flag,        ///< a flag that the owner flips after the first write of a lease
  microbatch_index,  ///< is_first_microbatch by index
  call_order,        ///< is_first_microbatch armed for the first call
  other_parameter,   ///< the flag of another parameter
  forward_time,      ///< a flag read in forward, or at dgrad time for a later write
  captured,          ///< baked into a graph at its first execution
  gradient,          ///< param.grad holds something already
};
std::string_view name_of(BetaRule rule);

/// Why an op exists. -1 where a field does not apply.
struct Why {
  Purpose purpose = Purpose::none;
  BetaRule rule = BetaRule::first_touch;
  ParamId parameter{-1};
  std::int16_t step = -1, microbatch = -1, use = -1;
  bool deferred = false;  ///< of a producer whose writes wait for the end of the step (W32)
};

/// An operation; `views` and `ranks` index the arenas of the plan.
struct Op {
  Action action;
  Why why;
  Stream stream = Stream::compute;
  std::int8_t operands = 0;
  std::int32_t first_rank = 0, ranks = 0;
  std::int32_t first_view = 0;  ///< operand j on the i-th rank is views[first_view + j * ranks + i]
};

}  // namespace shardcheck
