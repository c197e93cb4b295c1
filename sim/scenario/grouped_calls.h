// Grouped calls: one layer that writes the weights of several experts in one go (wgrad 4.1, Q9). In the list
// of uses a call is a use and those after it that are `grouped`; every other use is a call by itself. Its
// members run together: all writes, then all flags, then all hooks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardcheck {

struct Scenario;

/// The uses [first, last) of the list.
struct GroupedCall {
  std::size_t first = 0, last = 0;
  std::size_t members() const { return last - first; }
};

/// All calls, in forward order.
std::vector<GroupedCall> calls_of(const Scenario& scenario);

/// True when some call has more than one use.
bool has_grouped_calls(const Scenario& scenario);

/// The parameters that share a call with this one, itself among them, ascending.
std::vector<std::int32_t> call_mates(const Scenario& scenario, std::int32_t parameter);

/// Why the use cannot belong to one call with those before it, as a sentence; nothing when it can, or when it
/// does not say so. Members are matrices of one kind: shape, type, unit, stage, producer; used and frozen at
/// the same times, as the layer runs for all of them or for none.
std::optional<std::string> refusal_of_call(const Scenario& scenario, std::size_t use);

/// Uses that cannot belong to the call before them begin one of their own.
void mend_calls(Scenario& scenario);

/// Returns when calls, and parameters of several groups, mean something; see validate.h.
void validate_experts(const Scenario& scenario, const std::string& where);

/// A sentence about the calls of several members, or nothing.
std::string describe_calls(const Scenario& scenario);

}  // namespace shardcheck
