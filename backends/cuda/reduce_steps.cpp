#include "backends/cuda/reduce_steps.h"

#include <algorithm>

#include "backends/cpu/element.h"
#include "backends/cuda/reduce.h"
#include "core/assert.h"

namespace shardcheck::gpu {

float rounded_reciprocal(DType type, std::size_t count) {
  // In double first, as backends/cpu/collectives.cpp argues.
  const double reciprocal = 1.0 / static_cast<double>(count);
  if (type == DType::bf16) return cpu::Bf16::widen(cpu::narrow_once<cpu::Bf16>(reciprocal));
  if (type == DType::f16) return cpu::F16::widen(cpu::narrow_once<cpu::F16>(reciprocal));
  return 1.0f / static_cast<float>(count);
}

void sum_into(std::byte* destination, const Addends& addends, cudaStream_t stream) {
  const Range& any = addends.inputs[0];
  ReduceTable table{};
  table.output[0] = destination;
  table.outputs = table.groups = 1;
  table.numel = table.part = any.numel;
  table.multiplies = addends.multiplies;
  table.factor = addends.factor;
  table.takes_largest = addends.takes_largest;
  for (std::size_t first = 0; first < addends.order.size(); first += kRanksPerLaunch) {
    // A partial sum is a value of the element type, so that storing it between launches changes nothing.
    table.carry = first == 0 ? nullptr : destination;
    table.inputs = static_cast<int>(std::min<std::size_t>(kRanksPerLaunch, addends.order.size() - first));
    table.aligned = is_aligned(destination);
    for (int i = 0; i < table.inputs; ++i) {
      table.input[i] = addends.inputs[addends.order[first + static_cast<std::size_t>(i)]].data;
      table.aligned &= is_aligned(table.input[i]);
    }
    launch_reduce(table, any.dtype, stream);
  }
}

void deal_out(const Range& result, const Members& outputs, cudaStream_t stream) {
  const std::int64_t part = outputs.ranges[0].numel;
  const bool whole = result.numel == part;
  for_each_stretch(outputs.positions, [&](std::size_t first, std::size_t count) {
    const std::int64_t begin = whole ? 0 : static_cast<std::int64_t>(first) * part;
    ReduceTable table{};
    table.carry = result.data + begin * bytes_of(result.dtype);
    table.groups = 1;
    table.outputs = static_cast<int>(count);
    table.part = part;
    table.numel = whole ? part : part * static_cast<std::int64_t>(count);
    SC_ASSERT(begin + table.numel <= result.numel, "an output lies past the end of its reduction");
    table.aligned = is_aligned(table.carry) && (whole || count == 1 || part % 8 == 0);
    for (std::size_t i = 0; i < count; ++i) {
      table.output[i] = outputs.ranges[first + i].data;
      table.aligned &= is_aligned(table.output[i]);
    }
    launch_reduce(table, result.dtype, stream);
  });
}

void place(std::byte* destination, const Members& inputs, cudaStream_t stream) {
  for_each_stretch(inputs.positions, [&](std::size_t first, std::size_t count) {
    GatherTable table{};
    table.output[0] = destination;
    table.outputs = table.groups = 1;
    table.inputs = static_cast<int>(count);
    table.first_position = static_cast<int>(first);
    table.bytes = inputs.ranges[0].bytes();
    for (std::size_t i = 0; i < count; ++i) table.input[i] = inputs.ranges[first + i].data;
    launch_gather(table, stream);
  });
}

void copy_whole(const std::byte* source, const Members& outputs, cudaStream_t stream) {
  for_each_stretch(outputs.positions, [&](std::size_t first, std::size_t count) {
    GatherTable table{};
    table.input[0] = source;
    table.inputs = table.groups = 1;
    table.outputs = static_cast<int>(count);
    table.bytes = outputs.ranges[0].bytes();
    for (std::size_t i = 0; i < count; ++i) table.output[i] = outputs.ranges[first + i].data;
    launch_gather(table, stream);
  });
}

}  // namespace shardcheck::gpu
