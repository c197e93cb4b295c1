#include "core/contract/reporter.h"

#include <algorithm>

namespace shardcheck {
namespace {

std::optional<Reporter::Place> find(const std::vector<Placement>& placements, Rank rank, BufferId buffer,
                                    std::int64_t offset, bool any_buffer) {
  for (const Placement& p : placements) {
    const bool here = (any_buffer || p.view.buffer == buffer) && (p.rank.value < 0 || p.rank == rank);
    if (here && offset >= p.view.offset && offset < p.view.offset + p.view.numel) {
      return Reporter::Place{p.parameter, p.first + offset - p.view.offset};
    }
  }
  return std::nullopt;
}

}  // namespace

void Reporter::open_lease(std::int32_t bucket, View view) {
  std::erase_if(leases_, [&](const Lease& lease) {
    return lease.view.buffer == view.buffer && lease.view.offset < view.offset + view.numel &&
           view.offset < lease.view.offset + lease.view.numel;
  });
  leases_.push_back({bucket, view});
}

std::optional<Reporter::Place> Reporter::place(Rank rank, BufferId buffer, std::int64_t offset) const {
  for (const Lease& lease : leases_) {
    const std::int64_t within = offset - lease.view.offset;
    const bool is_in = lease.view.buffer == buffer && within >= 0 && within < lease.view.numel;
    if (!is_in || lease.bucket < 0) continue;
    return find(plan_.buckets[static_cast<std::size_t>(lease.bucket)], rank, buffer, within, true);
  }
  return find(plan_.placements, rank, buffer, offset, false);
}

std::vector<Reporter::Place> Reporter::places(Rank rank, View view) const {
  std::vector<Place> found;
  const auto append = [&](const Placement& p, std::int64_t begin) {
    const std::int64_t from = std::max(view.offset, begin);
    const bool inside = from < std::min(view.offset + view.numel, begin + p.view.numel);
    const bool is_new = std::ranges::find(found, p.parameter, &Place::parameter) == found.end();
    if (inside && is_new && (p.rank.value < 0 || p.rank == rank))
      found.push_back({p.parameter, p.first + from - begin});
  };
  for (const Lease& lease : leases_) {
    if (lease.view.buffer != view.buffer || lease.bucket < 0) continue;
    for (const Placement& p : plan_.buckets[static_cast<std::size_t>(lease.bucket)])
      append(p, lease.view.offset + p.view.offset);
  }
  for (const Placement& p : plan_.placements) {
    if (p.view.buffer == view.buffer) append(p, p.view.offset);
  }
  return found;
}

Finding* Reporter::report(std::string_view clause, Rank rank, std::optional<Place> place,
                          const std::string& sentence) {
  if (findings_.size() == kMost) return nullptr;
  Finding finding{.clause = std::string(clause), .sentence = sentence};
  name_op(finding, plan_, op_);
  finding.rank = rank.value;
  const ParamId named = plan_.ops[static_cast<std::size_t>(op_.value)].why.parameter;
  const std::int32_t parameter = place ? place->parameter.value : named.value;
  if (parameter >= 0) {
    finding.parameter = parameter;
    finding.parameter_name = plan_.parameters[static_cast<std::size_t>(parameter)].name;
    finding.element = place ? place->element : 0;
  }
  findings_.push_back(std::move(finding));
  return &findings_.back();
}

}  // namespace shardcheck
