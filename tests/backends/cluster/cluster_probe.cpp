// cluster_probe SEED... : examines the scenario of each seed on the cpu backend, alone or as one of several
// processes, as the environment says. Every process prints a line for every range that its consumers read,
// with a hash of the bits; process 0 prints the gathered findings. The test compares the lines of several
// processes with those of one.
//   --die PROCESS  that process kills itself after the first scenario
//   --into FOLDER  a file a process, because mpirun tears lines where its buffer ends
//   --seconds      prints the time that the scenarios took instead of lines
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

#include "backends/cluster/cluster_backend.h"
#include "backends/cluster/verdict.h"
#include "backends/registry.h"
#include "core/error.h"
#include "core/files.h"
#include "properties/evidence.h"
#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

/// Scenarios that between them have all strategies, types, ways to scale, odd numbers of ranks, experts and,
/// from seed 100 on, a fault.
Scenario scenario_of(int seed) {
  Scenario s;
  s.name = fmt::format("seed {}", seed);
  s.seed = static_cast<std::uint64_t>(seed);
  const int turn = seed / 6;
  // Faults are of fused writes, or of a reduce-scatter in place.
  const int strategies = seed < 100 ? kStrategies : static_cast<int>(Strategy::fsdp_v2);
  s.strategy = static_cast<Strategy>(seed % strategies);
  if (is_unfused_only(s.strategy)) s.write_mode = WriteMode::r7;
  s.ranks = std::array{4, 6, 8, 5}[static_cast<std::size_t>(turn % 4)];
  s.expert_parallel = s.ranks % 2 == 0 ? 2 : 1;
  s.microbatches = 2 + turn % 2;
  s.tokens = 2;
  const bool fits = turn % 2 == 1 && !is_unfused_only(s.strategy);  // autograd's type has few digits
  s.data = fits ? DataMode::provenance : DataMode::integers;
  s.scaling = static_cast<Scaling>(turn % 3);
  s.comm = turn % 2 == 0 ? DType::bf16 : DType::f32;
  s.parameters = {{.name = "up", .shape = {13, 9}, .unit = 0},
                  {.name = "norm", .shape = {83}, .dtype = DType::f32, .unit = 0},
                  {.name = "expert", .shape = {8, 14}, .expert = s.expert_parallel > 1, .unit = 1},
                  {.name = "down", .shape = {7, 17}, .dtype = DType::f16, .unit = 1}};
  s.uses = {{0, Producer::fused, -1},
            {1, Producer::unfused, -1},
            {2, Producer::fused, -1},
            {3, Producer::fused, -1},
            {0, Producer::fused, -1}};
  s.token_counts = {{1, 1, 0}, {s.ranks - 1, 0, 3}};
  if (seed >= 100) s.fault = "M-W28";  // a stale slice, seen in the plan, on a rank or two
  if (seed >= 200) s.fault = "B-14";   // a missing write, seen in the values, on all ranks
  validate(s, s.name);
  return s;
}

/// The backend, and a line for everything that is read from it.
class Listening final : public Backend {
 public:
  explicit Listening(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  BackendInfo info() const override { return inner_->info(); }
  bool holds(const Plan& plan, Rank rank) const override { return inner_->holds(plan, rank); }
  void execute(const Plan& plan, OpIndex first, OpIndex last) override { inner_->execute(plan, first, last); }
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    inner_->write(plan, rank, view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    inner_->read(plan, rank, view, bytes);
    const std::string place =
        fmt::format("rank {} {}[{}+{}]", rank.value, plan.buffer(view.buffer).name, view.offset, view.numel);
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3u;
    lines += fmt::format("seed {} {} time {}: {:016x}\n", seed_, place, ++times_[place], hash);
  }

  /// What follows is of the scenario of that seed.
  void begin(int seed) {
    seed_ = seed;
    times_.clear();
  }

  std::string lines;

 private:
  int seed_ = 0;
  std::unique_ptr<Backend> inner_;
  std::map<std::string, int> times_;
};

struct Wishes {
  std::vector<int> seeds;
  int die = -1;
  bool seconds = false;
  std::string into;
};

Wishes wishes_of(int count, char** arguments) {
  Wishes wishes;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    if (word == "--die" && i + 1 < count) {
      wishes.die = std::atoi(arguments[++i]);
    } else if (word == "--into" && i + 1 < count) {
      wishes.into = arguments[++i];
    } else if (word == "--seconds") {
      wishes.seconds = true;
    } else {
      wishes.seeds.push_back(std::atoi(arguments[i]));
    }
  }
  return wishes;
}

std::unique_ptr<Backend> backend_on(Transport& transport) {
  auto local = make_backend("cpu", {.profile = "ideal"});
  if (transport.processes() == 1) return local;
  return make_cluster_backend(std::move(local), transport);
}

int run(const Wishes& wishes, Transport& transport) {
  int status = 0;
  const auto start = std::chrono::steady_clock::now();
  Listening backend(backend_on(transport));
  for (const int seed : wishes.seeds) {
    backend.begin(seed);
    const Evidence evidence = examine(backend, scenario_of(seed), Poison::quiet_nan);
    const std::vector<Finding> all = agree(transport, evidence.findings);
    if (!all.empty()) status = 1;
    if (wishes.die == transport.process()) std::raise(SIGKILL);
    if (transport.process() > 0) continue;
    for (const Finding& finding : all) {
      backend.lines += fmt::format("seed {} finding {}\n", seed, to_json(finding));
    }
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (wishes.seconds) {
    fmt::print("{:.3f} s\n", taken.count());
  } else if (wishes.into.empty()) {
    fmt::print("{}", backend.lines);
  } else {
    write_text_atomically(fmt::format("{}/{}", wishes.into, transport.process()), backend.lines);
  }
  return agree_on_exit(transport, status);
}

int run_and_tell(const Wishes& wishes) {
  std::unique_ptr<Transport> transport;
  try {
    transport = make_transport(launch_of_environment(), {.comm_timeout = std::chrono::seconds(20)});
    return run(wishes, *transport);
  } catch (const Error& error) {
    if (transport != nullptr) transport->fail(error.what());
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.kind());
  }
}

}  // namespace
}  // namespace shardcheck

int main(int count, char** arguments) {
  return shardcheck::run_and_tell(shardcheck::wishes_of(count, arguments));
}
