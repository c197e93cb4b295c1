#include "backends/cuda/communicators.h"

#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

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

Communicators::Watched::Watched(Communicators& all, const std::vector<ncclComm_t>& members,
                                std::string_view what)
    : all_(all), what_(what) {
  if (all_.watchdog_ == nullptr) all_.watchdog_ = std::make_unique<Watchdog>(all_.timeout_);
  // NCCL lets another thread abort a communicator whose call does not return.
  all_.watchdog_->enter([&members] {
    for (const ncclComm_t member : members) {
      if (member != nullptr) ncclCommAbort(member);
    }
  });
}

Communicators::Watched::~Watched() {
  // What was aborted is gone, whatever error the call returned.
  if (all_.watchdog_->leave()) all_.communicators_.clear();
}

void Communicators::Watched::succeed() const {
  if (!all_.watchdog_->leave()) return;
  all_.communicators_.clear();
  all_.give_up(what_);
}

const std::vector<ncclComm_t>& Communicators::among(std::span<const Member> wanted) {
  std::vector<int> gpus;
  for (const Member& member : wanted) gpus.push_back(member.gpu);
  const auto found = communicators_.find(gpus);
  if (found != communicators_.end()) return found->second;

  const std::scoped_lock one_at_a_time(birth_and_death());
  const ncclUniqueId id = id_for(wanted);
  if (!world_.is_alone()) {
    auto& members = communicators_[gpus];  // where give_up() finds it
    make_across(members, wanted, id);
    return members;
  }
  std::vector<ncclComm_t> members;
  make_here(members, wanted, id);
  return communicators_.emplace(gpus, std::move(members)).first->second;
}

/// Made by the process that has the first GPU, and the same for all.
ncclUniqueId Communicators::id_for(std::span<const Member> wanted) const {
  ncclUniqueId id{};
  const bool is_mine = wanted.front().device != kElsewhere;
  if (is_mine) SC_CHECK(ncclGetUniqueId(&id));
  if (world_.is_alone()) return id;
  const std::vector<std::byte> told =
      world_.share(is_mine ? std::as_bytes(std::span(&id, 1)) : std::span<const std::byte>{});
  if (told.size() != sizeof(id)) throw Error(ErrorKind::machine_cannot, "cuda: an NCCL id got lost");
  std::memcpy(&id, told.data(), sizeof(id));
  return id;
}

void Communicators::make_here(std::vector<ncclComm_t>& members, std::span<const Member> wanted,
                              ncclUniqueId id) {
  members.assign(wanted.size(), nullptr);
  const int count = static_cast<int>(wanted.size());
  const Watched watched(*this, members, "the communicator did not come up");
  SC_CHECK(ncclGroupStart());
  for (int i = 0; i < count; ++i) {
    SC_CHECK(cudaSetDevice(wanted[static_cast<std::size_t>(i)].device));
    SC_CHECK(ncclCommInitRank(&members[static_cast<std::size_t>(i)], count, id, i));
  }
  SC_CHECK(ncclGroupEnd());
  watched.succeed();
}

void Communicators::make_across(std::vector<ncclComm_t>& members, std::span<const Member> wanted,
                                ncclUniqueId id) {
  members.assign(wanted.size(), nullptr);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  SC_CHECK(ncclGroupStart());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].device == kElsewhere) continue;
    SC_CHECK(cudaSetDevice(wanted[i].device));
    SC_CHECK(ncclCommInitRankConfig(&members[i], static_cast<int>(wanted.size()), id, static_cast<int>(i),
                                    &config));
  }
  SC_CHECK(ncclGroupEnd());
  await_accepted(members, "the communicator did not come up");
}

void Communicators::await_accepted(const std::vector<ncclComm_t>& members, std::string_view what) {
  const auto deadline = Clock::now() + timeout_;
  for (const ncclComm_t member : members) {
    if (member == nullptr) continue;
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
      if (member == nullptr) continue;
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
  // Most work ends within a few queries; what follows them takes locks of NCCL's.
  constexpr int kQueriesBetweenLooks = 64;
  const auto deadline = Clock::now() + timeout_;
  for (;;) {
    for (int i = 0; i < kQueriesBetweenLooks; ++i) {
      const cudaError_t state = cudaStreamQuery(stream);
      if (state == cudaSuccess) return;
      if (state != cudaErrorNotReady) check(state, "cudaStreamQuery");
      std::this_thread::yield();
    }
    throw_on_asynchronous_error();
    if (Clock::now() > deadline) give_up("work with a collective in it did not end");
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
