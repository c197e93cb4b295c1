#include "sim/cost/tensor_work.h"

#include "core/layout/models/named_models.h"

namespace shardcheck::cost {
namespace {

constexpr double kActivation = 2;  // bytes: bf16

/// A persistent destination is read and written, a lease or a fresh gradient only written.
double destination_bytes(const StepJob& job) {
  const bool is_persistent = job.system->sharded <= Sharded::optimizer && !job.system->packs;
  return (is_persistent ? 2 : 1) * gradient_bytes(job);
}

TensorWork touches(double bytes, const StepJob& job) {
  return {touch_seconds(bytes, job.gpu), bytes};
}

TensorWork look_up(const StepJob& job, double rows, double columns, Work work) {
  if (work == Work::dgrad) return {.is_needed = false};
  const double activations = rows * columns * kActivation;
  if (work == Work::forward) return touches(2 * activations, job);
  return touches(activations + rows * columns * destination_bytes(job), job);
}

}  // namespace

double gradient_bytes(const StepJob& job) {
  if (job.system->packs) return kActivation;
  return job.system->sharded <= Sharded::optimizer ? job.widths.gradient : job.widths.gradient_wire;
}

TensorWork tensor_work(const StepJob& job, const layout::Parameter& parameter, Work work) {
  const double tokens = parameter.expert ? job.expert_tokens : job.tokens;
  const auto numel = static_cast<double>(parameter.numel());
  if (parameter.shape.size() < 2) return touches(2 * tokens * numel * kActivation, job);
  const auto columns = static_cast<double>(parameter.shape.back());
  if (layout::is_lookup(parameter)) return look_up(job, tokens, columns, work);
  const double rows = columns == 0 ? 0 : numel / columns;
  const double weight = numel * (work == Work::wgrad ? destination_bytes(job) : job.widths.weight);
  const double bytes = weight + tokens * (rows + columns) * kActivation;
  return {product_seconds({tokens, rows, columns, job.is_8bit}, bytes, job.gpu), bytes};
}

}  // namespace shardcheck::cost
