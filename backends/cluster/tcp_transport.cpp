#include "backends/cluster/tcp_transport.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "backends/cluster/frame.h"
#include "backends/cluster/handshake.h"
#include "core/error.h"

namespace shardcheck {
namespace {

using cluster::Deadline;
using cluster::FrameHeader;
using cluster::FrameKind;
using cluster::FrameReader;
using cluster::FrameWriter;
using cluster::PeerLost;
using cluster::Socket;

/// How long one that ends waits for the others to hear why.
constexpr std::chrono::milliseconds kFarewell{1000};

/// The other end of a connection.
struct Peer {
  int process = 0;
  Socket socket;
  FrameReader reader;
  FrameWriter writer;
  bool is_lost = false;  ///< nothing can be sent to it any more
  bool is_done = false;  ///< with the part of the call at hand
};

std::span<const std::byte> bytes_of_text(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

class TcpTransport final : public Transport {
 public:
  TcpTransport(const Launch& launch, const TransportOptions& options) : Transport(launch, options) {
    if (process() > 0) {
      peers_.push_back({.process = 0, .socket = cluster::meet_first(launch, options)});
      return;
    }
    for (Socket& socket : cluster::meet_others(launch, options)) {
      peers_.push_back({.process = static_cast<int>(peers_.size()) + 1, .socket = std::move(socket)});
    }
  }

 private:
  const Gathered& exchange(std::span<const std::byte> mine, const Occasion& occasion) override {
    ++sequence_;
    if (process() > 0) {
      ask_first(mine, occasion);
    } else {
      collect(mine, occasion);
      deal(occasion);
    }
    return gathered_;
  }

  void tell(const std::string& sentence) noexcept override;

  FrameHeader header_of(FrameKind kind, const Occasion& occasion) const {
    return {.kind = kind, .sequence = sequence_, .number = occasion.number, .digest = occasion.digest};
  }
  void check(const Peer& peer, const Occasion& occasion);
  [[noreturn]] void lose(Peer& peer, const PeerLost& lost, const Occasion& occasion);

  /// Waits for `events` of the peers that are not done. False when the deadline came first.
  bool wait(const Deadline& deadline, short events);
  /// Runs step(peer), which is true when the peer is done, until all are.
  template <class Step>
  void until_all_done(short events, const Occasion& occasion, Step step);
  std::string missing_text() const;

  void collect(std::span<const std::byte> mine, const Occasion& occasion);
  void deal(const Occasion& occasion);
  void ask_first(std::span<const std::byte> mine, const Occasion& occasion);
  void take_answer(const Peer& first, const Occasion& occasion);

  std::vector<Peer> peers_;  ///< process 0: all others; another process: process 0
  std::vector<pollfd> polled_;
  std::uint64_t sequence_ = 0;
  Gathered gathered_;
};

bool TcpTransport::wait(const Deadline& deadline, short events) {
  polled_.clear();
  for (const Peer& peer : peers_) {
    polled_.push_back({peer.is_done ? -1 : peer.socket.descriptor(), events, 0});  // poll skips -1
  }
  return cluster::wait_for(polled_, deadline);
}

std::string TcpTransport::missing_text() const {
  std::string text;
  int count = 0;
  for (const Peer& peer : peers_) {
    if (peer.is_done) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", peer.process);
    ++count;
  }
  return fmt::format("process{} {}", count > 1 ? "es" : "", text);
}

template <class Step>
void TcpTransport::until_all_done(short events, const Occasion& occasion, Step step) {
  const Deadline deadline(options().comm_timeout);
  for (Peer& peer : peers_) peer.is_done = false;
  while (std::ranges::any_of(peers_, [](const Peer& peer) { return !peer.is_done; })) {
    if (!wait(deadline, events)) {
      give_up(fmt::format("{} did not take part in {} within {}", missing_text(), to_text(occasion),
                          deadline_text()));
    }
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (polled_[i].revents == 0) continue;
      try {
        peers_[i].is_done = step(peers_[i]);
      } catch (const PeerLost& lost) {
        lose(peers_[i], lost, occasion);
      }
    }
  }
}

void TcpTransport::lose(Peer& peer, const PeerLost& lost, const Occasion& occasion) {
  peer.is_lost = true;
  give_up(fmt::format("process {} {} while {} (deadline {})", peer.process, lost.how, to_text(occasion),
                      deadline_text()));
}

/// A frame has come: is it what this call waits for?
void TcpTransport::check(const Peer& peer, const Occasion& occasion) {
  const FrameHeader& header = peer.reader.header();
  if (header.kind == FrameKind::failure) {
    const auto text = peer.reader.content();
    give_up_as_told(std::string(reinterpret_cast<const char*>(text.data()), text.size()));
  }
  const FrameHeader mine = header_of(FrameKind::data, occasion);
  if (header.sequence == mine.sequence && header.number == mine.number && header.digest == mine.digest)
    return;
  give_up(
      fmt::format("process {} does something else than process {}, which is {}: call {} against {}, "
                  "number {} against {}, digest {:016x} against {:016x} (deadline {})",
                  peer.process, process(), to_text(occasion), header.sequence, mine.sequence, header.number,
                  mine.number, header.digest, mine.digest, deadline_text()));
}

void TcpTransport::collect(std::span<const std::byte> mine, const Occasion& occasion) {
  for (Peer& peer : peers_) peer.reader.begin(options().largest_frame);
  until_all_done(POLLIN, occasion, [&](Peer& peer) {
    if (!peer.reader.read_some(peer.socket.descriptor())) return false;
    check(peer, occasion);
    return true;
  });
  gathered_.sizes.assign(1, mine.size());
  gathered_.bytes.assign(mine.begin(), mine.end());
  for (const Peer& peer : peers_) {
    const auto content = peer.reader.content();
    gathered_.sizes.push_back(content.size());
    gathered_.bytes.insert(gathered_.bytes.end(), content.begin(), content.end());
  }
}

void TcpTransport::deal(const Occasion& occasion) {
  const FrameHeader header = header_of(FrameKind::data, occasion);
  for (Peer& peer : peers_) {
    peer.writer.begin(header, {std::as_bytes(std::span(gathered_.sizes)), gathered_.bytes});
  }
  until_all_done(POLLOUT, occasion,
                 [&](Peer& peer) { return peer.writer.write_some(peer.socket.descriptor()); });
}

/// Sends ours and receives everybody's. Process 0 may speak before it has read all: then it tells of a
/// failure.
void TcpTransport::ask_first(std::span<const std::byte> mine, const Occasion& occasion) {
  Peer& first = peers_.front();
  const auto patience = options().comm_timeout + options().comm_timeout / 4;
  const Deadline deadline(patience);
  const auto most =
      static_cast<std::uint64_t>(processes()) * (options().largest_frame + sizeof(std::uint64_t));
  first.reader.begin(most);
  first.writer.begin(header_of(FrameKind::data, occasion), {mine, {}});
  first.is_done = false;
  try {
    while (!first.reader.read_some(first.socket.descriptor())) {
      const bool must_write = !first.is_lost && !first.writer.is_idle();
      if (!wait(deadline, must_write ? POLLIN | POLLOUT : POLLIN)) {
        give_up(fmt::format(
            "process {}: process 0 did not answer within {} s while {}: it hangs, or it has "
            "more to do than the deadline of {} allows",
            process(), static_cast<double>(patience.count()) / 1000, to_text(occasion), deadline_text()));
      }
      try {
        if (must_write) first.writer.write_some(first.socket.descriptor());
      } catch (const PeerLost&) {
        first.is_lost = true;  // what it said before it went is still to be read
      }
    }
  } catch (const PeerLost& lost) {
    lose(first, lost, occasion);
  }
  check(first, occasion);
  if (!first.writer.is_idle()) lose(first, {"answered before it was asked"}, occasion);
  take_answer(first, occasion);
}

void TcpTransport::take_answer(const Peer& first, const Occasion& occasion) {
  const auto content = first.reader.content();
  gathered_.sizes.assign(static_cast<std::size_t>(processes()), 0);
  const auto sizes = std::as_writable_bytes(std::span(gathered_.sizes));
  std::uint64_t left = content.size() < sizes.size() ? 0 : content.size() - sizes.size();
  bool is_sound = content.size() >= sizes.size();
  if (is_sound) std::copy_n(content.begin(), sizes.size(), sizes.begin());
  for (const std::uint64_t size : gathered_.sizes) {
    is_sound = is_sound && size <= left;
    left -= is_sound ? size : 0;
  }
  if (!is_sound || left != 0) {
    give_up(fmt::format("process 0 sent {} bytes that do not add up while {} (deadline {})", content.size(),
                        to_text(occasion), deadline_text()));
  }
  gathered_.bytes.assign(content.begin() + std::ssize(sizes), content.end());
}

/// Who is in the middle of a frame cannot be told anything: it sees the connection end. Then the peers' last
/// bytes are read and dropped until they have gone too, because closing over unread bytes would destroy what
/// was just said.
void TcpTransport::tell(const std::string& sentence) noexcept try {
  const Deadline deadline(kFarewell);
  const auto text = bytes_of_text(sentence);
  for (Peer& peer : peers_) {
    try {
      if (peer.is_lost || !peer.writer.is_idle()) continue;
      peer.writer.begin(header_of(FrameKind::failure, {}),
                        {text.first(std::min<std::size_t>(text.size(), cluster::kLongestSentence)), {}});
      peer.writer.write_some(peer.socket.descriptor());  // a sentence fits every send buffer that is not full
    } catch (const PeerLost&) {
      peer.is_lost = true;
    }
  }
  for (Peer& peer : peers_) {
    ::shutdown(peer.socket.descriptor(), SHUT_WR);
    peer.is_done = false;
  }
  std::array<std::byte, 65536> dropped;
  while (std::ranges::any_of(peers_, [](const Peer& peer) { return !peer.is_done; })) {
    if (!wait(deadline, POLLIN)) return;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (polled_[i].revents == 0) continue;
      const ssize_t got = ::recv(peers_[i].socket.descriptor(), dropped.data(), dropped.size(), MSG_DONTWAIT);
      const bool may_go_on = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
      peers_[i].is_done = !may_go_on;
    }
  }
} catch (...) {
  // Nobody is left to be told.
}

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(const Launch& launch, const TransportOptions& options) {
  return std::make_unique<TcpTransport>(launch, options);
}

}  // namespace shardcheck
