// Communicators: NCCL among the GPUs of this process. Non-blocking, with a deadline: a peer that is lost or a
// collective that does not match ends in Error(machine_cannot), not in a hang. Next: collectives.cpp.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <chrono>
#include <map>
#include <string_view>
#include <vector>

#include "backends/cuda/check.h"

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
    SC_CHECK(ncclGroupStart());
    enqueue();
    SC_CHECK(ncclGroupEnd());
    await_accepted(members, "a collective was not accepted");
  }

  /// Waits for the work in `stream`; for a limited time when collectives may be in it.
  void await(cudaStream_t stream);

 private:
  void await_accepted(const std::vector<ncclComm_t>& members, std::string_view what);
  void throw_on_asynchronous_error();
  [[noreturn]] void give_up(std::string_view what);
  void abort_all();

  std::chrono::milliseconds timeout_;
  std::map<std::vector<int>, std::vector<ncclComm_t>> communicators_;
};

}  // namespace shardcheck::gpu
