#include "backends/cluster/handshake.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>

#include "backends/cluster/frame.h"
#include "tests/backends/cluster/children.h"

namespace shardcheck::cluster {
namespace {

using namespace std::chrono_literals;
using test::Children;

constexpr TransportOptions kPatient{.comm_timeout = 20s, .largest_frame = 1000};
constexpr TransportOptions kHasty{.comm_timeout = 400ms};

void barrier(Transport& transport) {
  transport.barrier({"passing the barrier"});
}

/// A connection that a test speaks on.
class Stranger {
 public:
  explicit Stranger(int port) : socket_(connect_to({"127.0.0.1", port}, Deadline(10s))) {}

  void say(const void* bytes, std::size_t size) {
    ASSERT_EQ(::send(socket_.descriptor(), bytes, size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
  }
  /// What the handshake expects of a process.
  void say_hello(std::uint32_t version, std::int32_t process, std::int32_t processes) {
    struct {
      char magic[8] = {'S', 'H', 'A', 'R', 'D', 'C', 'H', 'K'};
      std::uint32_t byte_order = 0x01020304, version = 0;
      std::int32_t process = 0, processes = 0;
    } hello;
    hello.version = version;
    hello.process = process;
    hello.processes = processes;
    say(&hello, sizeof(hello));
  }
  /// True when the other side closes within the deadline.
  bool is_turned_away() {
    const Deadline deadline(10s);
    std::byte dropped[256];
    for (pollfd ready{socket_.descriptor(), POLLIN, 0}; wait_for({&ready, 1}, deadline);) {
      if (::recv(socket_.descriptor(), dropped, sizeof(dropped), MSG_DONTWAIT) <= 0) return true;
    }
    return false;
  }

 private:
  Socket socket_;
};

struct Meeting {
  Children children;
  int port = test::free_port();

  void start(int process, int processes, const TransportOptions& options) {
    children.start(
        [=, this] { return test::converse(test::launch_at(port, process, processes), options, barrier); });
  }
  /// The sentence with which child `index` exits 3.
  std::string sentence(std::size_t index) {
    const auto ended = children.wait(index);
    EXPECT_EQ(ended.status, 3);
    return ended.output;
  }
};

TEST(Handshake, NonsenseOnThePortIsTurnedAwayAndTheOthersAreWaitedFor) {
  Meeting meeting;
  meeting.start(0, 2, kPatient);
  Stranger silent(meeting.port), browser(meeting.port);
  const char request[] = "GET / HTTP/1.1\r\n\r\n";
  browser.say(request, sizeof(request) - 1);
  EXPECT_TRUE(browser.is_turned_away());
  meeting.start(1, 2, kPatient);
  for (const auto& ended : meeting.children.wait_for_all()) EXPECT_EQ(ended.status, 0) << ended.output;
}

TEST(Handshake, AnotherVersionOrJobIsSaid) {
  Meeting version;
  version.start(0, 2, kPatient);
  Stranger(version.port).say_hello(99, 1, 2);
  EXPECT_EQ(
      version.sentence(0),
      "cluster: process 1 speaks version 99 of the protocol, process 0 version 1: start the same binary "
      "everywhere\n");
  Meeting job;
  job.start(0, 2, kPatient);
  Stranger(job.port).say_hello(1, 1, 8);
  EXPECT_EQ(
      job.sentence(0),
      "cluster: process 1 says that there are 8 processes, process 0 that there are 2: two jobs meet on "
      "one MASTER_PORT\n");
}

TEST(Handshake, TwoProcessesOfOneNumberAreSaidToAll) {
  Meeting meeting;
  meeting.start(0, 3, kPatient);
  meeting.start(1, 3, kPatient);
  meeting.start(1, 3, kPatient);
  EXPECT_EQ(meeting.sentence(0), "cluster: two processes say that they are number 1\n");
  EXPECT_NE(meeting.sentence(1), "");
  EXPECT_NE(meeting.sentence(2), "");
}

TEST(Handshake, WhoDoesNotComeIsNamed) {
  Meeting meeting;
  meeting.start(0, 2, kHasty);
  EXPECT_EQ(meeting.sentence(0), "cluster: process 1 did not connect to 127.0.0.1:" +
                                     std::to_string(meeting.port) + " within 0.4 s\n");
  Meeting alone;
  alone.start(1, 2, kHasty);
  EXPECT_EQ(alone.sentence(0), "cluster: process 1: process 0 did not listen at 127.0.0.1:" +
                                   std::to_string(alone.port) + " within 0.4 s\n");
}

TEST(Handshake, APortInUseIsSaid) {
  Meeting meeting;
  const Socket taken = listen_at({"127.0.0.1", meeting.port});
  meeting.start(0, 2, kPatient);
  EXPECT_EQ(meeting.sentence(0),
            "cluster: process 0 cannot listen at 127.0.0.1:" + std::to_string(meeting.port) +
                ": Address already in use; choose another MASTER_PORT\n");
}

TEST(Handshake, AnotherServerIsNotProcessZero) {
  Meeting meeting;
  const Socket server = listen_at({"127.0.0.1", meeting.port});
  meeting.start(1, 2, kPatient);
  pollfd ready{server.descriptor(), POLLIN, 0};
  ASSERT_TRUE(wait_for({&ready, 1}, Deadline(10s)));
  const Socket connection = accept_from(server);
  const char banner[] = "SSH-2.0-OpenSSH_9.2\r\n";
  ASSERT_GT(::send(connection.descriptor(), banner, sizeof(banner), MSG_NOSIGNAL), 0);
  EXPECT_EQ(meeting.sentence(0), "cluster: process 1: what listens at 127.0.0.1:" +
                                     std::to_string(meeting.port) + " is not process 0 of this command\n");
}

TEST(Handshake, NonsenseAndOversizedFramesOfAnAdmittedProcessEndTheJob) {
  Meeting nonsense;
  nonsense.start(0, 2, kPatient);
  Stranger speaker(nonsense.port);
  speaker.say_hello(1, 1, 2);
  const std::vector<std::byte> zeros(sizeof(FrameHeader));
  speaker.say(zeros.data(), zeros.size());
  EXPECT_EQ(nonsense.sentence(0),
            "cluster: process 1 sent bytes that are no frame of shardcheck while passing the "
            "barrier (deadline 20 s)\n");
  Meeting oversized;
  oversized.start(0, 2, kPatient);
  Stranger giant(oversized.port);
  giant.say_hello(1, 1, 2);
  const FrameHeader header{.sequence = 1, .bytes = std::uint64_t{1} << 50};
  giant.say(&header, sizeof(header));
  EXPECT_EQ(oversized.sentence(0),
            "cluster: process 1 announced a frame of 1125899906842624 bytes, more than the 1000 that are "
            "allowed while passing the barrier (deadline 20 s)\n");
}

}  // namespace
}  // namespace shardcheck::cluster
