// Faults of the type: a gradient passes through one that nobody declared, or a declared rounding is left out.
#include <algorithm>

#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"

namespace shardcheck {
namespace {

/// A buffer like `of` in another type. Parameters lie in it as they lie in `of`.
BufferId add_twin(PlanEdit& edit, Plan& plan, BufferId of, DType type) {
  const BufferId twin{static_cast<std::int32_t>(plan.buffers.size())};
  Buffer buffer = plan.buffer(of);
  buffer.name += "." + std::string(name_of(type));
  buffer.dtype = type;
  plan.buffers.push_back(buffer);
  for (std::size_t i = 0, known = plan.placements.size(); i < known; ++i) {
    Placement placement = plan.placements[i];
    if (placement.view.buffer != of) continue;
    placement.view.buffer = twin;
    plan.placements.push_back(placement);
  }
  std::int32_t first = 0;  // an op of all ranks
  while (!std::holds_alternative<Allocate>(edit.op(first).action)) ++first;
  edit.insert_before(first, edit.with_views(edit.op(first), 1, [&](std::int8_t, std::int32_t) {
    return View{twin, 0, buffer.numel};
  }));
  return twin;
}

/// Twins of buffers, each made when it is first asked for.
class Twins {
 public:
  Twins(PlanEdit& edit, Plan& plan, DType type) : edit_(edit), plan_(plan), type_(type) {}

  View of(View view) {
    const auto known = std::ranges::find(pairs_, view.buffer, &std::pair<BufferId, BufferId>::first);
    if (known != pairs_.end()) return {known->second, view.offset, view.numel};
    pairs_.emplace_back(view.buffer, add_twin(edit_, plan_, view.buffer, type_));
    return {pairs_.back().second, view.offset, view.numel};
  }

 private:
  PlanEdit& edit_;
  Plan& plan_;
  DType type_;
  std::vector<std::pair<BufferId, BufferId>> pairs_;
};

/// `like` as a copy between operand `operand` of `op` and its twin, out or back.
enum class Way : std::uint8_t { out, back };
Op copy_of(PlanEdit& edit, Twins& twins, const Op& op, int operand, Way way, Purpose purpose) {
  Op copy = edit.with_views(op, 2, [&](std::int8_t side, std::int32_t r) {
    const View original = edit.view(op, operand, r);
    const bool is_twin = (side == 1) == (way == Way::out);
    return is_twin ? twins.of(original) : original;
  });
  copy.action = Copy{};
  copy.why.purpose = purpose;
  return copy;
}

bool is_fused_write_of_first(const PlanEdit& edit, const Op& op) {
  if (op.why.parameter.value != 0 || !std::holds_alternative<Gemm>(op.action)) return false;
  return edit.role(op, 2) == BufferRole::main_grad || edit.role(op, 2) == BufferRole::lease_slot;
}

/// What autograd would hold of the first parameter's fused use, in the parameter's type.
View add_temporary(PlanEdit& edit, Plan& plan) {
  const PlanParameter& p = plan.parameters[0];
  const auto held = std::ranges::find(plan.buffers, p.name + ".grad", &Buffer::name);
  const BufferId like{static_cast<std::int32_t>(held - plan.buffers.begin())};
  return {add_twin(edit, plan, like, p.dtype), 0, p.numel()};
}

/// Calls detour(edit, i, write, temporary) for every fused write of the first parameter.
template <class Detour>
bool by_temporary(Planned& planned, Detour detour) {
  PlanEdit edit(planned);
  View temporary{};
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op write = edit.op(i);
    if (!is_fused_write_of_first(edit, write)) continue;
    if (temporary.numel == 0) temporary = add_temporary(edit, planned.plan);
    temporary.numel = edit.view(write, 2).numel;  // of one expert, where the weight holds several
    detour(edit, i, write, temporary);
  }
  return edit.commit();
}

/// The GEMM of a fused use writes a temporary in the parameter's type, which is then copied or added.
bool write_by_temporary(Planned& planned, const Scenario&) {
  return by_temporary(planned, [](PlanEdit& edit, std::int32_t i, const Op& write, View temporary) {
    Op moved = edit.with_views(write, 2, [&](std::int8_t side, std::int32_t r) {
      return side == 0 ? temporary : edit.view(write, 2, r);
    });
    const bool adds = std::get<Gemm>(write.action).accumulate;
    moved.action = adds ? Action(Add{}) : Action(Copy{});
    edit.insert_after(i, moved);
    Op& gemm = edit.change(i);
    gemm = edit.with_views(write, 3, [&](std::int8_t operand, std::int32_t r) {
      return operand == 2 ? temporary : edit.view(write, operand, r);
    });
    std::get<Gemm>(gemm.action).accumulate = false;
  });
}

/// The GEMM is told the parameter's type for its output: what it leaves in main_grad is rounded to it.
bool output_in_parameter_type(Planned& planned, const Scenario&) {
  return by_temporary(planned, [](PlanEdit& edit, std::int32_t i, const Op& write, View temporary) {
    for (const std::int8_t there : {std::int8_t{1}, std::int8_t{0}}) {
      Op copy = edit.with_views(write, 2, [&](std::int8_t side, std::int32_t r) {
        return side == there ? temporary : edit.view(write, 2, r);
      });
      copy.action = Copy{};
      copy.why.purpose = Purpose::none;
      edit.insert_after(i, copy);
    }
  });
}

bool holds_sums(BufferRole role) {
  return role == BufferRole::main_grad || role == BufferRole::shard;
}

/// Microbatches are accumulated in bf16, in a buffer of their own; what leaves it is converted.
bool accumulated_in_bf16(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  Twins twins(edit, planned.plan, DType::bf16);
  std::vector<View> converted;  // in this step
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (std::holds_alternative<BeginStep>(op.action)) converted.clear();
    if (op.operands == 0) continue;
    const int last = op.operands - 1;
    const Purpose purpose = op.why.purpose;
    const bool sums = purpose == Purpose::zero || purpose == Purpose::write || purpose == Purpose::fold ||
                      purpose == Purpose::accumulate;
    if (sums && holds_sums(edit.role(op, last))) {
      edit.change(i) = edit.with_views(op, op.operands, [&](std::int8_t operand, std::int32_t r) {
        const View view = edit.view(op, operand, r);
        return operand == last ? twins.of(view) : view;
      });
      continue;
    }
    const bool leaves = purpose == Purpose::scale || purpose == Purpose::stage ||
                        purpose == Purpose::reduce || purpose == Purpose::divide ||
                        std::holds_alternative<Finish>(op.action);
    if (!leaves || !holds_sums(edit.role(op, 0))) continue;
    const View whole = edit.view(op, 0);
    const bool is_known = std::ranges::any_of(converted, [&](View view) {
      return view.buffer == whole.buffer && view.offset <= whole.offset &&
             whole.offset < view.offset + view.numel;
    });
    if (is_known) continue;
    converted.push_back(whole);
    edit.insert_before(i, copy_of(edit, twins, op, 0, Way::back, Purpose::stage));
  }
  return edit.commit();
}

/// The reduction runs in bf16, between two casts.
bool reduced_in_bf16(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  Twins twins(edit, planned.plan, DType::bf16);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (op.why.purpose != Purpose::reduce) continue;
    edit.insert_before(i, copy_of(edit, twins, op, 0, Way::out, Purpose::stage));
    edit.insert_after(i, copy_of(edit, twins, op, 0, Way::back, Purpose::unstage));
    edit.change(i) = edit.with_views(
        op, 2, [&](std::int8_t operand, std::int32_t r) { return twins.of(edit.view(op, operand, r)); });
  }
  return edit.commit();
}

/// Local sums are rounded to bf16 and back right before the reduction.
bool rounded_before_reduction(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  Twins twins(edit, planned.plan, DType::bf16);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (op.why.purpose != Purpose::reduce) continue;
    edit.insert_before(i, copy_of(edit, twins, op, 0, Way::out, Purpose::none));
    edit.insert_before(i, copy_of(edit, twins, op, 0, Way::back, Purpose::none));
  }
  return edit.commit();
}

/// The communication buffer is in main_grad's type, although another is declared for the wire.
bool wire_not_cast(Planned& planned, const Scenario& s) {
  for (Buffer& buffer : planned.plan.buffers) {
    if (buffer.role == BufferRole::staging) buffer.dtype = s.main_grad;
  }
  return std::ranges::any_of(planned.plan.buffers,
                             [](const Buffer& buffer) { return buffer.role == BufferRole::staging; });
}

void all_f32(Scenario& s) {
  s.main_grad = DType::f32;
  s.comm = DType::f32;
}
void fused_bf16_weight(Scenario& s) {
  prepare::reference(s);
  prepare::fused(s);
  s.parameters.front().dtype = DType::bf16;
  all_f32(s);
}
void sums_over_microbatches(Scenario& s) {
  prepare::reference(s);
  prepare::fused(s);
  prepare::two_microbatches(s);
  all_f32(s);
}
void reduced_in_f32(Scenario& s) {
  prepare::two_ranks(s);
  prepare::persistent(s);
  prepare::fused(s);
  prepare::repair(s);
  s.parameters.front().expert = false;
  all_f32(s);
}
void bf16_wire(Scenario& s) {
  reduced_in_f32(s);
  s.comm = DType::bf16;
}

}  // namespace

void add_rounding_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"B-02b", "TransformerEngine ops/basic/basic_linear.py (read)",
           "a fused gradient is made in the parameter's type and copied or added from there", "W16",
           fused_bf16_weight, write_by_temporary},
          {"B-56", "ISEEKYAN/Megatron-LM#149, pytorch/pytorch#194628 (K06a)",
           "microbatches are accumulated in bf16 and converted only when they are reduced", "W38",
           sums_over_microbatches, accumulated_in_bf16},
          {"K02b", "NVIDIA/TransformerEngine#1618",
           "the fused GEMM is told the parameter's type for its output, not main_grad's", "W16",
           fused_bf16_weight, output_in_parameter_type},
          {"K06b", "NVIDIA/Megatron-LM#6624", "gradients are rounded to bf16 for a reduction in fp32", "W38",
           reduced_in_f32, reduced_in_bf16},
          {"M-W38a", "ours: no public report", "an extra cast on the way from the local sum to the wire",
           "W38", reduced_in_f32, rounded_before_reduction},
          {"M-W38b", "ours: no public report",
           "the wire is declared bf16, but fp32 is sent: a declared rounding is missing", "W38", bf16_wire,
           wire_not_cast},
      });
}

}  // namespace shardcheck
