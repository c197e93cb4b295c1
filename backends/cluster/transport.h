// Transport: how the processes of one launch exchange bytes. Every process makes the same calls in the same
// order; every call has a deadline, and a process that is killed, hangs or speaks nonsense becomes an
// Error(machine_cannot) on all of them. After the first failure every later call fails at once with the same
// sentence. Two ways to carry the bytes: tcp_transport.h, mpi_transport.h. Next: cluster_backend.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cluster/launch.h"

namespace shardcheck {

struct TransportOptions {
  /// How long a process waits in one call for the others, from when it calls itself. It must exceed the
  /// longest work that a process does between two calls while the others have less. Processes other than 0
  /// wait a quarter longer, so that they hear from process 0 who is missing.
  std::chrono::milliseconds comm_timeout{60'000};
  /// Bytes that one process may give to a call; a frame that announces more is refused before it is read.
  std::uint64_t largest_frame = std::uint64_t{1} << 30;
};

/// What a call is about. Processes whose numbers or digests differ have gone apart, which is an error.
struct Occasion {
  std::string_view what;     ///< "exchanging operands of op"; a sentence is made of it and the number
  std::int64_t number = -1;  ///< -1: none
  std::uint64_t digest = 0;  ///< of whatever must be alike, the plan for instance
};
std::string to_text(const Occasion& occasion);

/// The bytes of every process, in the order of the processes.
struct Gathered {
  std::vector<std::byte> bytes;
  std::vector<std::uint64_t> sizes;  ///< one a process

  std::span<const std::byte> of(int process) const;
};

class Transport {
 public:
  Transport(Launch launch, const TransportOptions& options) : launch_(std::move(launch)), options_(options) {}
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  const Launch& launch() const { return launch_; }
  int process() const { return launch_.process; }
  int processes() const { return launch_.processes; }

  /// The bytes of all processes, valid until the next call.
  const Gathered& all_gather(std::span<const std::byte> mine, const Occasion& occasion);
  /// The bytes of process 0, valid until the next call; `mine` of the others is ignored.
  std::span<const std::byte> broadcast(std::span<const std::byte> mine, const Occasion& occasion);
  /// Returns when every process has called it.
  void barrier(const Occasion& occasion);

  /// This process ends early: the others get an Error with `sentence` in their current or next call. Nothing
  /// after the first failure. Never throws.
  void fail(const std::string& sentence) noexcept;

  /// The sentence of the first failure, or nothing.
  const std::optional<std::string>& failure() const { return failure_; }

 protected:
  virtual const Gathered& exchange(std::span<const std::byte> mine, const Occasion& occasion) = 0;
  /// Tells the sentence to whoever still listens, within a second or so.
  virtual void tell(const std::string& sentence) noexcept = 0;

  const TransportOptions& options() const { return options_; }
  /// "60 s", for sentences.
  std::string deadline_text() const;
  /// Our own diagnosis: told to the others, then thrown.
  [[noreturn]] void give_up(const std::string& sentence);
  /// What another process said: process 0 tells it on, then it is thrown as it is.
  [[noreturn]] void give_up_as_told(const std::string& sentence);

 private:
  Launch launch_;
  TransportOptions options_;
  std::optional<std::string> failure_;
};

/// TCP where the launcher said where process 0 is to be found, else MPI where Open MPI launched. One process
/// needs neither. Returns when all processes have met; throws Error.
std::unique_ptr<Transport> make_transport(const Launch& launch, const TransportOptions& options);

}  // namespace shardcheck
