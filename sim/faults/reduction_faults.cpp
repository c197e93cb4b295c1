// Faults of the reduction: missing, early, repeated, over the wrong bytes, read too soon.
#include "sim/faults/kinds.h"
#include "sim/faults/prepare.h"

namespace shardcheck {
namespace {

bool is_reduction(const Op& op) {
  return op.why.purpose == Purpose::reduce;
}
bool writes_main(const PlanEdit& edit, const Op& op) {
  return std::holds_alternative<Gemm>(op.action) && edit.role(op, 2) == BufferRole::main_grad;
}

bool never_reduced(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_reduction(edit.op(i))) edit.erase(i);
  }
  return edit.commit();
}

/// The synchronous mode reduces in start and again in finish.
bool reduced_again(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (is_reduction(edit.op(i))) edit.insert_after(i, edit.op(i));
  }
  return edit.commit();
}

/// The bucket is reduced before the last write of the step: the write is moved behind the launch.
bool reduced_early(Planned& planned, const Scenario&, bool overlapping) {
  PlanEdit edit(planned);
  std::int32_t write = -1;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    if (writes_main(edit, op) && op.why.parameter.value == 0) write = i;
    if (!is_reduction(op) || write < 0 || edit.role(op, 0) != BufferRole::main_grad) continue;
    if ((op.stream == Stream::reduce) != overlapping) continue;
    const View bucket = edit.view(op, 0), written = edit.view(edit.op(write), 2);
    const bool covers = bucket.buffer == written.buffer && bucket.offset <= written.offset &&
                        written.offset < bucket.offset + bucket.numel;
    if (!covers) continue;
    edit.insert_after(i, edit.op(write));
    edit.erase(write);
    write = -1;
  }
  return edit.commit();
}
bool written_in_flight(Planned& planned, const Scenario& s) {
  return reduced_early(planned, s, true);
}
bool written_after(Planned& planned, const Scenario& s) {
  return reduced_early(planned, s, false);
}

/// The reduction does not wait for the stream that writes.
bool launch_not_fenced(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const bool waits = std::holds_alternative<Wait>(edit.op(i).action) && edit.op(i).stream == Stream::reduce;
    if (waits) edit.erase(i);
  }
  return edit.commit();
}

/// The consumer does not wait for the reduction; what comes after the step does.
bool finish_not_fenced(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  std::vector<Op> late;
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op& op = edit.op(i);
    const bool waits = std::holds_alternative<Wait>(op.action) && op.stream == Stream::compute;
    if (waits && op.why.microbatch < 0) {
      late.push_back(op);
      edit.erase(i);
    }
    if (!std::holds_alternative<EndStep>(op.action)) continue;
    for (const Op& wait : late) edit.insert_after(i, wait);
    late.clear();
  }
  return edit.commit();
}

/// The reduced communication buffer is never copied back to where the optimizer reads.
bool not_copied_back(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    if (edit.op(i).why.purpose == Purpose::unstage) edit.erase(i);
  }
  return edit.commit();
}

/// A bucket as large as the limit loses its last parameter to the next one, which nobody reduces.
bool last_parameter_left_out(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    // A reduce-scatter without one of its parameters would not be cut into equal parts.
    const auto* communicate = std::get_if<Communicate>(&op.action);
    if (!is_reduction(op) || communicate->collective != Collective::all_reduce) continue;
    for (const Placement& p : edit.plan().placements) {
      const View bucket = edit.view(op, 0);
      const bool inside = p.parameter.value == 0 && p.view.buffer == bucket.buffer &&
                          p.view.offset >= bucket.offset &&
                          p.view.offset + p.view.numel <= bucket.offset + bucket.numel;
      if (!inside) continue;
      const View before{bucket.buffer, bucket.offset, p.view.offset - bucket.offset};
      const std::int64_t end = p.view.offset + p.view.numel;
      const View after{bucket.buffer, end, bucket.offset + bucket.numel - end};
      edit.insert_after(i, edit.with_views(op, 2, [&](std::int8_t, std::int32_t) { return before; }));
      edit.insert_after(i, edit.with_views(op, 2, [&](std::int8_t, std::int32_t) { return after; }));
      edit.erase(i);
      break;
    }
  }
  return edit.commit();
}

/// Each rank hands its neighbour's slice to the optimizer: the part that the reduce-scatter left stale.
bool neighbours_slice(Planned& planned, const Scenario&) {
  PlanEdit edit(planned);
  for (std::int32_t i = 0; i < edit.size(); ++i) {
    const Op op = edit.op(i);
    if (!std::holds_alternative<Finish>(op.action) || op.ranks < 2 ||
        edit.view(op, 0, 0) == edit.view(op, 0, 1))
      continue;
    Op& moved = edit.change(i);
    moved = edit.with_views(op, 1, [&](std::int8_t, std::int32_t r) {
      return edit.plan().operand(op, 0)[static_cast<std::size_t>((r + 1) % op.ranks)];
    });
  }
  return edit.commit();
}

void persistent_many(Scenario& s) {
  prepare::two_ranks(s);
  prepare::persistent(s);
  prepare::fused(s);
  prepare::repair(s);
}
void all_reduced(Scenario& s) {
  persistent_many(s);
  s.strategy = Strategy::megatron_ddp;
  s.parameters.front().expert = false;
  s.comm = s.main_grad;
}
void unscaled(Scenario& s) {
  persistent_many(s);
  s.loss = Loss::per_token;
  s.parameters.front().expert = false;
}
void overlapped(Scenario& s) {
  persistent_many(s);
  s.strategy = Strategy::fsdp_optim;
  s.overlap = true;
  s.comm = s.main_grad;
  s.parameters.front().expert = false;
}
void synchronous(Scenario& s) {
  overlapped(s);
  s.overlap = false;
}
void staged(Scenario& s) {
  persistent_many(s);
  s.main_grad = DType::f32;
  s.comm = DType::bf16;
  s.parameters.front().expert = false;
}
void sliced(Scenario& s) {
  persistent_many(s);
  s.strategy = Strategy::megatron_ddp_zero1;
  s.parameters.front().expert = false;
  s.parameters.front().shape = {4, 64};
}

}  // namespace

void add_reduction_faults(std::vector<Fault>& zoo) {
  zoo.insert(
      zoo.end(),
      {
          {"B-32", "deepspeedai/DeepSpeed#8061 (K14)",
           "the reduction does not wait for the stream that wrote the bucket", "W21", overlapped,
           launch_not_fenced},
          {"B-37", "NVIDIA/Megatron-LM#775", "the gradient is reduced in start and again in finish", "W27",
           unscaled, reduced_again},
          {"B-42", "NVIDIA/Megatron-LM#4891, verl-project/verl#7493 (B-48)",
           "the last-microbatch marker is never set, so nothing is reduced", "W29", persistent_many,
           never_reduced},
          {"M-W28", "ours: no public report",
           "a rank's consumer reads a slice that the reduce-scatter left stale", "W28", sliced,
           neighbours_slice},
          {"B-53", "NVIDIA/Megatron-LM#2837",
           "a hook counter launches the bucket before its last contribution", "W21", synchronous,
           written_after},
          {"K10", "deepspeedai/DeepSpeed#5154, #5170", "the reduction runs on a buffer that nobody reads",
           "W28", staged, not_copied_back},
          {"K17", "deepspeedai/DeepSpeed#4321",
           "a parameter as large as the bucket is left out of its reduction", "W29", all_reduced,
           last_parameter_left_out},
          {"M-W22", "ours: B-25 and K05 on streams of their own",
           "a reduction starts before the last write, which then lands in flight", "W22", overlapped,
           written_in_flight},
          {"M-W23", "ours: the wait in finish is missing",
           "the consumer reads before the reduction has finished", "W23", overlapped, finish_not_fenced},
      });
}

}  // namespace shardcheck
