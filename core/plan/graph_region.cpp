#include "core/plan/graph_region.h"

#include <fmt/format.h>

namespace shardcheck {
namespace {

const Op& op_at(const Plan& plan, std::int32_t index) {
  return plan.ops[static_cast<std::size_t>(index)];
}

/// Empty actions are the same wherever they are of one kind.
template <class Work>
concept CapturedWork = std::same_as<Work, Gemm> || std::same_as<Work, Fill> || std::same_as<Work, Copy> ||
    std::same_as<Work, Add> || std::same_as<Work, Undefine>;

struct IsCaptured {
  template <class Work>
  bool operator()(const Work&) const {
    return CapturedWork<Work>;
  }
};

struct IsSame {
  const Action& other;
  template <class Work>
  bool operator()(const Work& work) const {
    if constexpr (std::equality_comparable<Work>)
      return work == std::get<Work>(other);
    else
      return CapturedWork<Work>;
  }
};

}  // namespace

std::optional<GraphRegion> region_at(const Plan& plan, OpIndex begin) {
  const auto* opened = std::get_if<BeginGraph>(&op_at(plan, begin.value).action);
  if (opened == nullptr) return std::nullopt;
  const Stream stream = op_at(plan, begin.value).stream;
  for (std::int32_t i = begin.value + 1; i < std::ssize(plan.ops); ++i) {
    const Op& op = op_at(plan, i);
    if (op.stream != stream) continue;
    if (std::holds_alternative<EndGraph>(op.action)) return GraphRegion{opened->graph, begin.value + 1, i};
    if (std::holds_alternative<BeginGraph>(op.action)) break;
  }
  return std::nullopt;
}

std::string why_not_captured(const Plan& plan, const GraphRegion& region) {
  const Stream stream = op_at(plan, region.end).stream;
  for (std::int32_t i = region.first; i < region.end; ++i) {
    const Op& op = op_at(plan, i);
    if (op.stream != stream) return fmt::format("op {} inside it is of another stream", i);
    if (!std::visit(IsCaptured{}, op.action))
      return fmt::format("op {} inside it is no work that is captured ({})", i, describe(plan, op));
  }
  return "";
}

bool is_same_action(const Action& a, const Action& b) {
  return a.index() == b.index() && std::visit(IsSame{b}, a);
}

}  // namespace shardcheck
