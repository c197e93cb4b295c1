#include "sim/executor/executor.h"

#include <algorithm>
#include <cstring>

#include "core/numerics/narrow.h"

namespace shardcheck {
namespace {

void narrow(std::span<const float> values, DType type, std::byte* out) {
  if (type == DType::f32) {
    std::ranges::copy(std::as_bytes(values), out);
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t code = type == DType::bf16 ? f32_to_bf16(values[i]) : f32_to_f16(values[i]);
    std::memcpy(out + 2 * i, &code, sizeof(code));
  }
}

/// The high-precision weights that FP8 weights are created from.
void write_initial(const Planned& planned, const ScenarioData& data, Backend& backend) {
  const Plan& plan = planned.plan;
  std::vector<float> values;
  std::vector<std::byte> bytes;
  for (const InitialSlot& slot : planned.initial) {
    const DType type = plan.buffer(slot.view.buffer).dtype;
    values.resize(static_cast<std::size_t>(slot.view.numel));
    bytes.resize(values.size() * static_cast<std::size_t>(bytes_of(type)));
    for (std::int32_t rank = 0; rank < plan.ranks; ++rank) {
      if (!backend.holds(plan, Rank{rank})) continue;
      data.initial(slot.parameter, Rank{rank}, values);
      narrow(values, type, bytes.data());
      backend.write(plan, Rank{rank}, slot.view, bytes);
    }
  }
}

/// All inputs of a rank lie in one buffer a type, so that a device needs one copy for each.
void write_inputs(const Planned& planned, const Scenario& scenario, const ScenarioData& data,
                  Backend& backend) {
  const Plan& plan = planned.plan;
  std::vector<std::byte> bytes;
  std::vector<float> x, dy;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.role != BufferRole::inputs) continue;
    const BufferId id{static_cast<std::int32_t>(b)};
    const auto size = static_cast<std::size_t>(bytes_of(buffer.dtype));
    for (std::int32_t rank = 0; rank < plan.ranks; ++rank) {
      if (!backend.holds(plan, Rank{rank})) continue;
      bytes.assign(static_cast<std::size_t>(buffer.numel) * size, std::byte{0});
      for (const InputSlot& slot : planned.inputs) {
        if (slot.x.buffer != id || !is_used(scenario, slot.parameter, slot.step, rank, slot.microbatch))
          continue;
        const ScenarioParameter& p = scenario.parameters[static_cast<std::size_t>(slot.parameter)];
        const std::int64_t tokens = tokens_at(scenario, {slot.parameter, slot.group, rank, slot.microbatch});
        x.resize(static_cast<std::size_t>(tokens * p.columns()));
        dy.resize(static_cast<std::size_t>(tokens * p.rows_of_group()));
        data.operands({slot.parameter, slot.step, rank, slot.microbatch, slot.use}, {slot.group, tokens}, x,
                      dy);
        narrow(x, buffer.dtype, bytes.data() + static_cast<std::size_t>(slot.x.offset) * size);
        narrow(dy, buffer.dtype, bytes.data() + static_cast<std::size_t>(slot.dy.offset) * size);
      }
      backend.write(plan, Rank{rank}, {id, 0, buffer.numel}, bytes);
    }
  }
}

}  // namespace

std::vector<OpIndex> run(const Planned& planned, const Scenario& scenario, const ScenarioData& data,
                         Backend& backend, const RunEvents& events) {
  const Plan& plan = planned.plan;
  std::vector<OpIndex> executed;
  executed.reserve(plan.ops.size());
  const auto execute_all = [&](std::int32_t first, std::int32_t last) {
    const bool one_by_one = events.before_op || events.after_op;
    if (!one_by_one) backend.execute(plan, OpIndex{first}, OpIndex{last});
    for (std::int32_t op = first; op < last; ++op) {
      if (events.before_op) events.before_op(OpIndex{op});
      if (one_by_one) backend.execute(plan, OpIndex{op}, OpIndex{op + 1});
      if (events.after_op) events.after_op(OpIndex{op});
      executed.push_back(OpIndex{op});
    }
  };
  std::size_t next_stop = 0;
  const auto execute = [&](std::int32_t first, std::int32_t last) {
    for (; next_stop < events.stops.size() && events.stops[next_stop].value < last; ++next_stop) {
      const std::int32_t stop = events.stops[next_stop].value;
      execute_all(first, stop);
      first = stop;
      events.at_stop(OpIndex{stop});
    }
    execute_all(first, last);
  };
  execute(0, planned.setup_end.value);
  write_inputs(planned, scenario, data, backend);
  write_initial(planned, data, backend);
  std::int32_t at = planned.setup_end.value;
  for (std::size_t step = 0; step < planned.finishes.size(); ++step) {
    execute(at, planned.finishes[step].value);
    at = planned.finishes[step].value;
    if (events.at_finish) events.at_finish(static_cast<std::int32_t>(step));
  }
  execute(at, static_cast<std::int32_t>(plan.ops.size()));
  if (events.at_end) events.at_end();
  return executed;
}

void run_in_order(const Planned& planned, const Scenario& scenario, const ScenarioData& data,
                  Backend& backend, std::span<const OpIndex> order, const RunEvents& events) {
  const Plan& plan = planned.plan;
  bool has_inputs = false;
  for (OpIndex op : order) {
    if (!has_inputs && op >= planned.setup_end) {
      write_inputs(planned, scenario, data, backend);
      write_initial(planned, data, backend);
      has_inputs = true;
    }
    backend.execute(plan, op, OpIndex{op.value + 1});
    if (events.after_op) events.after_op(op);
    for (std::size_t step = 0; step < planned.finishes.size(); ++step) {
      if (planned.finishes[step].value == op.value + 1) events.at_finish(static_cast<std::int32_t>(step));
    }
  }
  if (events.at_end) events.at_end();
}

}  // namespace shardcheck
