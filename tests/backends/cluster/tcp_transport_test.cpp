#include "backends/cluster/tcp_transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "core/error.h"
#include "tests/backends/cluster/children.h"

namespace shardcheck {
namespace {

using namespace std::chrono_literals;
using test::Children;
using test::require;

constexpr TransportOptions kPatient{.comm_timeout = 20s};
constexpr TransportOptions kHasty{.comm_timeout = 400ms};

/// Bytes that a process gives in a round: of another size and content everywhere, some of none.
std::vector<std::byte> bytes_of(int process, int round) {
  const std::size_t sizes[] = {0, 1, 41, 3'000'000, 100};
  std::vector<std::byte> bytes(sizes[(process + round) % 5]);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(process * 7 + round));
  }
  return bytes;
}

void exchange_all(Transport& transport) {
  for (int round = 0; round < 6; ++round) {
    const Gathered& all = transport.all_gather(bytes_of(transport.process(), round), {"round", round});
    for (int process = 0; process < transport.processes(); ++process) {
      require(std::ranges::equal(all.of(process), bytes_of(process, round)),
              "everybody's bytes come in order");
    }
    const auto mine = bytes_of(transport.process() + 10, round);
    const auto first = transport.broadcast(mine, {"broadcast", round});
    require(std::ranges::equal(first, bytes_of(10, round)), "a broadcast brings the bytes of process 0");
    transport.barrier({"barrier", round});
  }
}

TEST(TcpTransport, GathersAmongOneTwoAndFourProcesses) {
  for (const int processes : {1, 2, 4}) {
    Children children;
    test::start_conversation(children, processes, kPatient, exchange_all);
    for (const auto& ended : children.wait_for_all()) EXPECT_EQ(ended.status, 0) << ended.output;
  }
}

/// Process `victim` of four gets the signal after the first barrier. Returns how the four ended, and fails
/// when the others needed longer than `at_most`.
std::vector<test::Ended> four_with_a_victim(int victim, int signal, const TransportOptions& options,
                                            std::chrono::milliseconds at_most) {
  Children children;
  test::start_conversation(children, 4, options, [victim, signal](Transport& transport) {
    transport.barrier({"passing the first barrier"});
    if (transport.process() == victim) std::raise(signal);
    transport.barrier({"passing the second barrier"});
  });
  const auto start = std::chrono::steady_clock::now();
  std::vector<test::Ended> ended(4);
  for (int process = 0; process < 4; ++process) {
    if (process != victim)
      ended[static_cast<std::size_t>(process)] = children.wait(static_cast<std::size_t>(process));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, at_most);
  return ended;
}

TEST(TcpTransport, AKilledProcessEndsTheOthersWithOneSentence) {
  const auto ended = four_with_a_victim(2, SIGKILL, kPatient, 10s);
  for (const int process : {0, 1, 3}) {
    EXPECT_EQ(ended[static_cast<std::size_t>(process)].status, 3);
    EXPECT_EQ(ended[static_cast<std::size_t>(process)].output,
              "cluster: process 2 closed its connection while passing the second barrier (deadline 20 s)\n");
  }
}

TEST(TcpTransport, TheKilledProcessMayBeTheFirst) {
  const auto ended = four_with_a_victim(0, SIGKILL, kPatient, 10s);
  for (const int process : {1, 2, 3}) {
    EXPECT_EQ(ended[static_cast<std::size_t>(process)].status, 3);
    EXPECT_EQ(ended[static_cast<std::size_t>(process)].output,
              "cluster: process 0 closed its connection while passing the second barrier (deadline 20 s)\n");
  }
}

TEST(TcpTransport, AHangingProcessEndsTheOthersAtTheDeadline) {
  const auto ended = four_with_a_victim(1, SIGSTOP, kHasty, 10s);
  for (const int process : {0, 2, 3}) {
    EXPECT_EQ(ended[static_cast<std::size_t>(process)].status, 3);
    EXPECT_EQ(ended[static_cast<std::size_t>(process)].output,
              "cluster: process 1 did not take part in passing the second barrier within 0.4 s\n");
  }
}

TEST(TcpTransport, TheHangingProcessMayBeTheFirst) {
  const auto ended = four_with_a_victim(0, SIGSTOP, kHasty, 10s);
  for (const int process : {1, 2, 3}) {
    const auto& one = ended[static_cast<std::size_t>(process)];
    EXPECT_EQ(one.status, 3);
    EXPECT_EQ(one.output,
              "cluster: process " + std::to_string(process) +
                  ": process 0 did not answer within 0.5 s while passing the second barrier: it hangs, or "
                  "it has more to do than the deadline of 0.4 s allows\n");
  }
}

TEST(TcpTransport, AProcessThatFailsTellsTheOthersWhy) {
  for (const int failing : {0, 2}) {
    Children children;
    test::start_conversation(children, 3, kPatient, [failing](Transport& transport) {
      transport.barrier({"passing the first barrier"});
      if (transport.process() == failing) {
        transport.fail("its GPU is out of memory");
        transport.fail("only the first sentence counts");
      }
      for (int attempt = 0; attempt < 2; ++attempt) {  // the second fails at once, as the first did
        try {
          transport.barrier({"passing the second barrier"});
        } catch (const Error& error) {
          std::printf("%s\n", error.what());
        }
      }
    });
    for (const auto& ended : children.wait_for_all()) {
      EXPECT_EQ(ended.output, "its GPU is out of memory\nits GPU is out of memory\n");
    }
  }
}

TEST(TcpTransport, ProcessesThatHaveGoneApartAreTold) {
  Children children;
  test::start_conversation(children, 2, kPatient, [](Transport& transport) {
    transport.all_gather({}, {"exchanging operands of op", 17 + transport.process()});
  });
  for (const auto& ended : children.wait_for_all()) {
    EXPECT_EQ(ended.status, 3);
    EXPECT_NE(ended.output.find("process 1 does something else than process 0, which is exchanging operands "
                                "of op 17: call 1 against 1, number 18 against 17"),
              std::string::npos)
        << ended.output;
  }
}

}  // namespace
}  // namespace shardcheck
