#include "backends/cluster/gpu_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "backends/cluster/cluster_backend.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/fold_order.h"
#include "core/error.h"

namespace shardcheck {
namespace cluster {

std::vector<std::vector<int>> shares_of(std::span<const Seen> processes) {
  std::vector<std::vector<int>> shares(processes.size());
  std::map<std::vector<std::string>, std::vector<std::size_t>> hosts;
  for (std::size_t i = 0; i < processes.size(); ++i) hosts[processes[i].gpus].push_back(i);
  for (auto& [gpus, members] : hosts) {
    if (gpus.empty()) continue;
    std::ranges::stable_sort(members, {}, [&](std::size_t i) { return processes[i].local; });
    const int present = static_cast<int>(std::ssize(gpus)), count = static_cast<int>(std::ssize(members));
    for (int turn = 0; turn < count; ++turn) {
      auto& share = shares[members[static_cast<std::size_t>(turn)]];
      if (count > present) {
        share = {Fold{count, present}.gpu_of(Rank{turn})};
        continue;
      }
      const Fold fold{present, count};  // GPUs in blocks, as ranks lie on processes
      share.resize(static_cast<std::size_t>(fold.ranks_on(turn)));
      std::iota(share.begin(), share.end(), fold.first_rank_of(turn));
    }
  }
  return shares;
}

bool are_apart(std::span<const Seen> processes, std::span<const std::vector<int>> shares) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    for (const int device : shares[i]) {
      if (!taken.insert(processes[i].gpus[static_cast<std::size_t>(device)]).second) return false;
    }
  }
  return true;
}

namespace {

/// A line for the local rank and one for each GPU, in hexadecimal digits.
std::string sent(const Seen& seen) {
  std::string text = fmt::format("{}\n", seen.local);
  for (const std::string& name : seen.gpus) {
    for (const char c : name) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
    text += '\n';
  }
  return text;
}

Seen received(std::span<const std::byte> bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Seen seen;
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  if (lines.empty())
    throw Error(ErrorKind::machine_cannot, "cluster: a process did not say which GPUs it has");
  seen.local = std::atoi(lines.front().c_str());
  seen.gpus.assign(lines.begin() + 1, lines.end());
  return seen;
}

std::vector<Seen> all_seen(Transport& transport) {
  const std::string mine = sent({transport.launch().local, visible_gpus()});
  const Gathered& gathered = transport.all_gather(std::as_bytes(std::span(mine.data(), mine.size())),
                                                  {.what = "sharing out the GPUs"});
  std::vector<Seen> all;
  for (int process = 0; process < transport.processes(); ++process) {
    all.push_back(received(gathered.of(process)));
    if (!all.back().gpus.empty()) continue;
    const std::string why = process == transport.process() ? ": " + cuda_missing() : "";
    throw Error(ErrorKind::machine_cannot, fmt::format("cuda: process {} has no GPU{}", process, why));
  }
  return all;
}

/// What one process gives, over the transport.
std::vector<std::byte> shared(Transport& transport, std::span<const std::byte> mine) {
  return transport.all_gather(mine, {.what = "hearing an NCCL id"}).bytes;
}

/// GPUs that several processes share.
class ThroughHost final : public Backend {
 public:
  explicit ThroughHost(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  BackendInfo info() const override {
    BackendInfo info = inner_->info();
    info.device += "; it is shared with other processes, so that collectives cross through host memory";
    return info;
  }
  bool holds(const Plan& plan, Rank rank) const override { return inner_->holds(plan, rank); }
  void execute(const Plan& plan, OpIndex first, OpIndex last) override { inner_->execute(plan, first, last); }
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    inner_->write(plan, rank, view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    inner_->read(plan, rank, view, bytes);
  }

 private:
  std::unique_ptr<Backend> inner_;
};

}  // namespace
}  // namespace cluster

std::unique_ptr<Backend> make_cuda_part(const BackendOptions& options, Transport& transport) {
  const std::vector<cluster::Seen> seen = cluster::all_seen(transport);
  const auto shares = cluster::shares_of(seen);
  const auto mine = static_cast<std::size_t>(transport.process());
  CudaOptions cuda = cuda_options_from_environment();
  if (options.comm_timeout) cuda.comm_timeout = *options.comm_timeout;
  cuda.devices = shares[mine];
  if (!cluster::are_apart(seen, shares)) {
    // One GPU a process: an order of additions within it that the reference knows.
    cuda.devices.resize(1);
    return std::make_unique<cluster::ThroughHost>(make_cluster_backend(make_cuda_backend(cuda), transport));
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (i < mine) cuda.world.first += static_cast<int>(shares[i].size());
    cuda.world.gpus += static_cast<int>(shares[i].size());
  }
  cuda.world.share = [&transport](std::span<const std::byte> id) { return cluster::shared(transport, id); };
  return make_cuda_backend(cuda);
}

}  // namespace shardcheck
