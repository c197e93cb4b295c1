#include "sim/oracle/exactness.h"

#include <algorithm>
#include <bit>

#include "core/numerics/bounds.h"

namespace shardcheck {
namespace {

bool is_power_of_two(std::int64_t n) {
  return std::has_single_bit(static_cast<std::uint64_t>(n));
}

/// All scales of the pipeline are powers of two, so that scaling is exact.
bool has_exact_scales(const Scenario& s, bool expert) {
  if (s.loss == Loss::per_token) return is_power_of_two(tokens_of_step(s));
  return is_power_of_two(s.ranks) && is_power_of_two(domain_size(s, expert));
}

std::int64_t unfused_uses(const Scenario& s, std::int32_t parameter) {
  return std::count_if(s.uses.begin(), s.uses.end(), [&](const ScenarioUse& use) {
    return use.parameter == parameter && is_unfused(use.producer, s.write_mode);
  });
}

/// Integer data: the largest possible sum of absolute values must fit the smallest significand it passes. A
/// partial sum is then an integer of at most that size (8.9).
bool integers_fit(const Scenario& s, const ScenarioData& data, std::int32_t parameter) {
  constexpr std::int64_t kLargestProduct = 4;  // of two integers -2..2
  const std::int64_t one = most_tokens(s) * kLargestProduct;
  const std::int64_t all = data.count_of(parameter) / s.steps * one;
  const int p = std::min(significand_of(s.main_grad), significand_of(s.comm));
  if (all > std::int64_t{1} << p) return false;
  const std::int32_t copy = tied_copy(s, parameter);
  const std::int64_t in_autograd =
      (unfused_uses(s, parameter) + (copy < 0 ? 0 : unfused_uses(s, copy))) * one;
  return in_autograd <= std::int64_t{1}
                            << significand_of(s.parameters[static_cast<std::size_t>(parameter)].dtype);
}

void add_roundings(RoundingPath& path, DType type, std::int64_t count) {
  (type == DType::f32 ? path.f32 : type == DType::bf16 ? path.bf16 : path.f16) += count;
}

/// The most roundings between a contribution and the consumer. GEMMs round once at their end; every sum is
/// counted with as many additions as it has terms.
RoundingPath path_of(const Scenario& s, const ScenarioData& data, std::int32_t parameter) {
  const ScenarioParameter& p = s.parameters[static_cast<std::size_t>(parameter)];
  const std::int64_t uses = data.uses_of(parameter), writes = uses * s.microbatches;
  RoundingPath path{0, 0, 0};
  const std::int64_t returned = unfused_uses(s, parameter);  // a fused gradient never has p's type (W16)
  if (returned > 0) add_roundings(path, p.dtype, 2 * returned + 2);  // autograd: store, sum, placeholder
  // A write rounds its product and its sum; local sums are in main_grad or, in a lease, in the comm type.
  const std::int64_t folds = has_chain(s, parameter) ? s.microbatches : 0;  // of param.grad, a local sum too
  add_roundings(path, type_of_local_sum(s), 2 * writes + folds);
  add_roundings(path, s.comm, 1);      // staging
  add_roundings(path, s.comm, 2);      // scale, or premultiplied average
  add_roundings(path, DType::f32, 2);  // the scale's own representation, before and late
  add_roundings(path, s.comm, inner_size(s, has_coordinates(s, parameter)) - 1);
  // The producer's own reduction: 1/gtp, its representation, and the additions; then the owner's.
  if (is_distributed(s, parameter)) add_roundings(path, s.main_grad, s.gtp + 1);
  if (s.outer > 1) add_roundings(path, type_of_outer_sum(s), s.outer);  // and a premultiplied average
  if (s.strategy == Strategy::fsdp2) add_roundings(path, s.comm, s.microbatches);  // partial sums
  add_roundings(path, s.main_grad, 1 + s.microbatches);  // back from staging, or onto the shard
  add_roundings(path, s.main_grad, 1);                   // a late scale
  if (tied_copy(s, parameter) >= 0) add_roundings(path, s.main_grad, 1);
  add_roundings(path, s.main_grad, tensor_copies(s, parameter) - 1);
  return path;
}

}  // namespace

Exactness exactness_of(const Scenario& s, const ScenarioData& data, std::int32_t parameter) {
  const bool expert = s.parameters[static_cast<std::size_t>(parameter)].expert;
  const bool sums_fit = s.data == DataMode::provenance || integers_fit(s, data, parameter);
  if (sums_fit && has_exact_scales(s, expert)) return {};
  Exactness exactness{.is_exact = false};
  exactness.growth = growth(path_of(s, data, parameter));
  if (const std::int32_t copy = tied_copy(s, parameter); copy >= 0)
    exactness.growth = std::max(exactness.growth, growth(path_of(s, data, copy)));
  // A product or a narrowing cast may lose up to half the smallest subnormal of its type: fp16 has the
  // largest.
  exactness.underflow = 0x1p-25 * static_cast<double>(4 + s.microbatches);
  return exactness;
}

}  // namespace shardcheck
