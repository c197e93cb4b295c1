// Traces that are right, made from the oracle, for tests that then spoil them: every rank owns everything, or
// half of the elements each.
#pragma once

#include <algorithm>

#include "properties/audit/trace.h"
#include "sim/oracle/oracle.h"

namespace shardcheck::audit_tests {

/// Two weights, the second used twice, two ranks, two steps of two microbatches.
inline AuditCase small_case() {
  AuditCase c;
  c.scenario.parameters = {{.name = "a", .shape = {2, 4}, .dtype = DType::f32},
                           {.name = "b", .shape = {3, 4}, .dtype = DType::f32}};
  for (const std::int32_t p : {0, 1, 1})
    c.scenario.uses.push_back({.parameter = p, .producer = Producer::unfused});
  return c;
}

inline CollectiveEvent all_reduce(const AuditCase& c, std::int32_t step) {
  CollectiveEvent event{.kind = "allreduce", .reduction = "sum", .dtype = "f32", .phase = "backward"};
  for (std::int32_t rank = 0; rank < c.scenario.ranks; ++rank) event.group.push_back(rank);
  event.sent = 20;
  event.step = step;
  event.microbatch = c.scenario.microbatches - 1;
  event.completed = true;
  return event;
}

/// `shards` parts of every tensor, rank r owning part r % shards. Frozen and unused weights have zeros.
inline AuditTrace right_trace(const AuditCase& c, std::int32_t shards) {
  AuditTrace trace{.audited = c, .device = "cpu", .rate = 0.25};
  const ScenarioData data(trace.audited.scenario);
  const Oracle oracle(trace.audited.scenario, data);
  const Scenario& s = trace.audited.scenario;
  for (std::int32_t rank = 0; rank < s.ranks; ++rank) {
    RankTrace of{.rank = rank};
    std::vector<std::vector<float>> weights(s.parameters.size());
    for (std::int32_t step = 0; step < s.steps; ++step) {
      of.collectives.push_back(all_reduce(c, step));
      for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
        const ScenarioParameter& parameter = s.parameters[static_cast<std::size_t>(p)];
        const std::int64_t part = (parameter.numel() + shards - 1) / shards;
        const std::int64_t first = std::min(rank % shards * part, parameter.numel());
        const std::int64_t last = std::min(first + part, parameter.numel());
        std::vector<double> want(static_cast<std::size_t>(parameter.numel()), 0.0);
        const bool has_gradient = parameter.trainable && data.uses_of(p) > 0;
        if (has_gradient) want = oracle.expected(p, step, rank, {0, parameter.rows()}).value;
        TracedTensor gradient{.what = Traced::gradient, .step = step, .parameter = p, .first = first};
        gradient.is_present = true;
        auto& weight = weights[static_cast<std::size_t>(p)];
        weight.resize(static_cast<std::size_t>(last - first));
        for (std::int64_t i = first; i < last; ++i) {
          const auto value = static_cast<float>(want[static_cast<std::size_t>(i)]);
          gradient.values.push_back(value);
          weight[static_cast<std::size_t>(i - first)] -= 0.25f * value;
        }
        TracedTensor updated = gradient;
        updated.what = Traced::parameter;
        updated.values = weight;
        of.tensors.push_back(std::move(gradient));
        of.tensors.push_back(std::move(updated));
      }
    }
    trace.ranks.push_back(std::move(of));
  }
  return trace;
}

/// The tensor of that kind, step and parameter on a rank.
inline TracedTensor& tensor_of(RankTrace& rank, Traced what, std::int32_t step, std::int32_t parameter) {
  return *std::ranges::find_if(rank.tensors, [&](const TracedTensor& t) {
    return t.what == what && t.step == step && t.parameter == parameter;
  });
}

}  // namespace shardcheck::audit_tests
