// Sockets: the few POSIX calls behind the TCP transport, each with a deadline. Sockets never block; waiting
// is poll's job, and a signal does not shorten it.
#pragma once

#include <poll.h>

#include <chrono>
#include <span>
#include <string>
#include <utility>

namespace shardcheck::cluster {

/// A moment after which nobody waits any more.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds from_now) : end_(std::chrono::steady_clock::now() + from_now) {}
  bool is_over() const { return std::chrono::steady_clock::now() >= end_; }
  /// Rounded up, for poll; 0 when it is over.
  int milliseconds_left() const;

 private:
  std::chrono::steady_clock::time_point end_;
};

/// A file descriptor that is closed with its owner; -1 when there is none.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

/// Waits until one of the descriptors is ready. False when the deadline came first.
bool wait_for(std::span<pollfd> descriptors, const Deadline& deadline);

struct Endpoint {
  std::string address;
  int port = 0;
};
/// "127.0.0.1:29500".
std::string to_text(const Endpoint& endpoint);

/// Listens on the port: at the address itself where it is one of this machine's own (127.0.0.1, localhost),
/// else at all addresses, because a host rarely knows the name by which others call it. Throws Error.
Socket listen_at(const Endpoint& endpoint);

/// The next connection, or a closed socket when there is none yet.
Socket accept_from(const Socket& listener);

/// Connects, again and again while nobody listens yet. A closed socket when the deadline came first. Throws
/// Error for an address that means nothing.
Socket connect_to(const Endpoint& endpoint, const Deadline& deadline);

}  // namespace shardcheck::cluster
