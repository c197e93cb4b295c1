#include "backends/cluster/handshake.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>

#include "backends/cluster/frame.h"
#include "core/error.h"

namespace shardcheck::cluster {
namespace {

/// Raise it when frames, their order or the way in which plans are divided change.
constexpr std::uint32_t kVersion = 1;
constexpr std::array<char, 8> kMagic{'S', 'H', 'A', 'R', 'D', 'C', 'H', 'K'};
/// Connections that have not said who they are; more are turned away, so that nobody can exhaust them.
constexpr std::size_t kMostStrangers = 256;

/// What both sides say first. `byte_order` reads as another number on a machine with another order.
struct Hello {
  std::array<char, 8> magic = kMagic;
  std::uint32_t byte_order = 0x01020304;
  std::uint32_t version = kVersion;
  std::int32_t process = 0;
  std::int32_t processes = 0;
};
static_assert(sizeof(Hello) == 24, "no padding");

bool is_ours(const Hello& hello) {
  return hello.magic == kMagic && hello.byte_order == Hello{}.byte_order;
}

/// A connection whose Hello has come in part.
struct Stranger {
  Socket socket;
  Hello hello;
  std::size_t received = 0;

  enum class State { waiting, said, gone };
  State listen() {
    while (received < sizeof(hello)) {
      const auto room = std::as_writable_bytes(std::span(&hello, 1)).subspan(received);
      const ssize_t got = ::recv(socket.descriptor(), room.data(), room.size(), MSG_DONTWAIT);
      if (got > 0) {
        received += static_cast<std::size_t>(got);
      } else if (got < 0 && errno == EINTR) {
        continue;
      } else {
        return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? State::waiting : State::gone;
      }
      // The first wrong byte is enough: a browser waits for an answer before it says 24 bytes.
      const std::size_t known = std::min(received, kMagic.size());
      if (std::memcmp(hello.magic.data(), kMagic.data(), known) != 0) return State::gone;
    }
    return is_ours(hello) ? State::said : State::gone;
  }
};

/// A fresh connection takes 24 bytes at once, so nothing is waited for.
bool say_hello(const Socket& socket, const Launch& launch) {
  const Hello hello{.process = launch.process, .processes = launch.processes};
  return ::send(socket.descriptor(), &hello, sizeof(hello), MSG_NOSIGNAL) == sizeof(hello);
}

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(ErrorKind::machine_cannot, "cluster: " + sentence);
}

std::string seconds_text(const TransportOptions& options) {
  return fmt::format("{} s", static_cast<double>(options.comm_timeout.count()) / 1000);
}

void require_same_job(const Hello& hello, const Launch& launch) {
  if (hello.version != kVersion) {
    refuse(
        fmt::format("process {} speaks version {} of the protocol, process {} version {}: start the same "
                    "binary everywhere",
                    hello.process, hello.version, launch.process, kVersion));
  }
  if (hello.processes != launch.processes) {
    refuse(
        fmt::format("process {} says that there are {} processes, process {} that there are {}: two jobs "
                    "meet on one MASTER_PORT",
                    hello.process, hello.processes, launch.process, launch.processes));
  }
}

/// Process 0 while the others arrive.
class Reception {
 public:
  Reception(const Launch& launch, const TransportOptions& options)
      : launch_(launch), options_(options), others_(static_cast<std::size_t>(launch.processes) - 1) {}

  /// Those who have arrived hear why when the others do not.
  std::vector<Socket> run() {
    try {
      receive();
    } catch (const Error& error) {
      tell_arrived(error.what());
      throw;
    }
    return std::move(others_);
  }

 private:
  void receive() {
    const Deadline deadline(options_.comm_timeout);
    const Endpoint endpoint{launch_.address, launch_.port};
    listener_ = listen_at(endpoint);
    while (const auto missing = first_missing()) {
      std::vector<pollfd> ready{{listener_.descriptor(), POLLIN, 0}};
      for (const Stranger& stranger : strangers_) ready.push_back({stranger.socket.descriptor(), POLLIN, 0});
      if (!wait_for(ready, deadline)) {
        refuse(fmt::format("process {} did not connect to {} within {}{}", *missing, to_text(endpoint),
                           seconds_text(options_), turned_away_text()));
      }
      let_in();
    }
  }

  void tell_arrived(const std::string& sentence) const {
    for (const Socket& other : others_) {
      FrameWriter writer;
      writer.begin({.kind = FrameKind::failure}, {std::as_bytes(std::span(sentence)), {}});
      try {
        if (other.is_open()) writer.write_some(other.descriptor());
      } catch (const PeerLost&) {
        continue;  // it knows already
      }
    }
  }

  std::optional<std::size_t> first_missing() const {
    for (std::size_t i = 0; i < others_.size(); ++i) {
      if (!others_[i].is_open()) return i + 1;
    }
    return std::nullopt;
  }

  std::string turned_away_text() const {
    if (turned_away_ == 0) return "";
    return fmt::format("; {} connections that spoke another protocol were turned away", turned_away_);
  }

  void let_in() {
    for (Socket socket = accept_from(listener_); socket.is_open(); socket = accept_from(listener_)) {
      if (strangers_.size() < kMostStrangers) strangers_.push_back({.socket = std::move(socket)});
    }
    std::erase_if(strangers_, [&](Stranger& stranger) {
      const Stranger::State state = stranger.listen();
      if (state == Stranger::State::said) welcome(stranger);
      turned_away_ += state == Stranger::State::gone;
      return state != Stranger::State::waiting;
    });
  }

  void welcome(Stranger& stranger) {
    const Hello& hello = stranger.hello;
    say_hello(stranger.socket, launch_);  // also to one that is refused: it then says why on its side
    require_same_job(hello, launch_);
    if (hello.process < 1 || hello.process >= launch_.processes) {
      refuse(fmt::format("a process says that it is number {} of {}", hello.process, launch_.processes));
    }
    Socket& place = others_[static_cast<std::size_t>(hello.process) - 1];
    if (place.is_open()) refuse(fmt::format("two processes say that they are number {}", hello.process));
    place = std::move(stranger.socket);
  }

  const Launch& launch_;
  const TransportOptions& options_;
  Socket listener_;
  std::vector<Socket> others_;
  std::vector<Stranger> strangers_;
  int turned_away_ = 0;
};

}  // namespace

std::vector<Socket> meet_others(const Launch& launch, const TransportOptions& options) {
  if (launch.processes == 1) return {};
  return Reception(launch, options).run();
}

Socket meet_first(const Launch& launch, const TransportOptions& options) {
  const Deadline deadline(options.comm_timeout);
  const Endpoint endpoint{launch.address, launch.port};
  while (true) {
    Stranger first{.socket = connect_to(endpoint, deadline)};
    const auto too_late = [&](const char* what) {
      refuse(fmt::format("process {}: process 0 {} at {} within {}", launch.process, what, to_text(endpoint),
                         seconds_text(options)));
    };
    if (!first.socket.is_open()) too_late("did not listen");
    Stranger::State state = Stranger::State::waiting;
    if (!say_hello(first.socket, launch)) state = Stranger::State::gone;
    while (state == Stranger::State::waiting) {
      pollfd ready{first.socket.descriptor(), POLLIN, 0};
      if (!wait_for({&ready, 1}, deadline)) too_late("did not answer");
      state = first.listen();
    }
    if (state == Stranger::State::gone) {
      refuse(fmt::format("process {}: what listens at {} is not process 0 of this command", launch.process,
                         to_text(endpoint)));
    }
    // A port in the range of outgoing connections can reach itself while nobody listens.
    if (first.hello.process == launch.process) continue;
    require_same_job(first.hello, launch);
    return std::move(first.socket);
  }
}

}  // namespace shardcheck::cluster
