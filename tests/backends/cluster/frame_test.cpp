#include "backends/cluster/frame.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "backends/cluster/socket.h"

namespace shardcheck::cluster {
namespace {

/// Two ends of a connection within the process.
struct Pair {
  Socket left, right;
  Pair() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    left = Socket(ends[0]);
    right = Socket(ends[1]);
  }
};

std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

/// How reading one frame of at most `largest` bytes is refused.
std::string refusal(const Pair& pair, std::uint64_t largest) {
  FrameReader reader;
  reader.begin(largest);
  try {
    return reader.read_some(pair.right.descriptor()) ? "complete" : "incomplete";
  } catch (const PeerLost& lost) {
    return lost.how;
  }
}

void send_bytes(const Pair& pair, std::span<const std::byte> bytes) {
  ASSERT_EQ(::send(pair.left.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
}

TEST(Frame, ArrivesWholeHoweverItIsCut) {
  const Pair pair;
  const auto first = counting(3), second = counting(5'000'000);
  FrameWriter writer;
  FrameReader reader;
  writer.begin({.sequence = 4, .number = -9, .digest = 17}, {first, second});
  reader.begin(first.size() + second.size());
  EXPECT_FALSE(writer.is_idle());
  bool written = false, complete = false;
  int turns = 0;
  for (; !complete; ++turns) {
    written = written || writer.write_some(pair.left.descriptor());
    complete = reader.read_some(pair.right.descriptor());
  }
  EXPECT_GT(turns, 1) << "the socket took it at once: the frame is too small for this test";
  EXPECT_TRUE(writer.is_idle());
  EXPECT_EQ(reader.header().sequence, 4u);
  EXPECT_EQ(reader.header().number, -9);
  EXPECT_EQ(reader.header().digest, 17u);
  const auto content = reader.content();
  ASSERT_EQ(content.size(), first.size() + second.size());
  EXPECT_TRUE(std::ranges::equal(content.first(3), first));
  EXPECT_TRUE(std::ranges::equal(content.subspan(3), second));
}

TEST(Frame, AnEmptyOneIsAHeader) {
  const Pair pair;
  FrameWriter writer;
  writer.begin({}, {});
  EXPECT_TRUE(writer.write_some(pair.left.descriptor()));
  EXPECT_EQ(refusal(pair, 0), "complete");
}

TEST(Frame, IsRefusedWhenItAnnouncesTooMuch) {
  const Pair pair;
  const FrameHeader header{.bytes = std::uint64_t{1} << 40};
  send_bytes(pair, std::as_bytes(std::span(&header, 1)));
  EXPECT_EQ(refusal(pair, 1000),
            "announced a frame of 1099511627776 bytes, more than the 1000 that are allowed");
}

TEST(Frame, AFailureIsASentenceNotABook) {
  const Pair pair;
  const FrameHeader header{.kind = FrameKind::failure, .bytes = kLongestSentence + 1};
  send_bytes(pair, std::as_bytes(std::span(&header, 1)));
  EXPECT_EQ(refusal(pair, 1'000'000), "announced a frame of 4097 bytes, more than the 4096 that are allowed");
}

TEST(Frame, IsRefusedWhenItIsNone) {
  const Pair pair;
  send_bytes(pair, counting(sizeof(FrameHeader)));
  EXPECT_EQ(refusal(pair, 1000), "sent bytes that are no frame of shardcheck");
}

TEST(Frame, AnEndedConnectionIsSaidInBothDirections) {
  Pair pair;
  pair.left = Socket();
  EXPECT_EQ(refusal(pair, 1000), "closed its connection");
  FrameWriter writer;
  writer.begin({}, {});
  try {
    writer.write_some(pair.right.descriptor());
    ADD_FAILURE() << "written to nobody";
  } catch (const PeerLost& lost) {
    EXPECT_EQ(lost.how, "closed its connection");
  }
}

}  // namespace
}  // namespace shardcheck::cluster
