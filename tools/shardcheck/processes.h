// Processes: the processes of one launch (mpirun, torchrun-style variables; backends/cluster/launch.h) behind
// a verb. Each holds a part of the ranks; all draw the same cases and take the same turns; process 0 alone
// prints, writes files and keeps failures. A process that fails makes all of them end. Where one process was
// started everything here does nothing. Next: backend_choice.h, command.cpp.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "backends/cluster/transport.h"
#include "core/error.h"
#include "tools/shardcheck/session.h"

namespace shardcheck {

class Processes {
 public:
  /// One process.
  Processes() = default;
  /// `command`: the command line, which must be the same on all.
  Processes(Launch launch, std::string command) : launch_(std::move(launch)), command_(std::move(command)) {}

  int count() const { return launch_.processes; }
  bool are_several() const { return count() > 1; }
  int index() const { return launch_.process; }  ///< 0-based
  bool is_first() const { return index() == 0; }

  /// Waits for the others. An error with which one of them ended before is thrown here, and
  /// Error(machine_cannot) where the command lines differ or a process is missing.
  void meet(std::optional<std::chrono::milliseconds> comm_timeout);

  /// Null until they have met, and where there is one process.
  Transport* transport() { return transport_.get(); }

  /// True when it is true on any of them.
  bool anywhere(bool here);
  /// What process 0 has.
  std::string of_first(const std::string& mine);

  /// The status with which all end: the gravest of theirs (backends/cluster/verdict.h).
  ExitStatus end(ExitStatus mine);

  /// This process ends early: the others end too, with the sentence. True when process 0 will print it.
  bool fail(const Error& error) noexcept;

 private:
  void call_the_roll(const TransportOptions& options, const Error* mine);

  Launch launch_;
  std::string command_;
  bool has_begun_ = false;  ///< the roll was called
  std::unique_ptr<Transport> transport_;
};

}  // namespace shardcheck
