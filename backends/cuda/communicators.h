// Communicators: NCCL among the GPUs of this process, with a deadline: a peer that is lost or a collective
// that does not match ends in Error(machine_cannot), not in a hang. Enqueuing is watched by another thread,
// which aborts the communicators; waiting polls. They are not NCCL's non-blocking kind, which starts a thread
// for every group: 60 us a group against 12, and 97 us against 29 with eight threads (NCCL 2.28.3, two
// H200s). Next: watchdog.h, collectives.cpp.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <chrono>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "backends/cuda/check.h"
#include "backends/cuda/watchdog.h"

namespace shardcheck::gpu {

class Communicators {
 public:
  explicit Communicators(std::chrono::milliseconds timeout) : timeout_(timeout) {}
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  /// One communicator for each of `devices` (ascending), in this order; made at first use.
  const std::vector<ncclComm_t>& among(const std::vector<int>& devices);

  /// Runs `enqueue`, which calls NCCL, as one group, and returns when all its work is in the streams.
  template <class Enqueue>
  void group(const std::vector<ncclComm_t>& members, Enqueue enqueue) {
    const Watched watched(*this, members, "a collective was not accepted");
    SC_CHECK(ncclGroupStart());
    enqueue();
    SC_CHECK(ncclGroupEnd());
    watched.succeed();
  }

  /// Waits for the work in `stream`; for a limited time when collectives may be in it.
  void await(cudaStream_t stream);

 private:
  /// While it lives, the members are aborted when the limit has passed.
  class Watched {
   public:
    Watched(Communicators& all, const std::vector<ncclComm_t>& members, std::string_view what);
    ~Watched();
    /// The calls have returned. Throws when that was too late.
    void succeed() const;

   private:
    Communicators& all_;
    std::string_view what_;
  };

  void throw_on_asynchronous_error();
  [[noreturn]] void give_up(std::string_view what);
  void abort_all();

  std::chrono::milliseconds timeout_;
  std::map<std::vector<int>, std::vector<ncclComm_t>> communicators_;
  std::unique_ptr<Watchdog> watchdog_;  ///< from the first communicator on
};

}  // namespace shardcheck::gpu
