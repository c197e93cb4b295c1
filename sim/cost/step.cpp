#include "sim/cost/step.h"

#include <algorithm>
#include <array>

#include "core/assert.h"
#include "sim/cost/extents.h"
#include "sim/cost/tensor_work.h"

namespace shardcheck::cost {
namespace {

constexpr std::array<std::string_view, kWorks> kWorkNames = {"zero",
                                                             "all-gather",
                                                             "forward",
                                                             "dgrad",
                                                             "wgrad",
                                                             "pack",
                                                             "stage",
                                                             "scale",
                                                             "all-reduce",
                                                             "reduce-scatter",
                                                             "unstage",
                                                             "accumulate",
                                                             "outer all-reduce",
                                                             "outer reduce-scatter",
                                                             "optimizer",
                                                             "outer all-gather"};

/// What a piece has reached in the pass that is being planned.
struct PieceState {
  std::int64_t left = 0;     ///< tensors whose work is still to come
  double arrives = 0;        ///< the end of its gather
  bool is_gathered = false;  ///< or on its way
  std::int32_t slot = -1;    ///< its open lease
  double grads = 0;          ///< bytes of gradients that autograd holds for it
};

/// Storage of leases, recycled as sim/owners/lease_owner.cpp does.
struct Slot {
  bool is_open = false;
  std::int64_t closed = 0;  ///< when, so that slots take turns
  double released = 0;      ///< seconds
};

enum class Pass : std::uint8_t { forward, backward };

class Planner {
 public:
  Planner(const StepJob& job, const std::function<void(const StepOp&)>& each)
      : job_(job), each_(each), states_(job.pieces.size()), piece_of_(job.parameters.size(), -1) {
    for (std::size_t i = 0; i < job.pieces.size(); ++i) {
      for (const ParamId tensor : job.pieces[i].tensors)
        piece_of_[static_cast<std::size_t>(tensor.value)] = static_cast<std::int32_t>(i);
    }
    figures_.memory = memory_of(job);
    if (has_leases(job)) slots_.resize(static_cast<std::size_t>(job.slots));
    order_uses();
  }

  StepFigures run() {
    begin_step();
    for (microbatch_ = 0; microbatch_ < job_.microbatches; ++microbatch_) {
      pass(Pass::forward);
      pass(Pass::backward);
      free_[0] = std::max(free_[0], free_[1]);  // reductions are drained behind each backward
    }
    microbatch_ = -1;
    finish();
    figures_.seconds = std::max(free_[0], free_[1]);
    return figures_;
  }

 private:
  /// Pieces by the first tensor that needs them, on the way forth and on the way back.
  void order_uses() {
    std::vector<bool> seen(states_.size());
    for (const std::int32_t piece : piece_of_) {
      SC_ASSERT(piece >= 0, "a parameter that no piece holds");
      if (!seen[static_cast<std::size_t>(piece)]) forth_.push_back(piece);
      seen[static_cast<std::size_t>(piece)] = true;
    }
    for (auto piece = piece_of_.rbegin(); piece != piece_of_.rend(); ++piece) {
      if (seen[static_cast<std::size_t>(*piece)]) back_.push_back(*piece);
      seen[static_cast<std::size_t>(*piece)] = false;
    }
  }

  const Piece& piece_at(std::int32_t piece) const { return job_.pieces[static_cast<std::size_t>(piece)]; }
  PieceState& state_of(std::int32_t piece) { return states_[static_cast<std::size_t>(piece)]; }
  bool shards_weights() const { return job_.system->sharded == Sharded::weights; }
  bool is_last() const { return microbatch_ == job_.microbatches - 1; }

  /// Appends an op that may start at `ready` and returns its end.
  double issue(StepOp op, double ready) {
    double& free = free_[static_cast<std::size_t>(op.lane)];
    op.microbatch = static_cast<std::int32_t>(microbatch_);
    op.begin = std::max(free, ready);
    free = op.begin + op.seconds;
    figures_.serial += op.seconds;
    figures_.busy[static_cast<std::size_t>(op.lane)] += op.seconds;
    figures_.sent += op.sent;
    if (each_) each_(op);
    return free;
  }

  /// An op that reads and writes `bytes` an element.
  double touch(Work work, Lane lane, std::int32_t piece, std::int64_t elements, double bytes) {
    const double touched = static_cast<double>(elements) * bytes;
    return issue({.work = work,
                  .lane = lane,
                  .piece = piece,
                  .elements = elements,
                  .touched = touched,
                  .seconds = touch_seconds(touched, job_.gpu)},
                 0);
  }

  /// What a collective moves: `whole` elements, of which `own` stay on the rank, `rounds` times.
  struct Moved {
    double whole = 0, own = 0;
    double width = 0;  ///< bytes an element
    double rounds = 1;
  };
  double communicate(Work work, std::int32_t piece, const Group& group, const Moved& moved, double ready) {
    if (group.ranks <= 1) return free_[1];
    return issue({.work = work,
                  .lane = Lane::collectives,
                  .piece = piece,
                  .elements = static_cast<std::int64_t>(moved.whole),
                  .ranks = group.ranks,
                  .sent = moved.rounds * (moved.whole - moved.own) * moved.width,
                  .seconds = moved.rounds * group_seconds(group, moved.whole * moved.width, job_.network)},
                 ready);
  }

  void begin_step() {
    for (std::int32_t i = 0; i < std::ssize(job_.pieces); ++i) {
      if (!job_.system->zeroes) break;
      touch(Work::zero, Lane::compute, i, gradient_extent(job_, piece_at(i)), job_.widths.gradient);
    }
    if (job_.system->gathers_last || shards_weights()) return;
    for (const std::int32_t piece : forth_) gather_replicated(piece);
  }

  /// ZeRO-1 and ZeRO-2: each rank has stepped its own part of weights that everybody holds.
  void gather_replicated(std::int32_t piece) {
    if (job_.system->sharded == Sharded::nothing) return;
    state_of(piece).arrives = communicate(Work::gather, piece, job_.groups_of(piece_at(piece)).inner,
                                          weights_moved(piece, piece_at(piece).own), free_[0]);
  }

  Moved weights_moved(std::int32_t piece, std::int64_t own) const {
    return {static_cast<double>(piece_at(piece).whole), static_cast<double>(own), job_.widths.weight_wire};
  }

  void pass(Pass pass) {
    for (std::size_t i = 0; i < states_.size(); ++i) states_[i].left = std::ssize(job_.pieces[i].tensors);
    const auto tensors = std::ssize(piece_of_);
    next_ = 0;
    for (std::ptrdiff_t i = 0; i < tensors; ++i) use(pass, pass == Pass::forward ? i : tensors - 1 - i);
  }

  void use(Pass pass, std::ptrdiff_t tensor) {
    const std::int32_t piece = piece_of_[static_cast<std::size_t>(tensor)];
    PieceState& state = state_of(piece);
    if (shards_weights()) prefetch(pass, piece);
    free_[0] = std::max(free_[0], state.arrives);
    if (pass == Pass::forward) {
      product(Work::forward, tensor);
    } else {
      product(Work::dgrad, tensor);
      open_lease(piece);
      product(Work::wgrad, tensor);
      if (job_.system->packs) hold_gradient(tensor);
    }
    if (--state.left > 0) return;
    if (pass == Pass::backward || job_.reshards) drop(piece);
    if (pass == Pass::backward && (has_leases(job_) || is_last())) reduce(piece);
  }

  void product(Work work, std::ptrdiff_t tensor) {
    const layout::Parameter& parameter = job_.parameters[static_cast<std::size_t>(tensor)];
    const TensorWork takes = tensor_work(job_, parameter, work);
    if (!takes.is_needed) return;
    issue({.work = work,
           .lane = Lane::compute,
           .piece = piece_of_[static_cast<std::size_t>(tensor)],
           .elements = parameter.numel(),
           .touched = takes.touched,
           .seconds = takes.seconds},
          0);
  }

  /// The weights of the piece at hand, and of the next one while it is computed with.
  void prefetch(Pass pass, std::int32_t piece) {
    const std::vector<std::int32_t>& order = pass == Pass::forward ? forth_ : back_;
    if (next_ < order.size() && order[next_] == piece) {
      gather(piece);
      ++next_;
      if (next_ < order.size()) gather(order[next_]);
    }
  }

  void gather(std::int32_t piece) {
    PieceState& state = state_of(piece);
    const Group& group = job_.groups_of(piece_at(piece)).inner;
    if (state.is_gathered || group.ranks <= 1) return;
    state.is_gathered = true;
    live_ += static_cast<double>(piece_at(piece).whole) * job_.widths.weight;
    figures_.memory.gathered = std::max(figures_.memory.gathered, live_);
    const std::int64_t own = weight_extent(job_, piece_at(piece));
    state.arrives = communicate(Work::gather, piece, group, weights_moved(piece, own), free_[0]);
  }

  void drop(std::int32_t piece) {
    if (!state_of(piece).is_gathered) return;
    state_of(piece).is_gathered = false;
    live_ -= static_cast<double>(piece_at(piece).whole) * job_.widths.weight;
  }

  /// The slot that was returned longest ago; the pool grows when all are lent.
  void open_lease(std::int32_t piece) {
    if (!has_leases(job_) || job_.system->packs) return;
    take_slot(piece);
  }

  void take_slot(std::int32_t piece) {
    PieceState& state = state_of(piece);
    if (state.slot >= 0) return;
    std::size_t best = slots_.size();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (!slots_[i].is_open && (best == slots_.size() || slots_[i].closed < slots_[best].closed)) best = i;
    }
    if (best == slots_.size()) {
      slots_.emplace_back();
      figures_.memory.leases += lease_bytes(job_);
    }
    slots_[best].is_open = true;
    state.slot = static_cast<std::int32_t>(best);
    free_[0] = std::max(free_[0], slots_[best].released);
  }

  void hold_gradient(std::ptrdiff_t tensor) {
    const auto at = static_cast<std::size_t>(tensor);
    const double bytes = static_cast<double>(job_.parameters[at].numel()) * gradient_bytes(job_);
    state_of(piece_of_[at]).grads += bytes;
    grads_ += bytes;
    figures_.memory.autograd = std::max(figures_.memory.autograd, grads_);
  }

  void pack(std::int32_t piece) {
    touch(Work::pack, Lane::compute, piece, piece_at(piece).whole,
          gradient_bytes(job_) + job_.widths.gradient_wire);
    grads_ -= state_of(piece).grads;
    state_of(piece).grads = 0;
  }

  /// All gradients of the piece are there.
  void reduce(std::int32_t piece) {
    const Piece& moved = piece_at(piece);
    const Widths& widths = job_.widths;
    if (has_leases(job_)) {
      take_slot(piece);
      if (job_.system->packs) pack(piece);
    }
    free_[1] = std::max(free_[1], free_[0]);
    const bool is_staged = !has_leases(job_) && widths.gradient != widths.gradient_wire;
    const double both = widths.gradient + widths.gradient_wire;
    if (is_staged) touch(Work::stage, Lane::collectives, piece, moved.whole, both);
    if (job_.system->scales && job_.world() > 1)
      touch(Work::scale, Lane::collectives, piece, moved.whole, 2 * widths.gradient_wire);
    reduce_inner(piece);
    if (is_staged) touch(Work::unstage, Lane::collectives, piece, moved.whole, both);
    if (!has_leases(job_)) return;
    const bool replaces = microbatch_ == 0 && (!job_.system->zeroes || has_partials(job_));
    accumulate(piece,
               {.into = has_partials(job_) ? widths.gradient_wire : widths.gradient, .adds = !replaces});
    if (is_last()) reduce_outer(piece);
    if (is_last() && has_partials(job_)) accumulate(piece, {widths.gradient, job_.system->zeroes});
    close_lease(state_of(piece));
  }

  /// A reduced part goes onto a sum of `into` bytes an element, or replaces it.
  struct Sum {
    double into = 4;
    bool adds = true;
  };
  void accumulate(std::int32_t piece, const Sum& sum) {
    touch(Work::accumulate, Lane::collectives, piece, gradient_extent(job_, piece_at(piece)),
          (sum.adds ? 2 : 1) * sum.into + job_.widths.gradient_wire);
  }

  void reduce_inner(std::int32_t piece) {
    const Piece& moved = piece_at(piece);
    const Group& group = job_.groups_of(moved).inner;
    const auto whole = static_cast<double>(moved.whole);
    if (job_.system->sharded == Sharded::nothing) {
      communicate(Work::all_reduce, piece, group, {whole, whole / group.ranks, job_.widths.gradient_wire, 2},
                  0);
    } else {
      const std::int64_t own = has_leases(job_) ? gradient_extent(job_, moved) : moved.own;
      communicate(Work::reduce_scatter, piece, group,
                  {whole, static_cast<double>(own), job_.widths.gradient_wire}, 0);
    }
  }

  void reduce_outer(std::int32_t piece) {
    const Group& group = job_.groups_of(piece_at(piece)).outer;
    const auto whole = static_cast<double>(gradient_extent(job_, piece_at(piece)));
    const double wire = job_.widths.gradient_wire;
    if (job_.outer == OuterAxis::replicates) {
      communicate(Work::outer_all_reduce, piece, group, {whole, whole / group.ranks, wire, 2}, 0);
    } else if (job_.outer == OuterAxis::shards) {
      communicate(Work::outer_reduce_scatter, piece, group,
                  {whole, static_cast<double>(piece_at(piece).own), wire}, 0);
    }
  }

  void close_lease(PieceState& state) {
    Slot& slot = slots_[static_cast<std::size_t>(state.slot)];
    slot = {.is_open = false, .closed = ++closings_, .released = free_[1]};
    state.slot = -1;
  }

  void finish() {
    free_[0] = std::max(free_[0], free_[1]);
    for (std::int32_t i = 0; i < std::ssize(job_.pieces); ++i) {
      const Piece& piece = piece_at(i);
      const double bytes = job_.widths.gradient + 2 * job_.widths.optimizer + job_.widths.weight;
      touch(Work::optimizer, Lane::compute, i, piece.own, bytes);
      if (job_.system->gathers_last) gather_replicated(i);
      if (job_.outer != OuterAxis::shards) continue;
      const auto whole = static_cast<double>(weight_extent(job_, piece));
      communicate(Work::outer_gather, i, job_.groups_of(piece).outer,
                  {whole, static_cast<double>(piece.own), job_.widths.weight_wire}, free_[0]);
    }
  }

  const StepJob& job_;
  const std::function<void(const StepOp&)>& each_;
  std::vector<PieceState> states_;
  std::vector<std::int32_t> piece_of_;      // a tensor
  std::vector<std::int32_t> forth_, back_;  // pieces in the order of their first use in a pass
  std::vector<Slot> slots_;
  std::size_t next_ = 0;  // of forth_ or back_, in this pass
  std::int64_t microbatch_ = -1, closings_ = 0;
  double live_ = 0;   // bytes of gathered weights
  double grads_ = 0;  // bytes of gradients that autograd holds
  std::array<double, kLanes> free_{};
  StepFigures figures_;
};

}  // namespace

std::string_view name_of(Lane lane) {
  return lane == Lane::compute ? "compute" : "collectives";
}

std::string_view name_of(Work work) {
  return kWorkNames[static_cast<std::size_t>(work)];
}

StepFigures plan_step(const StepJob& job, const std::function<void(const StepOp&)>& each) {
  return Planner(job, each).run();
}

}  // namespace shardcheck::cost
