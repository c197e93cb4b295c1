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

void deal_out(const Range& result, const Range& output, std::size_t position, cudaStream_t stream) {
  ReduceTable table{};
  table.output[0] = output.data;
  table.outputs = table.groups = 1;
  const bool whole = result.numel == output.numel;
  const std::int64_t begin = whole ? 0 : static_cast<std::int64_t>(position) * output.numel;
  SC_ASSERT(begin + output.numel <= result.numel, "an output lies past the end of its reduction");
  table.carry = result.data + begin * bytes_of(result.dtype);
  table.numel = table.part = output.numel;
  table.aligned = is_aligned(table.carry) && is_aligned(output.data);
  launch_reduce(table, result.dtype, stream);
}

void place(std::byte* destination, const Range& input, std::size_t position, cudaStream_t stream) {
  GatherTable table{};
  table.input[0] = input.data;
  table.output[0] = destination;
  table.inputs = table.outputs = table.groups = 1;
  table.first_position = static_cast<int>(position);
  table.bytes = input.bytes();
  launch_gather(table, stream);
}

void copy_whole(const std::byte* source, const Range& output, cudaStream_t stream) {
  GatherTable table{};
  table.input[0] = source;
  table.output[0] = output.data;
  table.inputs = table.outputs = table.groups = 1;
  table.bytes = output.bytes();
  launch_gather(table, stream);
}

}  // namespace shardcheck::gpu
