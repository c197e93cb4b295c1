#include "core/contract/recompute_rules.h"

#include <optional>
#include <string>

namespace shardcheck {
namespace {

/// Why the op has no place in a recomputation; empty where it has one.
std::string why_not(const Op& op) {
  if (std::holds_alternative<Gemm>(op.action)) return "recomputation counts as a use and writes a gradient";
  if (std::holds_alternative<OpenLease>(op.action)) return "recomputation opens a lease";
  if (std::holds_alternative<Acquire>(op.action)) return "recomputation fetches a gradient destination";
  if (const auto* flag = std::get_if<Flag>(&op.action); flag != nullptr && flag->value)
    return "recomputation raises the flag of a contribution";
  if (std::holds_alternative<Return>(op.action)) return "recomputation hands a gradient to autograd";
  if (std::holds_alternative<Hook>(op.action)) return "recomputation runs the owner's hook";
  if (std::holds_alternative<Ready>(op.action)) return "recomputation counts the parameter as ready";
  if (op.why.purpose == Purpose::zero || op.why.purpose == Purpose::reduce ||
      op.why.purpose == Purpose::reduce_shards)
    return "recomputation zeroes or reduces gradients";
  return "";
}

/// Of a lease, the first element that lies in it; other ops name their parameter.
std::optional<Reporter::Place> place_of(const Plan& plan, const Op& op) {
  const auto* lease = std::get_if<OpenLease>(&op.action);
  if (lease == nullptr || lease->bucket < 0) return std::nullopt;
  const auto& inside = plan.buckets[static_cast<std::size_t>(lease->bucket)];
  if (inside.empty()) return std::nullopt;
  return Reporter::Place{inside.front().parameter, inside.front().first};
}

}  // namespace

void RecomputeRules::set(const Op& op, bool inside) {
  for (Rank rank : plan_.ranks_of(op)) {
    char& at = inside_[static_cast<std::size_t>(rank.value)];
    count_ += static_cast<int>(inside) - at;
    at = static_cast<char>(inside);
  }
}

void RecomputeRules::apply(const Op& op) {
  if (std::holds_alternative<BeginRecompute>(op.action)) return set(op, true);
  if (std::holds_alternative<EndRecompute>(op.action)) return set(op, false);
  if (count_ == 0) return;
  const std::string sentence = why_not(op);
  if (sentence.empty()) return;
  for (Rank rank : plan_.ranks_of(op)) {
    if (inside_[static_cast<std::size_t>(rank.value)] != 0)
      reporter_.report("W37", rank, place_of(plan_, op), sentence);
  }
}

}  // namespace shardcheck
