#include "backends/cluster/launch.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "core/error.h"

namespace shardcheck {
namespace {

constexpr int kMostProcesses = 65536;
constexpr int kHighestPort = 65535;

struct Bounds {
  int low = 0, high = 0;
};

/// The variable as a number within the bounds, or nothing when it is not set.
std::optional<int> number_in(const Variables& variables, const std::string& name, Bounds bounds) {
  const auto text = variables(name);
  if (!text) return std::nullopt;
  int value = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stop != end || value < bounds.low || value > bounds.high) {
    throw bad_input(
        name, fmt::format("\"{}\" is not a whole number from {} to {}", *text, bounds.low, bounds.high));
  }
  return value;
}

/// The names under which a launcher leaves the three numbers.
struct Names {
  std::string process, processes, local, how;
};

/// Nothing when the launcher left none of its names.
std::optional<Launch> numbers_from(const Variables& variables, const Names& names) {
  const auto process = number_in(variables, names.process, {0, kMostProcesses - 1});
  const auto processes = number_in(variables, names.processes, {1, kMostProcesses});
  if (!process && !processes) return std::nullopt;
  if (!process || !processes) {
    const auto& [set, missing] =
        process ? std::pair(names.process, names.processes) : std::pair(names.processes, names.process);
    throw bad_input(set,
                    fmt::format("is set, but {} is not; a launcher sets both, one process neither", missing));
  }
  if (*process >= *processes) {
    throw bad_input(names.process,
                    fmt::format("{} is not below {}, which is {}", *process, names.processes, *processes));
  }
  const int local = number_in(variables, names.local, {0, kMostProcesses - 1}).value_or(*process);
  if (local > *process) {
    throw bad_input(names.local, fmt::format("{} is above {}, which is {}", local, names.process, *process));
  }
  return Launch{.process = *process, .processes = *processes, .local = local, .how = names.how};
}

void add_meeting_point(Launch& launch, const Variables& variables) {
  launch.address = variables("MASTER_ADDR").value_or("");
  launch.port = number_in(variables, "MASTER_PORT", {1, kHighestPort}).value_or(0);
  if (launch.address.empty() != (launch.port == 0)) {
    throw bad_input(launch.port == 0 ? "MASTER_ADDR" : "MASTER_PORT",
                    fmt::format("is set, but {} is not; process 0 is found by both",
                                launch.port == 0 ? "MASTER_PORT" : "MASTER_ADDR"));
  }
  if (launch.port > 0 && variables("TORCHELASTIC_USE_AGENT_STORE") == "True") {
    if (launch.port == kHighestPort) {
      throw bad_input("MASTER_PORT",
                      "torchrun's store has this port and the next one, which shardcheck "
                      "would use, does not exist; choose a lower one with --master-port");
    }
    ++launch.port;
  }
}

}  // namespace

Launch launch_from(const Variables& variables) {
  const Names torchrun{"RANK", "WORLD_SIZE", "LOCAL_RANK", "torchrun-style variables"};
  if (auto launch = numbers_from(variables, torchrun)) {
    if (launch->processes == 1) return *launch;
    add_meeting_point(*launch, variables);
    if (launch->port == 0) {
      throw bad_input("WORLD_SIZE", fmt::format("is {}, but MASTER_ADDR and MASTER_PORT, where process 0 "
                                                "is to be found, are not set",
                                                launch->processes));
    }
    return *launch;
  }
  const Names open_mpi{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                       "Open MPI"};
  if (auto launch = numbers_from(variables, open_mpi)) {
    if (launch->processes > 1) add_meeting_point(*launch, variables);
    return *launch;
  }
  return Launch{.how = "one process"};
}

Launch launch_of_environment() {
  return launch_from([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

}  // namespace shardcheck
