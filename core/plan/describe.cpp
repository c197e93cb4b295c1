// Ops in words. One sentence a kind of action; the reason and the place are the same for all.
#include <fmt/format.h>

#include "core/numerics/cast_policy.h"
#include "core/plan/plan.h"
#include "core/recipe/catalogue.h"

namespace shardcheck {
namespace {

std::string_view name_of(Collective collective) {
  constexpr std::string_view names[] = {"all-reduce", "reduce-scatter", "all-gather"};
  return names[static_cast<int>(collective)];
}

std::string_view name_of(Returned what) {
  constexpr std::string_view names[] = {"a real gradient",       "a placeholder", "a zeroed placeholder",
                                        "an alias of main_grad", "nothing",       "param.grad itself"};
  return names[static_cast<int>(what)];
}

std::string_view name_of(HookAction action) {
  constexpr std::string_view names[] = {"drops param.grad", "adds param.grad", "copies param.grad",
                                        "zero-fills the range", "does nothing"};
  return names[static_cast<int>(action)];
}

/// "te-mxfp8, rows" of an op on blocks.
std::string name_of(const BlockCopy& of) {
  return fmt::format("{}, {}", recipe::recipes()[static_cast<std::size_t>(of.recipe)].name,
                     of.direction == recipe::Direction::row ? "rows" : "columns");
}

/// What an accumulation adds to.
std::string_view shard_of(const Plan& plan, const Op& op) {
  const bool is_on_host =
      op.operands > 1 && op.ranks > 0 && plan.buffer(plan.operand(op, 1)[0].buffer).on_host;
  return is_on_host ? "the host's shard" : "the shard";
}

std::string verb_of_add(const Plan& plan, const Op& op) {
  const Purpose purpose = op.why.purpose;
  if (purpose == Purpose::fold) return "fold (add) param.grad";
  if (purpose == Purpose::accumulate)
    return fmt::format("accumulate the reduced gradient onto {}", shard_of(plan, op));
  return "add";
}

std::string verb_of_copy(const Plan& plan, const Op& op) {
  const Purpose purpose = op.why.purpose;
  if (purpose == Purpose::fold) return "fold (copy) param.grad";
  if (purpose == Purpose::accumulate)
    return fmt::format("copy the reduced gradient over {}", shard_of(plan, op));
  if (purpose == Purpose::stage) return "copy the local sums into the communication buffer";
  if (purpose == Purpose::unstage) return "copy the reduced gradient back";
  return "copy";
}

}  // namespace

std::string describe(const Communicate& c) {
  const char* what = c.collective == Collective::all_gather ? ""
                     : c.reduction == Reduction::sum        ? " (sum)"
                     : c.reduction == Reduction::average    ? " (average)"
                                                            : " (maximum)";
  return fmt::format("{}{}", name_of(c.collective), what);
}

namespace {

struct Verb {
  const Plan& plan;
  const Op& op;
  std::string operator()(const Allocate&) const { return "allocate"; }
  std::string operator()(const Undefine&) const { return "leave undefined"; }
  std::string operator()(const Fill& fill) const {
    return fill.value == 0 ? "zero" : fmt::format("fill with {}", fill.value);
  }
  std::string operator()(const Gemm& gemm) const {
    return fmt::format("wgrad GEMM, beta = {}, {} token{}", gemm.accumulate ? 1 : 0, gemm.tokens,
                       gemm.tokens == 1 ? "" : "s");
  }
  std::string operator()(const Copy&) const { return verb_of_copy(plan, op); }
  std::string operator()(const Cast& cast) const {
    return fmt::format("cast ({})", kCastPolicies[static_cast<std::size_t>(cast.policy)].name);
  }
  std::string operator()(const Quantize& quantize) const {
    return fmt::format("quantise ({})", kCastPolicies[static_cast<std::size_t>(quantize.policy)].name);
  }
  std::string operator()(const Dequantize&) const { return "dequantise"; }
  std::string operator()(const Matmul& matmul) const {
    return fmt::format("GEMM {} x {} x {}, beta = {}{}", matmul.m, matmul.n, matmul.k,
                       matmul.accumulate ? 1 : 0, matmul.fast_accumulation ? ", fast accumulation" : "");
  }
  std::string operator()(const TakeAmax& take) const {
    return fmt::format("take amaxes ({}) of elements from {}", name_of(take.of), take.start);
  }
  std::string operator()(const ScaleFromAmax& scale) const {
    return fmt::format("scales from amaxes ({})", name_of(scale.of));
  }
  std::string operator()(const QuantizeBlocks& quantize) const {
    return fmt::format("quantise ({}) elements from {}", name_of(quantize.of), quantize.start);
  }
  std::string operator()(const DequantizeBlocks& dequantize) const {
    return fmt::format("dequantise ({}) elements from {}", name_of(dequantize.of), dequantize.start);
  }
  std::string operator()(const QuantizeMatrix& quantize) const {
    return fmt::format("quantise a whole matrix ({})",
                       recipe::recipes()[static_cast<std::size_t>(quantize.of.recipe)].name);
  }
  std::string operator()(const DeriveColumnCopy& derive) const {
    return fmt::format("derive the column copy ({}) of the codes",
                       recipe::recipes()[static_cast<std::size_t>(derive.of.recipe)].name);
  }
  std::string operator()(const CloseDelayedStep&) const { return "close a step of delayed scaling"; }
  std::string operator()(const Add&) const { return verb_of_add(plan, op); }
  std::string operator()(const Scale& scale) const { return fmt::format("scale by {}", scale.factor); }
  std::string operator()(const Communicate& c) const {
    return fmt::format("{} over groups of {}", describe(c), c.group);
  }
  std::string operator()(const Enqueue& enqueue) const { return "call " + (*this)(enqueue.what); }
  std::string operator()(const SgdStep& sgd) const {
    return fmt::format("optimizer step, rate {}", sgd.rate);
  }
  std::string operator()(const Record& record) const {
    return fmt::format("record event {}", record.event.value);
  }
  std::string operator()(const Wait& wait) const {
    return fmt::format("wait for event {}", wait.event.value);
  }
  std::string operator()(const BeginGraph& begin) const {
    return fmt::format("begin of graph {}", begin.graph.value);
  }
  std::string operator()(const EndGraph&) const { return "end of graph"; }
  std::string operator()(const BeginStep&) const { return "begin of step"; }
  std::string operator()(const BeginMicrobatch&) const { return "begin of microbatch"; }
  std::string operator()(const OpenLease&) const { return "open a lease"; }
  std::string operator()(const Acquire&) const { return "acquire"; }
  std::string operator()(const CloseLease&) const { return "return the lease to the pool"; }
  std::string operator()(const Flag& flag) const {
    return fmt::format("grad_added_to_main_grad := {}", flag.value ? "True" : "False");
  }
  std::string operator()(const Return& r) const {
    return fmt::format("return {} to autograd", name_of(r.what));
  }
  std::string operator()(const Hook& hook) const {
    return fmt::format("owner's hook {}", name_of(hook.action));
  }
  std::string operator()(const Ready&) const { return "ready for reduction"; }
  std::string operator()(const Finish&) const { return "finish: the consumer may read"; }
  std::string operator()(const EndStep&) const { return "end of step"; }
  std::string operator()(const BeginRecompute& recompute) const {
    return fmt::format("unit {} is computed again", recompute.unit);
  }
  std::string operator()(const EndRecompute&) const { return "end of what is computed again"; }
  std::string operator()(const Interrupt& interrupt) const {
    return interrupt.ended == Ended::attempt ? "the step is given up" : "the process ends, another goes on";
  }
};

std::string reason_of(const Plan& plan, const Why& why) {
  std::string reason;
  if (why.parameter.value >= 0) {
    reason += fmt::format(" of {}", plan.parameters[static_cast<std::size_t>(why.parameter.value)].name);
  }
  std::string where;
  const auto append = [&](std::string_view name, int value) {
    if (value >= 0) where += fmt::format("{}{} {}", where.empty() ? "" : ", ", name, value);
  };
  append("use", why.use);
  append("microbatch", why.microbatch);
  append("step", why.step);
  return where.empty() ? reason : fmt::format("{} ({})", reason, where);
}

}  // namespace

std::string describe(std::span<const Rank> ranks) {
  if (ranks.empty()) return "no rank";
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0].value);
  bool consecutive = true;
  for (std::size_t i = 1; i < ranks.size(); ++i) consecutive &= ranks[i].value == ranks[i - 1].value + 1;
  if (consecutive) return fmt::format("ranks {} to {}", ranks.front().value, ranks.back().value);
  std::string list;
  for (Rank rank : ranks) list += fmt::format("{}{}", list.empty() ? "" : ", ", rank.value);
  return "ranks " + list;
}

std::string describe(const Plan& plan, const Op& op) {
  std::string text = std::visit(Verb{plan, op}, op.action) + reason_of(plan, op.why);
  if (op.operands > 0 && op.ranks > 0) {
    int last = op.operands - 1;
    while (last > 0 && plan.operand(op, last)[0].numel == 0) --last;  // an operand that is not wanted
    const View target = plan.operand(op, last)[0];
    text += fmt::format(" in {}[{}:{})", plan.buffer(target.buffer).name, target.offset,
                        target.offset + target.numel);
  }
  return text + " on " + describe(plan.ranks_of(op));
}

}  // namespace shardcheck
