// The story of a step: its ops as short words, so that a sequence of section 3 can stand in a test as it
// stands in the book. "@r" marks the reduce stream, "@g" that of graphs; what a graph holds stands between
// "<" and ">". Words that differ by purpose:
//   write0 write1  a fused write with its beta      grad   an unfused gradient in autograd
//   chain0 chain1  a product onto param.grad (R8)
//   fold= fold+    the hook's copy or add           acc= acc+   onto the shard
//   host= host+    onto a shard of the host
//   [ | ]          begin of step, of microbatch, end of step
#pragma once

#include <sstream>
#include <string>

#include "sim/planner/planner.h"
#include "tests/sim/scenario/cases.h"

namespace shardcheck::tests {

struct Word {
  const Plan& plan;
  const Op& op;

  std::string operator()(const Allocate&) const { return "allocate"; }
  std::string operator()(const Undefine&) const { return "undefine"; }
  std::string operator()(const Fill&) const {
    return op.why.purpose == Purpose::dummy ? "zero-dummy" : "zero";
  }
  std::string operator()(const Gemm& gemm) const {
    const bool is_chained = op.why.rule == BetaRule::gradient;
    if (is_chained) return gemm.accumulate ? "chain1" : "chain0";
    if (plan.buffer(plan.operand(op, 2)[0].buffer).role == BufferRole::param_grad) return "grad";
    return gemm.accumulate ? "write1" : "write0";
  }
  std::string operator()(const Copy&) const { return moved("="); }
  std::string operator()(const Add&) const { return moved("+"); }
  std::string operator()(const Scale&) const {
    return op.why.purpose == Purpose::divide ? "divide" : "scale";
  }
  std::string operator()(const Communicate& c) const {
    if (c.collective == Collective::all_gather) return "AG";
    if (c.reduction == Reduction::maximum) return "max";
    const std::string kind = c.collective == Collective::all_reduce ? "AR" : "RS";
    return kind + (c.reduction == Reduction::average ? "-avg" : "");
  }
  std::string operator()(const Enqueue&) const { return "call"; }
  std::string operator()(const SgdStep&) const { return "sgd"; }
  std::string operator()(const TakeAmax&) const { return "amax"; }
  std::string operator()(const ScaleFromAmax&) const { return "scales"; }
  std::string operator()(const QuantizeBlocks&) const { return "cast8"; }
  std::string operator()(const DequantizeBlocks&) const { return "decode8"; }
  std::string operator()(const QuantizeMatrix&) const { return "quantise8"; }
  std::string operator()(const DeriveColumnCopy&) const { return "derive"; }
  std::string operator()(const CloseDelayedStep&) const { return "close-step"; }
  std::string operator()(const Matmul&) const { return "product"; }
  std::string operator()(const BeginGraph&) const { return "<"; }
  std::string operator()(const EndGraph&) const { return ">"; }
  std::string operator()(const Record&) const { return "record"; }
  std::string operator()(const Wait&) const { return "wait"; }
  std::string operator()(const BeginStep&) const { return "["; }
  std::string operator()(const BeginMicrobatch&) const { return "|"; }
  std::string operator()(const OpenLease&) const { return "open"; }
  std::string operator()(const Acquire&) const { return "acquire"; }
  std::string operator()(const CloseLease&) const { return "close"; }
  std::string operator()(const Flag& flag) const { return flag.value ? "flag" : "unflag"; }
  std::string operator()(const Return& r) const {
    constexpr const char* names[] = {"real", "dummy", "zeroed-dummy", "alias", "nothing", "chained"};
    return names[static_cast<int>(r.what)];
  }
  std::string operator()(const Hook& hook) const {
    constexpr const char* names[] = {"drop", "hook+", "hook=", "hook0", "hook-nothing"};
    return names[static_cast<int>(hook.action)];
  }
  std::string operator()(const Ready&) const { return "ready"; }
  std::string operator()(const Finish&) const { return "finish"; }
  std::string operator()(const EndStep&) const { return "]"; }
  std::string operator()(const BeginRecompute&) const { return "recompute("; }
  std::string operator()(const EndRecompute&) const { return ")"; }
  std::string operator()(const Interrupt& i) const { return i.ended == Ended::attempt ? "abort" : "resume"; }
  template <class Other>
  std::string operator()(const Other&) const {
    return "?";
  }

 private:
  std::string moved(const char* how) const { return std::string(name_of(op.why.purpose)) + how; }
};

inline std::string word_of(const Plan& plan, const Op& op) {
  std::string word = std::visit(Word{plan, op}, op.action);
  if (word == "<" || word == ">") return word;
  if (word == "accumulate=" || word == "accumulate+")
    word.replace(0, 10, plan.buffer(plan.operand(op, 1)[0].buffer).on_host ? "host" : "acc");
  if (word == "stage=" || word == "unstage=") word.pop_back();
  if (word == "none+") word = "sum";
  return op.stream == Stream::reduce ? word + "@r" : op.stream == Stream::graph ? word + "@g" : word;
}

/// The words of a step, of one parameter's ops only when `parameter` is not -1. The count as ready, which
/// follows every last hook of a window, is left out.
inline std::string story(const Planned& planned, std::int32_t step, std::int32_t parameter = -1) {
  std::ostringstream text;
  for (std::size_t i = static_cast<std::size_t>(planned.setup_end.value); i < planned.plan.ops.size(); ++i) {
    const Op& op = planned.plan.ops[i];
    if (std::holds_alternative<Ready>(op.action)) continue;
    if (op.why.step != step || (parameter >= 0 && op.why.parameter.value != parameter)) continue;
    text << (text.tellp() > 0 ? " " : "") << word_of(planned.plan, op);
  }
  return text.str();
}

/// Two ranks, two steps of two microbatches, one fused 4x32 weight.
inline Scenario base(Strategy strategy) {
  Scenario s;
  s.strategy = strategy;
  s.parameters = {{.name = "w0", .shape = {4, 32}}};
  s.uses = {{.parameter = 0}};
  return s;
}

}  // namespace shardcheck::tests
