#include "core/contract/roundings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "core/contract/reporter.h"
#include "core/contract/type_trails.h"

namespace shardcheck {
namespace {

/// Where an op takes gradient bytes from and where it leaves them, by operand; -1: nowhere.
struct Move {
  int source = -1, target = -1;
  std::optional<Stretch> to;  ///< nothing: the pipeline knows no such step
};

bool moves_elements(const Op& op) {
  return std::holds_alternative<Copy>(op.action) || std::holds_alternative<Cast>(op.action) ||
         std::holds_alternative<Add>(op.action);
}

/// The steps of the plan's ops, and the types that are declared for them.
class Pipeline {
 public:
  explicit Pipeline(const Plan& plan)
      : plan_(plan), is_owned_(plan.buffers.size()), is_chain_(plan.buffers.size()) {
    for (const Op& op : plan.ops) {
      if (is_chained(op)) is_chain_[static_cast<std::size_t>(buffer(op, 2).value)] = true;
    }
    for (const Placement& owned : plan.owned)
      is_owned_[static_cast<std::size_t>(owned.view.buffer.value)] = true;
  }

  bool is_gradient(BufferId buffer) const {
    const BufferRole role = plan_.buffer(buffer).role;
    return role >= BufferRole::main_grad && role <= BufferRole::placeholder;
  }

  Move move_of(const Op& op) const {
    if (op.ranks == 0 || op.operands == 0) return {};
    if (std::holds_alternative<Gemm>(op.action))
      return {-1, 2, is_in_autograd(buffer(op, 2)) && !is_chained(op) ? Stretch::autograd : Stretch::local};
    if (moves_elements(op)) {
      if (!is_gradient(buffer(op, 1))) return {};
      return {is_gradient(buffer(op, 0)) ? 0 : -1, 1, step_of(op)};
    }
    if (op.why.purpose == Purpose::reduce_shards) return {0, 1, Stretch::local};
    if (op.why.purpose == Purpose::reduce) return {0, 1, Stretch::wire};
    if (op.why.purpose == Purpose::reduce_outer) return {0, 1, Stretch::outer};
    if (op.why.purpose == Purpose::reduce_tied || op.why.purpose == Purpose::reduce_tensor)
      return {0, 1, Stretch::reduced};
    const bool is_read = std::holds_alternative<Finish>(op.action) || op.why.purpose == Purpose::consume;
    return is_read ? Move{0, 0, Stretch::reduced} : Move{};
  }

  DType declared_type(const Op& op, Stretch stretch) const {
    switch (stretch) {
      case Stretch::local: return plan_.declared->local;
      case Stretch::wire: return plan_.declared->wire;
      case Stretch::outer: return plan_.declared->outer;
      case Stretch::reduced: return plan_.declared->main_grad;
      case Stretch::autograd: break;
    }
    return plan_.parameters[static_cast<std::size_t>(op.why.parameter.value)].dtype;
  }

  /// True when the op may do other than what is declared, by itself or with others.
  bool is_suspicious(const Op& op) const {
    const Move move = move_of(op);
    if (move.target < 0) return false;
    if (!move.to) return move.source >= 0;
    if (*move.to == Stretch::autograd && op.why.parameter.value < 0) return false;
    const DType type = declared_type(op, *move.to);
    const auto targets = plan_.operand(op, move.target);
    const bool as_declared = std::ranges::all_of(
        targets, [&](const View& view) { return plan_.buffer(view.buffer).dtype == type; });
    return !as_declared || (op.why.purpose == Purpose::write && moves_elements(op));
  }

  bool is_in_autograd(BufferId id) const {
    const BufferRole role = plan_.buffer(id).role;
    return role == BufferRole::param_grad || role == BufferRole::placeholder;
  }
  /// True for a product that is added to param.grad, which is a local sum then (R8).
  static bool is_chained(const Op& op) {
    return std::holds_alternative<Gemm>(op.action) && op.why.rule == BetaRule::gradient;
  }

 private:
  BufferId buffer(const Op& op, int operand) const { return plan_.operand(op, operand)[0].buffer; }

  /// The step of a Copy, Cast or Add from operand 0 to operand 1.
  std::optional<Stretch> step_of(const Op& op) const {
    switch (op.why.purpose) {
      case Purpose::write:
      case Purpose::fold: return Stretch::local;
      case Purpose::stage: return Stretch::wire;
      case Purpose::unstage: return Stretch::reduced;
      case Purpose::accumulate:  // of a distributed weight, before the owner reduces; else onto what the
                                 // consumer gets, or onto what still has to be reduced
        if (is_distributed(op)) return Stretch::local;
        return is_owned_[static_cast<std::size_t>(buffer(op, 1).value)] ? Stretch::reduced : Stretch::outer;
      default: break;
    }
    const bool is_sum_of_autograd = is_in_autograd(buffer(op, 0)) && is_in_autograd(buffer(op, 1));
    if (!is_sum_of_autograd) return std::nullopt;
    return is_chain_[static_cast<std::size_t>(buffer(op, 1).value)] ? Stretch::local : Stretch::autograd;
  }

  bool is_distributed(const Op& op) const {
    const std::int32_t parameter = op.why.parameter.value;
    return parameter >= 0 && plan_.parameters[static_cast<std::size_t>(parameter)].shards > 0;
  }

  const Plan& plan_;
  std::vector<bool> is_owned_;  // a buffer: the consumer reads it
  std::vector<bool> is_chain_;  // a buffer of autograd: products are added to it
};

/// True when a cast of `from` into `to` can change the value.
bool loses(DType from, DType to) {
  return from != to && to != DType::f32;
}

std::string_view text_of(Stretch stretch) {
  constexpr std::string_view texts[] = {"autograd's sum", "local accumulation", "the reduction",
                                        "the outer reduction", "accumulation of reduced gradients"};
  return texts[static_cast<int>(stretch)];
}

std::string_view verb_of(Stretch stretch) {
  constexpr std::string_view verbs[] = {
      "autograd holds a gradient", "contributions are accumulated, before the reduction,",
      "the gradient is reduced", "sums of outer groups are held", "the reduced gradient is kept"};
  return verbs[static_cast<int>(stretch)];
}

class Flow {
 public:
  Flow(const Plan& plan, const Pipeline& pipeline)
      : plan_(plan), pipeline_(pipeline), reporter_(plan), trails_(plan) {}

  void apply(OpIndex index) {
    index_ = index;
    op_ = &plan_.ops[static_cast<std::size_t>(index.value)];
    if (const auto* lease = std::get_if<OpenLease>(&op_->action))
      reporter_.open_lease(lease->bucket, plan_.operand(*op_, 0)[0]);
    const Move move = pipeline_.move_of(*op_);
    if (move.target < 0) return forget();
    for (std::size_t i = 0; i < plan_.ranks_of(*op_).size(); ++i) {
      if (move.to)
        follow_step(move, i);
      else if (move.source >= 0)
        follow_detour(i);
    }
  }

  std::vector<Finding> take() {
    std::vector<Finding> findings = reporter_.take();
    std::ranges::stable_sort(findings, {}, &Finding::op);
    return findings;
  }

 private:
  Rank rank(std::size_t i) const { return plan_.ranks_of(*op_)[i]; }
  View view(int operand, std::size_t i) const { return plan_.operand(*op_, operand)[i]; }
  DType type_of(BufferId buffer) const { return plan_.buffer(buffer).dtype; }

  /// New content, or none.
  void forget() {
    const bool writes = access_of(op_->action).writes & 1;
    const bool resets = writes && !std::holds_alternative<Scale>(op_->action);
    if (!resets || op_->operands == 0 || op_->ranks == 0 || !pipeline_.is_gradient(view(0, 0).buffer)) return;
    for (std::size_t i = 0; i < plan_.ranks_of(*op_).size(); ++i) trails_.set(rank(i), view(0, i), {});
  }

  /// A step of the pipeline: what it takes must be as declared, and so must be the type that it writes.
  void follow_step(const Move& move, std::size_t i) {
    const Stretch to = *move.to;
    const View target = view(move.target, i);
    const auto* gemm = std::get_if<Gemm>(&op_->action);
    const bool keeps_target =
        (gemm != nullptr && gemm->accumulate) || std::holds_alternative<Add>(op_->action);
    Trail trail{.at = to};
    if (gemm != nullptr && to == Stretch::autograd) trail.produced = index_;
    if (move.source >= 0) {
      for (const TrailPiece& piece : trails_.of(rank(i), view(move.source, i))) {
        judge_trail(piece, i, to);
        if (to == Stretch::autograd && piece.trail.produced.value >= 0) trail.produced = piece.trail.produced;
      }
    }
    if (keeps_target) {
      for (const TrailPiece& piece : trails_.of(rank(i), target)) judge_trail(piece, i, to);
    }
    judge_type(target, i, to);
    trails_.set(rank(i), target, trail);
  }

  void judge_trail(const TrailPiece& piece, std::size_t i, Stretch to) {
    const Trail& trail = piece.trail;
    // By the hook, or by autograd, whose sum is a local one under R8.
    const bool is_folded =
        op_->why.purpose == Purpose::fold || pipeline_.is_in_autograd(view(op_->operands - 1, 0).buffer);
    if (trail.produced.value >= 0 && to != Stretch::autograd && !is_folded) {
      const DType type = type_of(piece.view.buffer);
      if (type == plan_.declared->local) return;
      report(
          "W16", trail.produced, i, piece.view, to,
          fmt::format("a fused write leaves its gradient in {} ({}), the parameter's type, from where "
                      "op {} takes it to its destination; declared: {}",
                      name_of(type), buffer_name(piece.view.buffer), index_.value, to_text(*plan_.declared)));
    } else if (trail.rounded.value >= 0) {
      const Op& by = plan_.ops[static_cast<std::size_t>(trail.rounded.value)];
      const bool is_producers = by.why.use >= 0 && trail.at == Stretch::local;
      report(
          is_producers ? "W16" : "W38", trail.rounded, i, piece.view, to,
          fmt::format("{} passes through {} ({}) between {} and {}; declared: {}",
                      is_producers ? "a fused write" : "the gradient", name_of(type_of(trail.through)),
                      buffer_name(trail.through), text_of(trail.at), end_of(to), to_text(*plan_.declared)));
    }
  }

  void judge_type(View target, std::size_t i, Stretch to) {
    if (to == Stretch::autograd && op_->why.parameter.value < 0) return;
    const DType type = type_of(target.buffer), wanted = pipeline_.declared_type(*op_, to);
    if (type == wanted) return;
    const bool is_detour = Pipeline::is_chained(*op_) && loses(wanted, type);
    report(is_detour ? "W16" : "W38", index_, i, target, to,
           fmt::format("{} in {} ({}), not in {}{}; declared: {}", verb_of(to), name_of(type),
                       buffer_name(target.buffer), name_of(wanted),
                       loses(wanted, type) ? "" : ", so that a rounding of the pipeline is left out",
                       to_text(*plan_.declared)));
  }

  /// A move that no pipeline has. It is no breach by itself: only what comes back to the pipeline is.
  void follow_detour(std::size_t i) {
    const View from = view(0, i), to = view(1, i);
    const bool adds = std::holds_alternative<Add>(op_->action);
    for (const TrailPiece& piece : trails_.of(rank(i), from)) {
      Trail trail = piece.trail;
      const View target{to.buffer, piece.view.offset - from.offset + to.offset, piece.view.numel};
      if (trail.rounded.value < 0 && loses(type_at(trail, piece.view), type_of(to.buffer))) {
        trail.rounded = index_;
        trail.through = to.buffer;
      }
      if (!adds || trail.rounded.value >= 0) trails_.set(rank(i), target, trail);
    }
  }

  std::string_view end_of(Stretch to) const {
    const bool consumes = std::holds_alternative<Finish>(op_->action) || op_->why.purpose == Purpose::consume;
    return consumes ? "the consumer" : text_of(to);
  }

  /// The type that the content is declared to have where it is.
  DType type_at(const Trail& trail, View view) const {
    if (trail.at == Stretch::autograd) return type_of(view.buffer);
    return pipeline_.declared_type(*op_, trail.at);
  }

  const std::string& buffer_name(BufferId buffer) const { return plan_.buffer(buffer).name; }

  /// One finding for every parameter in the bytes that has none of this kind yet.
  void report(std::string_view clause, OpIndex op, std::size_t i, View bytes, Stretch to,
              const std::string& sentence) {
    reporter_.begin_op(op);
    const ParamId of_op = op_->why.parameter;
    std::vector<Reporter::Place> places;
    if (of_op.value >= 0)
      places.push_back(reporter_.place(rank(i), bytes.buffer, bytes.offset).value_or(Reporter::Place{of_op}));
    else
      places = reporter_.places(rank(i), bytes);
    for (const Reporter::Place& place : places) {
      if (reported_.emplace(clause, place.parameter.value, to).second)
        reporter_.report(clause, rank(i), place, sentence);
    }
  }

  const Plan& plan_;
  const Pipeline& pipeline_;
  Reporter reporter_;
  TypeTrails trails_;
  OpIndex index_{-1};
  const Op* op_ = nullptr;
  std::set<std::tuple<std::string_view, std::int32_t, Stretch>> reported_;
};

}  // namespace

std::vector<Finding> judge_roundings(const Plan& plan, std::span<const OpIndex> executed) {
  if (!plan.declared) return {};
  const Pipeline pipeline(plan);
  const bool as_declared = std::ranges::none_of(executed, [&](OpIndex index) {
    return pipeline.is_suspicious(plan.ops[static_cast<std::size_t>(index.value)]);
  });
  if (as_declared) return {};
  Flow flow(plan, pipeline);
  for (const OpIndex index : executed) flow.apply(index);
  return flow.take();
}

}  // namespace shardcheck
