#include "properties/state_trace.h"

#include <fmt/format.h>

#include <vector>

#include "core/digest.h"

namespace shardcheck {
namespace {

bool is_state(BufferRole role) {
  return role >= BufferRole::master && role <= BufferRole::activations;
}

/// What compute has waited for when a step ends.
bool is_made_by_step(BufferRole role) {
  return role == BufferRole::master || role == BufferRole::activations;
}

std::string_view words_of(BufferRole role) {
  switch (role) {
    case BufferRole::master: return "masters";
    case BufferRole::codes: return "codes of weights";
    case BufferRole::scales: return "scales of weights";
    case BufferRole::activations: return "products of weights";
    default: return name_of(role);
  }
}

}  // namespace

void StateTrace::keep(Key key, Rank rank, View view, Backend& backend) {
  if (view.numel == 0 || !backend.holds(plan_, rank)) return;
  const DType type = plan_.buffer(view.buffer).dtype;
  std::vector<std::byte> bytes(static_cast<std::size_t>(view.numel * bytes_of(type)));
  backend.read(plan_, rank, view, bytes);
  // A term an operand and rank: what two ranks exchange shows.
  std::uint64_t& digest = digests_[key];
  digest = digest_term(digest ^ digest_of(type, bytes), rank.value);
}

void StateTrace::after(OpIndex index, Backend& backend) {
  const Op& op = plan_.ops[static_cast<std::size_t>(index.value)];
  const Access access = access_of(op.action);
  const auto ranks = plan_.ranks_of(op);
  for (int operand = 0; operand < op.operands; ++operand) {
    if ((access.writes >> operand & 1) == 0) continue;
    const auto views = plan_.operand(op, operand);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const BufferId buffer = views[i].buffer;
      if (is_state(plan_.buffer(buffer).role))
        keep({index.value, after_op, buffer.value}, ranks[i], views[i], backend);
    }
  }
}

void StateTrace::before(OpIndex index, Backend& backend) {
  keep_buffers(index.value, backend, is_made_by_step);
}

void StateTrace::at_end(Backend& backend) {
  keep_buffers(static_cast<std::int32_t>(plan_.ops.size()), backend, is_state);
}

void StateTrace::keep_buffers(std::int32_t op, Backend& backend, bool (*is_kept)(BufferRole)) {
  for (std::int32_t b = 0; b < static_cast<std::int32_t>(plan_.buffers.size()); ++b) {
    const Buffer& buffer = plan_.buffers[static_cast<std::size_t>(b)];
    if (!is_kept(buffer.role)) continue;
    for (std::int32_t r = 0; r < plan_.ranks; ++r)
      keep({op, before_op, b}, Rank{r}, {BufferId{b}, 0, buffer.numel}, backend);
  }
}

std::optional<Finding> StateTrace::difference(const StateTrace& right) const {
  for (const auto& [key, digest] : digests_) {
    const auto other = right.digests_.find(key);
    if (other == right.digests_.end() || other->second == digest) continue;
    const auto [op, moment, buffer] = key;
    const std::string_view what = words_of(plan_.buffers[static_cast<std::size_t>(buffer)].role);
    const std::string& name = plan_.buffers[static_cast<std::size_t>(buffer)].name;
    Finding finding;
    if (op == static_cast<std::int32_t>(plan_.ops.size())) {
      finding.sentence = fmt::format("in the end the {} ({}) are not those of the plan's order", what, name);
      return finding;
    }
    name_op(finding, plan_, OpIndex{op});
    if (moment == before_op) {
      finding.sentence = fmt::format("at the end of step {} the {} ({}) are not those of the plan's order",
                                     finding.step, what, name);
      return finding;
    }
    finding.parameter = plan_.ops[static_cast<std::size_t>(op)].why.parameter.value;
    finding.sentence = fmt::format("op {} ({}) leaves {} ({}) that are not those of the plan's order", op,
                                   finding.op_text, what, name);
    return finding;
  }
  return std::nullopt;
}

}  // namespace shardcheck
