#include "properties/gemm_law/execute.h"

#include "core/error.h"
#include "core/numerics/gemm.h"
#include "core/plan/builder.h"

namespace shardcheck {

Plan plan_of(const GemmCase& c) {
  Plan plan;
  PlanBuilder build(plan);
  const auto operand = [&](const char* name, DType type, std::int64_t numel) {
    return build.whole(build.buffer(name, BufferRole::inputs, type, numel));
  };
  const auto scales = [&](const char* name, ScaleKind kind, std::int64_t rows) {
    return operand(name, DType::f32, scale_count(static_cast<ScaleMode>(kind), rows, c.op.k));
  };
  const View a = operand("A", c.a, c.op.m * c.op.k), b = operand("B", c.b, c.op.n * c.op.k);
  const View scales_a = scales("scales of A", c.op.scales_a, c.op.m);
  const View scales_b = scales("scales of B", c.op.scales_b, c.op.n);
  const View d = operand("D", c.d, c.op.m * c.op.n);
  const Rank rank{0};
  build.op(c.op, {}, Stream::compute, std::span(&rank, 1)).on(a).on(b).on(scales_a).on(scales_b).on(d);
  return plan;
}

std::vector<std::byte> execute_gemm(Backend& backend, const GemmCase& c, const GemmInputs& inputs) {
  const Plan plan = plan_of(c);
  const Rank rank{0};
  const auto operand = [&](int index) { return plan.operand(plan.ops.front(), index).front(); };
  const bool is_here = backend.holds(plan, rank);
  const auto write = [&](int index, std::span<const std::byte> bytes) {
    if (is_here) backend.write(plan, rank, operand(index), bytes);
  };
  write(0, inputs.a);
  write(1, inputs.b);
  write(2, std::as_bytes(std::span(inputs.scales_a)));
  write(3, std::as_bytes(std::span(inputs.scales_b)));
  write(4, inputs.c);
  backend.execute(plan, OpIndex{0}, OpIndex{1});
  if (!is_here) return {};
  std::vector<std::byte> d(inputs.c.size());
  backend.read(plan, rank, operand(4), d);
  return d;
}

bool refuses(Backend& backend, const GemmCase& c) {
  if (!backend.holds(plan_of(c), Rank{0})) return true;
  try {
    execute_gemm(backend, c, inputs_of(c));
  } catch (const Error&) {
    return true;
  }
  return false;
}

}  // namespace shardcheck
