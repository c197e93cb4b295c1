#include "backends/cluster/frame.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/assert.h"

namespace shardcheck::cluster {
namespace {

/// Bytes are made room for as they come, not as they are announced.
constexpr std::uint64_t kRoomAhead = std::uint64_t{1} << 22;

bool must_wait(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

PeerLost lost_by(int error) {
  if (error == EPIPE || error == ECONNRESET) return {"closed its connection"};
  return {fmt::format("was lost ({})", std::generic_category().message(error))};
}

/// What is left of `part` when `done` bytes of the whole, of which it begins at `begin`, are through.
iovec rest_of(std::span<const std::byte> part, std::uint64_t begin, std::uint64_t done) {
  const std::uint64_t skip = std::min<std::uint64_t>(done > begin ? done - begin : 0, part.size());
  return {const_cast<std::byte*>(part.data() + skip), part.size() - skip};  // sendmsg only reads
}

}  // namespace

void FrameWriter::begin(FrameHeader header, const Content& content) {
  SC_ASSERT(is_idle(), "a frame begins inside another");
  content_ = content;
  header.bytes = content.first.size() + content.second.size();
  header_ = header;
  done_ = 0;
  total_ = sizeof(header_) + header_.bytes;
}

bool FrameWriter::write_some(int socket) {
  while (!is_idle()) {
    const std::uint64_t second_begin = sizeof(header_) + content_.first.size();
    std::array parts{rest_of(std::as_bytes(std::span(&header_, 1)), 0, done_),
                     rest_of(content_.first, sizeof(header_), done_),
                     rest_of(content_.second, second_begin, done_)};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      done_ += static_cast<std::uint64_t>(sent);
    } else if (must_wait(errno)) {
      return false;
    } else if (errno != EINTR) {
      throw lost_by(errno);
    }
  }
  return true;
}

void FrameReader::begin(std::uint64_t largest) {
  largest_ = largest;
  done_ = 0;
  content_.clear();
}

bool FrameReader::read_some(int socket) {
  while (done_ < sizeof(header_) || done_ < sizeof(header_) + header_.bytes) {
    std::span<std::byte> room;
    if (done_ < sizeof(header_)) {
      room = std::as_writable_bytes(std::span(&header_, 1)).subspan(done_);
    } else {
      const std::uint64_t got = done_ - sizeof(header_);
      if (got == content_.size()) content_.resize(std::min(header_.bytes, 2 * got + kRoomAhead));
      room = std::span(content_).subspan(got);
    }
    const ssize_t received = ::recv(socket, room.data(), room.size(), MSG_DONTWAIT);
    if (received > 0) {
      const bool had_header = done_ >= sizeof(header_);
      done_ += static_cast<std::uint64_t>(received);
      if (!had_header && done_ == sizeof(header_)) check_header();
    } else if (received == 0) {
      throw PeerLost{"closed its connection"};
    } else if (must_wait(errno)) {
      return false;
    } else if (errno != EINTR) {
      throw lost_by(errno);
    }
  }
  return true;
}

void FrameReader::check_header() {
  const bool is_known = header_.kind == FrameKind::data || header_.kind == FrameKind::failure;
  if (header_.magic != kFrameMagic || !is_known) throw PeerLost{"sent bytes that are no frame of shardcheck"};
  const std::uint64_t largest = header_.kind == FrameKind::data ? largest_ : kLongestSentence;
  if (header_.bytes > largest) {
    throw PeerLost{fmt::format("announced a frame of {} bytes, more than the {} that are allowed",
                               header_.bytes, largest)};
  }
}

}  // namespace shardcheck::cluster
