#include "backends/shadow/excerpts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/shadow/block_origins.h"

namespace shardcheck::shadowing {
namespace {

constexpr std::int64_t kMostTokens = 8;  // of a row of dy and of x: a line on a terminal

template <class Op>
concept HasOrigins = requires(const Op& op, BlockElement at) {
  origins_of(op, at);
};

/// One row a kind of action: which elements of which operands make the element.
struct ExcerptsOf {
  Operands& operands;
  std::size_t position;
  std::int64_t element;
  int operand;
  std::vector<OperandExcerpt>& out;

  void add(std::string name, OperandAt at, Operands::Elements which) const {
    OperandExcerpt excerpt{std::move(name), {}, which.count};
    which.count = std::min(which.count, kMostTokens);
    excerpt.values = operands.elements(at, which);
    if (!excerpt.values.empty()) out.push_back(std::move(excerpt));
  }
  void add(std::string name, int operand, std::int64_t index) const {
    add(std::move(name), {operand, position}, {index, 1, 1});
  }

  void add_scaled() const {
    add("source", 0, element);
    add("scale", 1, 0);
  }

  void add(const std::vector<Origin>& origins) const {
    for (const Origin& origin : origins)
      add(origin.name, {origin.operand, position}, {origin.first, origin.count, origin.stride});
  }
  BlockElement block_element() const { return {operand, element}; }

  void operator()(const TakeAmax& take) const {
    add(origins_of(take, block_element(), operands.view({0, position}).numel));
  }
  template <HasOrigins BlockOp>
  void operator()(const BlockOp& op) const {
    add(origins_of(op, block_element()));
  }
  void operator()(const CloseDelayedStep&) const {
    add("amax of the group", 0, 0);
    add("history", {1, position}, {0, operands.view({1, position}).numel, 1});
  }
  void operator()(const Copy&) const { add("source", 0, element); }
  void operator()(const Cast&) const { add("source", 0, element); }
  void operator()(const Quantize&) const { add_scaled(); }
  void operator()(const Dequantize&) const { add_scaled(); }
  void operator()(const Matmul& matmul) const {
    if (matmul.accumulate) add("added to", 4, element);
  }
  void operator()(const Add&) const {
    add("addend", 0, element);
    add("added to", 1, element);
  }
  void operator()(const Scale& scale) const { add(fmt::format("times {}", scale.factor), 0, element); }
  void operator()(const SgdStep& sgd) const {
    add("weight", 1, element);
    add(fmt::format("minus {} times", sgd.rate), 0, element);
  }
  void operator()(const Gemm& gemm) const {
    const std::int64_t row = element / gemm.columns, column = element % gemm.columns;
    if (gemm.tokens > 0) {
      add(fmt::format("dy, row {}", row), {0, position}, {row, gemm.tokens, gemm.rows});
      add(fmt::format("x, column {}", column), {1, position}, {column, gemm.tokens, gemm.columns});
    }
    if (gemm.accumulate) add("added to", 2, element);
  }
  void operator()(const Communicate& communicate) const {
    const auto size = static_cast<std::size_t>(communicate.group);
    const std::size_t first = position - position % size;
    const auto inside = static_cast<std::int64_t>(position % size);
    const auto ranks = operands.plan().ranks_of(operands.op());
    const std::int64_t part = operands.view({0, position}).numel;
    const auto add_rank = [&](std::size_t from, std::int64_t index) {
      add(fmt::format("rank {}", ranks[from].value), {0, from}, {index, 1, 1});
    };
    if (communicate.collective == Collective::all_gather) {
      return add_rank(first + static_cast<std::size_t>(element / part), element % part);
    }
    const bool scatters = communicate.collective == Collective::reduce_scatter;
    const std::int64_t begin = scatters ? inside * operands.view({1, position}).numel : 0;
    for (std::size_t from = first; from < first + size; ++from) add_rank(from, begin + element);
  }
  template <class Other>
  void operator()(const Other&) const {}
};

}  // namespace

std::vector<OperandExcerpt> excerpts_of(Operands& operands, WrittenElement written) {
  std::vector<OperandExcerpt> excerpts;
  std::visit(ExcerptsOf{operands, written.position, written.element, written.operand, excerpts},
             operands.op().action);
  return excerpts;
}

}  // namespace shardcheck::shadowing
