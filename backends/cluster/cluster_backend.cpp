#include "backends/cluster/cluster_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "backends/cluster/crossing.h"
#include "backends/cluster/local_plan.h"
#include "core/assert.h"

namespace shardcheck {
namespace {

using cluster::LocalPlan;

/// True when what lies in the buffers of one plan can be found by the other.
bool has_same_buffers(const Plan& a, const Plan& b) {
  return std::ranges::equal(a.buffers, b.buffers, [](const Buffer& x, const Buffer& y) {
    return x.role == y.role && x.dtype == y.dtype && x.numel == y.numel && x.on_host == y.on_host;
  });
}

class ClusterBackend final : public Backend {
 public:
  ClusterBackend(std::unique_ptr<Backend> local, Transport& transport)
      : local_(std::move(local)), transport_(transport), crossing_(*local_, transport) {}

  BackendInfo info() const override {
    BackendInfo info = local_->info();
    info.name = fmt::format("cluster({}, {} processes)", info.name, transport_.processes());
    info.device = fmt::format("process {} of {} ({}): {}", transport_.process(), transport_.processes(),
                              transport_.launch().how, info.device);
    return info;
  }

  bool holds(const Plan& plan, Rank rank) const override {
    return cluster::block_of(plan.ranks, seat()).holds(rank);
  }

  void execute(const Plan& plan, OpIndex first, OpIndex last) override;

  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    const LocalPlan& share = share_for_access(plan, rank);
    local_->write(share.plan, share.local(rank), view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    const LocalPlan& share = share_for_access(plan, rank);
    local_->read(share.plan, share.local(rank), view, bytes);
  }

 private:
  cluster::Seat seat() const { return {transport_.process(), transport_.processes()}; }

  const LocalPlan& share_for_access(const Plan& plan, Rank rank) {
    SC_ASSERT(holds(plan, rank), "another process owns this rank");
    const bool is_known = share_ && share_->process_of.size() == static_cast<std::size_t>(plan.ranks) &&
                          has_same_buffers(share_->plan, plan);
    if (!is_known) share_ = cluster::local_plan_of(plan, seat());
    return *share_;
  }
  void execute_local(OpIndex first, OpIndex last) {
    if (first < last && share_->owned.count() > 0) local_->execute(share_->plan, first, last);
  }

  std::unique_ptr<Backend> local_;
  Transport& transport_;
  cluster::CrossingUnit crossing_;
  std::optional<LocalPlan> share_;  ///< of the plan at hand
};

/// A plan begins at op 0; there it is divided anew, because another plan may lie where the last one lay.
void ClusterBackend::execute(const Plan& plan, OpIndex first, OpIndex last) {
  if (first.value == 0 || !share_) share_ = cluster::local_plan_of(plan, seat());
  SC_ASSERT(share_->plan.ops.size() == plan.ops.size() && has_same_buffers(share_->plan, plan),
            "a plan is executed from op 0 on");
  OpIndex pending = first;  // ops [pending, i) have not run yet
  for (OpIndex i = first; i < last; ++i.value) {
    if (!share_->crosses[static_cast<std::size_t>(i.value)]) continue;
    execute_local(pending, OpIndex{i.value + 1});
    crossing_.run(plan, i, *share_);
    pending = OpIndex{i.value + 1};
  }
  execute_local(pending, last);
}

}  // namespace

std::unique_ptr<Backend> make_cluster_backend(std::unique_ptr<Backend> local, Transport& transport) {
  return std::make_unique<ClusterBackend>(std::move(local), transport);
}

}  // namespace shardcheck
