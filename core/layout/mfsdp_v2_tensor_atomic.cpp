#include "core/layout/mfsdp_v2_tensor_atomic.h"

#include <algorithm>
#include <string>

#include "core/layout/rejection.h"

namespace shardcheck::layout {
namespace {

void check_owners(std::span<const Parameter> parameters, std::span<const Rank> owners, std::int32_t world) {
  if (owners.size() != parameters.size()) {
    throw bad_input("owners", std::to_string(owners.size()) + " owners for " +
                                  std::to_string(parameters.size()) + " parameters; give one for each");
  }
  for (std::size_t i = 0; i < owners.size(); ++i) {
    if (owners[i].value >= 0 && owners[i].value < world) continue;
    throw bad_input(
        "owners[" + std::to_string(i) + "]",
        "rank " + std::to_string(owners[i].value) + " is outside a world of " + std::to_string(world));
  }
}

/// A tensor that waits for an owner: the ranks first .. last hold part of it.
struct Candidate {
  ParamId param;
  std::int64_t cost = 0;
  std::int32_t first = 0, last = 0;
};

/// Newton-Schulz work of a matrix: N * (5 * min(rows, N / rows) + 1).
std::int64_t newton_schulz_cost(const Parameter& parameter) {
  const std::int64_t numel = parameter.numel();
  const std::int64_t rows = parameter.shape[0];
  return multiply_sizes(numel, add_sizes(multiply_sizes(5, std::min(rows, numel / rows)), 1));
}

std::vector<Candidate> candidates_of(std::span<const Parameter> parameters, const Buffer& flat) {
  const std::int64_t shard = flat.size / flat.world;
  std::vector<Candidate> candidates;
  for (const std::int32_t listed : flat.order) {
    const Slot& slot = flat.slots[listed];
    const Parameter& parameter = parameters[slot.param.value];
    if (parameter.shape.size() < 2) continue;
    if (slot.numel == 0) {
      throw Rejected(
          Reason::zero_element_owner, parameter.name,
          "no rank holds part of a tensor without elements, so it cannot get an owner; leave it out");
    }
    candidates.push_back({slot.param, newton_schulz_cost(parameter),
                          static_cast<std::int32_t>(slot.lo / shard),
                          static_cast<std::int32_t>((slot.hi - 1) / shard)});
  }
  return candidates;
}

}  // namespace

Buffer mfsdp_v2_tensor_atomic(std::span<const Parameter> parameters, std::span<const Rank> owners,
                              std::int32_t world) {
  check_owners(parameters, owners, world);
  std::vector<std::int64_t> numels;
  std::vector<std::int64_t> cursor(world, 0);  // lengths first, then the next free element of each owner
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    numels.push_back(parameters[i].tied_to ? 0 : parameters[i].numel());
    cursor[owners[i].value] = add_sizes(cursor[owners[i].value], numels[i]);
  }
  Buffer buffer{.world = world, .cut = Cut::listed};
  buffer.bounds.push_back(0);
  for (std::int64_t& next : cursor) {
    const std::int64_t base = buffer.bounds.back();
    buffer.bounds.push_back(add_sizes(base, next));
    next = base;
  }
  buffer.size = buffer.bounds.back();
  buffer.buckets.push_back({0, buffer.size, buffer.size});
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].tied_to) continue;
    std::int64_t& next = cursor[owners[i].value];
    buffer.slots.push_back({ParamId{static_cast<std::int32_t>(i)}, next, next + numels[i], 0, numels[i]});
    next += numels[i];
  }
  finish_buffer(buffer);
  return buffer;
}

std::vector<std::pair<ParamId, Rank>> plan_owners(std::span<const Parameter> parameters, const Buffer& flat) {
  std::vector<Candidate> waiting = candidates_of(parameters, flat);
  // Tensors without a choice first, then the dearest; equal ones stay in tensor order.
  std::ranges::stable_sort(waiting, [](const Candidate& a, const Candidate& b) {
    const bool a_fixed = a.first == a.last;
    const bool b_fixed = b.first == b.last;
    return a_fixed != b_fixed ? a_fixed : !a_fixed && a.cost > b.cost;
  });
  std::vector<std::int64_t> load(flat.world, 0);
  std::vector<std::pair<ParamId, Rank>> owners;
  for (const Candidate& tensor : waiting) {
    const auto least = std::min_element(load.begin() + tensor.first, load.begin() + tensor.last + 1);
    *least = add_sizes(*least, tensor.cost);
    owners.push_back({tensor.param, Rank{static_cast<std::int32_t>(least - load.begin())}});
  }
  std::ranges::sort(owners);
  return owners;
}

}  // namespace shardcheck::layout
