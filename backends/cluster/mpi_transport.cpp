#include "backends/cluster/mpi_transport.h"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <thread>

#include "backends/cluster/frame.h"
#include "backends/cluster/socket.h"
#include "core/error.h"

namespace shardcheck {
namespace {

using cluster::Deadline;
using cluster::FrameHeader;
using cluster::kLongestSentence;

constexpr int kFailureTag = 7;
/// How long one that ends waits for the others to hear why.
constexpr std::chrono::milliseconds kFarewell{1000};
/// Tests of a request before the processor is left to others between two tests.
constexpr int kEagerTests = 100;
/// Between two later ones: there may be more processes than processors.
constexpr std::chrono::microseconds kPause{50};

void require(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw Error(ErrorKind::machine_cannot,
              fmt::format("cluster: {} failed: {}", call,
                          std::string_view(text.data(), static_cast<std::size_t>(length))));
}

class MpiTransport final : public Transport {
 public:
  MpiTransport(const Launch& launch, const TransportOptions& options) : Transport(launch, options) {
    // Where processes share processors Open MPI yields in every test, and on a busy machine a yield waits for
    // everybody's time slice. Here wait() pauses by itself.
    ::setenv("OMPI_MCA_mpi_yield_when_idle", "0", 0);
    require(MPI_Init(nullptr, nullptr), "MPI_Init");
    require(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    require(MPI_Comm_dup(MPI_COMM_WORLD, &failures_), "MPI_Comm_dup");
    int process = 0, processes = 0;
    require(MPI_Comm_rank(MPI_COMM_WORLD, &process), "MPI_Comm_rank");
    require(MPI_Comm_size(MPI_COMM_WORLD, &processes), "MPI_Comm_size");
    if (process != launch.process || processes != launch.processes) {
      throw Error(
          ErrorKind::machine_cannot,
          fmt::format("cluster: the environment says process {} of {}, MPI says {} of {}: this build's "
                      "MPI is not the one whose mpirun started it",
                      launch.process, launch.processes, process, processes));
    }
    headers_.resize(static_cast<std::size_t>(processes));
  }
  /// After a failure the others may never finalise, and MPI_Finalize would wait for them.
  ~MpiTransport() override {
    if (!failure()) MPI_Finalize();
  }

 private:
  const Gathered& exchange(std::span<const std::byte> mine, const Occasion& occasion) override {
    ++sequence_;
    const Deadline deadline(options().comm_timeout);
    const FrameHeader header{
        .sequence = sequence_, .number = occasion.number, .digest = occasion.digest, .bytes = mine.size()};
    MPI_Request request = MPI_REQUEST_NULL;
    require(MPI_Iallgather(&header, sizeof(header), MPI_BYTE, headers_.data(), sizeof(header), MPI_BYTE,
                           MPI_COMM_WORLD, &request),
            "MPI_Iallgather");
    wait(request, deadline, occasion);
    check_headers(occasion);
    const std::uint64_t total = plan_receive(occasion);
    if (total == 0) return gathered_;
    require(MPI_Iallgatherv(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, gathered_.bytes.data(),
                            counts_.data(), begins_.data(), MPI_BYTE, MPI_COMM_WORLD, &request),
            "MPI_Iallgatherv");
    wait(request, deadline, occasion);
    return gathered_;
  }

  void tell(const std::string& sentence) noexcept override;
  void wait(MPI_Request& request, const Deadline& deadline, const Occasion& occasion);
  void listen_for_failures();
  void check_headers(const Occasion& occasion);
  std::uint64_t plan_receive(const Occasion& occasion);

  MPI_Comm failures_ = MPI_COMM_NULL;  ///< sentences of processes that end
  std::uint64_t sequence_ = 0;
  std::vector<FrameHeader> headers_;
  std::vector<int> counts_, begins_;
  Gathered gathered_;
};

void MpiTransport::wait(MPI_Request& request, const Deadline& deadline, const Occasion& occasion) {
  for (int tests = 0;; ++tests) {
    int is_done = 0;
    require(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), "MPI_Test");
    if (is_done != 0) return;
    listen_for_failures();
    if (tests < kEagerTests) continue;
    if (deadline.is_over()) {
      give_up(
          fmt::format("process {} waited {} for the others while {}: one of them hangs, or has more to do",
                      process(), deadline_text(), to_text(occasion)));
    }
    std::this_thread::sleep_for(kPause);
  }
}

void MpiTransport::listen_for_failures() {
  int is_there = 0;
  MPI_Status status;
  require(MPI_Iprobe(MPI_ANY_SOURCE, kFailureTag, failures_, &is_there, &status), "MPI_Iprobe");
  if (is_there == 0) return;
  std::array<char, kLongestSentence> text{};
  int length = 0;
  require(MPI_Recv(text.data(), static_cast<int>(text.size()), MPI_BYTE, status.MPI_SOURCE, kFailureTag,
                   failures_, &status),
          "MPI_Recv");
  require(MPI_Get_count(&status, MPI_BYTE, &length), "MPI_Get_count");
  give_up_as_told(std::string(text.data(), static_cast<std::size_t>(length)));
}

void MpiTransport::check_headers(const Occasion& occasion) {
  const FrameHeader& mine = headers_[static_cast<std::size_t>(process())];
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    const FrameHeader& header = headers_[i];
    const bool agrees = header.sequence == mine.sequence && header.number == mine.number &&
                        header.digest == mine.digest && header.magic == mine.magic;
    if (agrees) continue;
    give_up(
        fmt::format("process {} does something else than process {}, which is {}: call {} against {}, "
                    "number {} against {} (deadline {})",
                    i, process(), to_text(occasion), header.sequence, mine.sequence, header.number,
                    mine.number, deadline_text()));
  }
}

/// Room for what the headers announce; MPI counts in int.
std::uint64_t MpiTransport::plan_receive(const Occasion& occasion) {
  gathered_.sizes.clear();
  counts_.clear();
  begins_.clear();
  std::uint64_t total = 0;
  for (const FrameHeader& header : headers_) {
    if (header.bytes > options().largest_frame || total + header.bytes > std::numeric_limits<int>::max()) {
      give_up(fmt::format("process {} announced a frame of {} bytes, more than are allowed, while {}",
                          gathered_.sizes.size(), header.bytes, to_text(occasion)));
    }
    begins_.push_back(static_cast<int>(total));
    counts_.push_back(static_cast<int>(header.bytes));
    gathered_.sizes.push_back(header.bytes);
    total += header.bytes;
  }
  gathered_.bytes.resize(total);
  return total;
}

void MpiTransport::tell(const std::string& sentence) noexcept {
  const int length = static_cast<int>(std::min<std::size_t>(sentence.size(), kLongestSentence));
  const Deadline deadline(kFarewell);
  for (int other = 0; other < processes(); ++other) {
    if (other == process()) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    int is_done =
        MPI_Isend(sentence.data(), length, MPI_BYTE, other, kFailureTag, failures_, &request) == MPI_SUCCESS;
    if (is_done == 0) continue;
    do {
      if (MPI_Test(&request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
    } while (is_done == 0 && !deadline.is_over());
  }
}

}  // namespace

std::string mpi_missing() {
  return "";
}

std::unique_ptr<Transport> make_mpi_transport(const Launch& launch, const TransportOptions& options) {
  return std::make_unique<MpiTransport>(launch, options);
}

}  // namespace shardcheck
