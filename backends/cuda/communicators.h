// Communicators: NCCL among GPUs, with a deadline: a peer that is lost or a collective that does not match
// ends in Error(machine_cannot), not in a hang. Among the GPUs of one process enqueuing is watched by another
// thread, which aborts the communicators; waiting polls. Those are not NCCL's non-blocking kind, which starts
// a thread for every group: 60 us a group against 12, and 97 us against 29 with eight threads (NCCL 2.28.3,
// two H200s). Across processes (world.h), where a peer can be lost while a communicator comes up, they are.
// Next: watchdog.h, collectives.cpp.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backends/cuda/check.h"
#include "backends/cuda/cuda_options.h"
#include "backends/cuda/watchdog.h"

namespace shardcheck::gpu {

class Communicators {
 public:
  explicit Communicators(const CudaOptions& options)
      : timeout_(options.comm_timeout), world_(options.world) {}
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  static constexpr int kElsewhere = -1;
  struct Member {
    int gpu = 0;              ///< its number in the machine
    int device = kElsewhere;  ///< of this process
  };
  /// One communicator for each of `wanted` (ascending GPUs), in this order, null for those elsewhere; made at
  /// first use. All processes of a world ask for the same ones in the same order.
  const std::vector<ncclComm_t>& among(std::span<const Member> wanted);

  /// Runs `enqueue`, which calls NCCL, as one group, and returns when all its work is in the streams.
  template <class Enqueue>
  void group(const std::vector<ncclComm_t>& members, Enqueue enqueue) {
    if (!world_.is_alone()) {
      SC_CHECK(ncclGroupStart());
      enqueue();
      SC_CHECK(ncclGroupEnd());
      await_accepted(members, "a collective was not accepted");
      return;
    }
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

  ncclUniqueId id_for(std::span<const Member> wanted) const;
  void make_here(std::vector<ncclComm_t>& members, std::span<const Member> wanted, ncclUniqueId id);
  void make_across(std::vector<ncclComm_t>& members, std::span<const Member> wanted, ncclUniqueId id);
  void await_accepted(const std::vector<ncclComm_t>& members, std::string_view what);
  void throw_on_asynchronous_error();
  [[noreturn]] void give_up(std::string_view what);
  void abort_all();

  std::chrono::milliseconds timeout_;
  World world_;
  std::map<std::vector<int>, std::vector<ncclComm_t>> communicators_;
  std::unique_ptr<Watchdog> watchdog_;  ///< from the first communicator on
};

}  // namespace shardcheck::gpu
