#include "properties/fingerprint/one_op.h"

#include <cstring>
#include <string>
#include <utility>

#include "core/assert.h"
#include "core/numerics/same_code.h"
#include "core/plan/builder.h"

namespace shardcheck {

std::vector<std::byte> bytes_of_codes(DType type, std::span<const std::uint32_t> codes) {
  const auto size = static_cast<std::size_t>(bytes_of(type));
  std::vector<std::byte> bytes(codes.size() * size);
  for (std::size_t i = 0; i < codes.size(); ++i) std::memcpy(bytes.data() + i * size, &codes[i], size);
  return bytes;
}

std::vector<std::uint32_t> codes_of_bytes(DType type, std::span<const std::byte> bytes) {
  std::vector<std::uint32_t> codes;
  for (std::int64_t i = 0; i < std::ssize(bytes) / bytes_of(type); ++i)
    codes.push_back(code_at(type, bytes, i));
  return codes;
}

OpOperand on_one_rank(DType type, std::span<const std::uint32_t> codes) {
  return {type, {bytes_of_codes(type, codes)}};
}

OpOperand execute_op(Backend& backend, const Action& action, std::span<const OpOperand> operands) {
  return std::move(execute_whole_op(backend, action, operands).back());
}

std::vector<OpOperand> execute_whole_op(Backend& backend, const Action& action,
                                        std::span<const OpOperand> operands) {
  SC_ASSERT(!operands.empty() && !operands.front().ranks.empty(), "an op has operands on at least one rank");
  const std::size_t ranks = operands.front().ranks.size();
  Plan plan;
  plan.ranks = static_cast<std::int32_t>(ranks);
  PlanBuilder build(plan);
  std::vector<Rank> all;
  for (std::size_t r = 0; r < ranks; ++r) all.push_back(Rank{static_cast<std::int32_t>(r)});
  std::vector<View> views;
  for (const OpOperand& operand : operands) {
    SC_ASSERT(operand.ranks.size() == ranks, "an operand lies on every rank");
    const auto numel = std::ssize(operand.ranks.front()) / bytes_of(operand.type);
    if (numel == 0 && !views.empty()) {
      views.push_back({views.front().buffer, 0, 0});
      continue;
    }
    const std::string name = "operand " + std::to_string(views.size());
    views.push_back(build.whole(build.buffer(name, BufferRole::inputs, operand.type, numel)));
  }
  build.op(action, {}, Stream::compute, all);
  for (const View view : views) build.on(view);

  const auto for_each = [&](auto visit) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      for (std::size_t r = 0; r < ranks; ++r) visit(i, r);
    }
  };
  for_each([&](std::size_t i, std::size_t r) {
    // Operand 0 lends its buffer to operands without elements: it exists even if it has none itself.
    if ((views[i].numel > 0 || i == 0) && backend.holds(plan, all[r]))
      backend.write(plan, all[r], views[i], operands[i].ranks[r]);
  });
  backend.execute(plan, OpIndex{0}, OpIndex{1});
  std::vector<OpOperand> results(operands.begin(), operands.end());
  for_each([&](std::size_t i, std::size_t r) {
    if (!backend.holds(plan, all[r])) {
      results[i].ranks[r].clear();
    } else if (views[i].numel > 0) {
      backend.read(plan, all[r], views[i], results[i].ranks[r]);
    }
  });
  return results;
}

}  // namespace shardcheck
