#include "sim/oracle/activation_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/numerics/same_code.h"

namespace shardcheck {

ActivationChecker::ActivationChecker(const Scenario& scenario, const ScenarioData& data,
                                     const Planned& planned)
    : scenario_(scenario), data_(data), planned_(planned) {
  for (const DelayedActivation& slot : planned.delayed_activations) {
    Tensor tensor{.slot = slot};
    tensor.options = {.history_length = slot.history.numel, .largest = slot.largest};
    tensor.scaling = recipe::first_step(tensor.options);
    tensors_.push_back(std::move(tensor));
  }
}

/// Over the microbatches of all ranks that have the use.
float ActivationChecker::amax_of(const Tensor& tensor, std::int32_t step) const {
  const DelayedActivation& slot = tensor.slot;
  const ScenarioParameter& p = scenario_.parameters[static_cast<std::size_t>(slot.parameter)];
  float amax = 0;
  std::vector<float> x, dy;
  for (std::int32_t rank = 0; rank < scenario_.ranks; ++rank) {
    for (std::int32_t m = 0; m < scenario_.microbatches; ++m) {
      const std::int64_t tokens = tokens_at(scenario_, {slot.parameter, 0, rank, m});
      if (!is_used(scenario_, slot.parameter, step, rank, m) || tokens == 0) continue;
      x.resize(static_cast<std::size_t>(tokens * p.columns()));
      dy.resize(static_cast<std::size_t>(tokens * p.rows()));
      data_.operands({slot.parameter, step, rank, m, slot.use}, {0, tokens}, x, dy);
      for (const float value : slot.pass == Pass::backward ? dy : x) amax = std::max(amax, std::fabs(value));
    }
  }
  return amax;
}

void ActivationChecker::end_step(OpIndex op, Backend& backend) {
  const std::int32_t step = planned_.plan.ops[static_cast<std::size_t>(op.value)].why.step;
  for (Tensor& tensor : tensors_) {
    recipe::close_step(tensor.options, tensor.scaling, amax_of(tensor, step));
    compare(tensor, "F54", op, backend);
  }
}

void ActivationChecker::reloaded(OpIndex op, Backend& backend) {
  for (Tensor& tensor : tensors_) compare(tensor, "F53", op, backend);
}

void ActivationChecker::compare(Tensor& tensor, std::string_view clause, OpIndex op, Backend& backend) {
  constexpr std::size_t kMostFindings = 16;
  std::vector<float> expected = tensor.scaling.history;
  expected.insert(expected.end(), {tensor.scaling.scale, tensor.scaling.scale_inverse});
  std::vector<float> actual(expected.size());
  const std::size_t length = tensor.scaling.history.size();
  for (std::int32_t r = 0; r < planned_.plan.ranks && !tensor.is_reported; ++r) {
    const auto bytes = std::as_writable_bytes(std::span(actual));
    backend.read(planned_.plan, Rank{r}, tensor.slot.history, bytes.first(4 * length));
    backend.read(planned_.plan, Rank{r}, tensor.slot.scale, bytes.subspan(4 * length));
    const Differing found = differing(DType::f32, {std::as_bytes(std::span(expected)), bytes});
    if (found.count == 0) continue;
    tensor.is_reported = true;
    if (findings_.size() == kMostFindings) return;
    Finding finding{.clause = std::string(clause)};
    const char* which = tensor.slot.pass == Pass::backward ? "output gradient" : "activation";
    const auto at = static_cast<std::size_t>(found.first);
    finding.sentence =
        at < length
            ? fmt::format("slot {} of the history of an {} is not what the steps so far give", at, which)
            : fmt::format("the next scale of an {} is not what its history gives", which);
    name_op(finding, planned_.plan, op);
    finding.rank = r;
    finding.parameter = tensor.slot.parameter;
    finding.parameter_name = scenario_.parameters[static_cast<std::size_t>(tensor.slot.parameter)].name;
    finding.has_values = true;
    const auto sighting = [&](float value) {
      return Sighting{static_cast<double>(value), std::bit_cast<std::uint32_t>(value), DType::f32};
    };
    finding.expected = sighting(expected[at]);
    finding.actual = sighting(actual[at]);
    findings_.push_back(std::move(finding));
  }
}

}  // namespace shardcheck
