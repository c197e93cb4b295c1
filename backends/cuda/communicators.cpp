#include "backends/cuda/communicators.h"

#include <fmt/format.h>

#include <mutex>
#include <thread>

#include "core/error.h"

namespace shardcheck::gpu {
namespace {

using Clock = std::chrono::steady_clock;

/// Communicators come and go one after the other: with several backends in threads of one process, NCCL 2.28
/// ended in a double free when some aborted theirs while others made new ones (seen on two H200s).
std::recursive_mutex& birth_and_death() {
  static std::recursive_mutex mutex;
  return mutex;
}

}  // namespace

const std::vector<ncclComm_t>& Communicators::among(const std::vector<int>& devices) {
  const auto found = communicators_.find(devices);
  if (found != communicators_.end()) return found->second;

  const std::scoped_lock one_at_a_time(birth_and_death());
  ncclUniqueId id;
  SC_CHECK(ncclGetUniqueId(&id));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  auto& members = communicators_[devices];
  members.assign(devices.size(), nullptr);
  const int count = static_cast<int>(devices.size());
  SC_CHECK(ncclGroupStart());
  for (int i = 0; i < count; ++i) {
    SC_CHECK(cudaSetDevice(devices[static_cast<std::size_t>(i)]));
    SC_CHECK(ncclCommInitRankConfig(&members[static_cast<std::size_t>(i)], count, id, i, &config));
  }
  SC_CHECK(ncclGroupEnd());
  await_accepted(members, "the communicator did not come up");
  return members;
}

void Communicators::await_accepted(const std::vector<ncclComm_t>& members, std::string_view what) {
  const auto deadline = Clock::now() + timeout_;
  for (const ncclComm_t member : members) {
    for (;;) {
      ncclResult_t state = ncclSuccess;
      SC_CHECK(ncclCommGetAsyncError(member, &state));
      if (state == ncclSuccess) break;
      if (state != ncclInProgress) {
        const std::string reason = fmt::format("{}: {}", what, ncclGetErrorString(state));
        give_up(reason);
      }
      if (Clock::now() > deadline) give_up(what);
      std::this_thread::yield();
    }
  }
}

void Communicators::throw_on_asynchronous_error() {
  for (const auto& [devices, members] : communicators_) {
    for (const ncclComm_t member : members) {
      ncclResult_t state = ncclSuccess;
      SC_CHECK(ncclCommGetAsyncError(member, &state));
      if (state != ncclSuccess && state != ncclInProgress) {
        const std::string reason = fmt::format("a collective failed: {}", ncclGetErrorString(state));
        give_up(reason);
      }
    }
  }
}

void Communicators::await(cudaStream_t stream) {
  if (communicators_.empty()) {
    SC_CHECK(cudaStreamSynchronize(stream));
    return;
  }
  const auto deadline = Clock::now() + timeout_;
  for (;;) {
    const cudaError_t state = cudaStreamQuery(stream);
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) check(state, "cudaStreamQuery");
    throw_on_asynchronous_error();
    if (Clock::now() > deadline) give_up("work with a collective in it did not end");
    std::this_thread::yield();
  }
}

/// Aborting lets the kernels of a stuck collective end, so that memory can be freed afterwards.
void Communicators::give_up(std::string_view what) {
  abort_all();
  throw Error(
      ErrorKind::machine_cannot,
      fmt::format("cuda: NCCL: {}; gave up after at most {} s (--comm-timeout), a peer is lost or the "
                  "collectives do not match",
                  what, std::chrono::duration<double>(timeout_).count()));
}

void Communicators::abort_all() {
  if (communicators_.empty()) return;
  const std::scoped_lock one_at_a_time(birth_and_death());
  if (ncclGroupStart() != ncclSuccess) return;
  for (const auto& [devices, members] : communicators_) {
    for (const ncclComm_t member : members) {
      if (member != nullptr) ncclCommAbort(member);
    }
  }
  ncclGroupEnd();
  communicators_.clear();
}

Communicators::~Communicators() {
  // No work is left (the backend has waited), so aborting is the quick way to free what a communicator holds.
  abort_all();
}

}  // namespace shardcheck::gpu
