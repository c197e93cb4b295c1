#include "backends/cluster/socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

#include "core/error.h"

namespace shardcheck::cluster {
namespace {

/// Between two attempts to reach a process 0 that does not listen yet.
constexpr std::chrono::milliseconds kPause{20};
constexpr int kBacklog = 1024;

std::string last_error() {
  return std::generic_category().message(errno);
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// With a null name, all addresses of this machine.
Addresses resolve(const Endpoint& endpoint, const char* name) {
  addrinfo hints{};
  const bool is_ipv6 = endpoint.address.find(':') != std::string::npos;
  hints.ai_family = is_ipv6 ? AF_INET6 : AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = name == nullptr ? AI_PASSIVE : 0;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(name, std::to_string(endpoint.port).c_str(), &hints, &found);
  if (error != 0) {
    throw bad_input("MASTER_ADDR", fmt::format("\"{}\" is not the address of a machine: {}", endpoint.address,
                                               ::gai_strerror(error)));
  }
  return {found, &::freeaddrinfo};
}

bool is_of_this_machine_only(const Endpoint& endpoint) {
  return endpoint.address == "localhost" || endpoint.address == "::1" || endpoint.address.starts_with("127.");
}

Socket open(const addrinfo& address) {
  return Socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/// Small frames leave at once: a call waits for the answer to its only frame.
void send_without_delay(const Socket& socket) {
  const int on = 1;
  ::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

bool connected(const Socket& socket, const addrinfo& address, const Deadline& deadline) {
  if (!socket.is_open()) return false;
  if (::connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS && errno != EINTR) return false;
  pollfd ready{socket.descriptor(), POLLOUT, 0};
  if (!wait_for({&ready, 1}, deadline)) return false;
  int error = 0;
  socklen_t size = sizeof(error);
  return ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

}  // namespace

int Deadline::milliseconds_left() const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000'000));
}

Socket::~Socket() {
  if (is_open()) ::close(descriptor_);
}

bool wait_for(std::span<pollfd> descriptors, const Deadline& deadline) {
  while (true) {
    const int ready = ::poll(descriptors.data(), descriptors.size(), deadline.milliseconds_left());
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) {
      throw Error(ErrorKind::machine_cannot, "cluster: poll failed: " + last_error());
    }
    if (deadline.is_over()) return false;
  }
}

std::string to_text(const Endpoint& endpoint) {
  return fmt::format("{}:{}", endpoint.address, endpoint.port);
}

Socket listen_at(const Endpoint& endpoint) {
  const Addresses addresses =
      resolve(endpoint, is_of_this_machine_only(endpoint) ? endpoint.address.c_str() : nullptr);
  std::string reason;
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    Socket socket = open(*address);
    const int on = 1;
    if (socket.is_open()) {
      ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
      if (::bind(socket.descriptor(), address->ai_addr, address->ai_addrlen) == 0 &&
          ::listen(socket.descriptor(), kBacklog) == 0) {
        return socket;
      }
    }
    reason = last_error();
  }
  throw Error(ErrorKind::machine_cannot,
              fmt::format("cluster: process 0 cannot listen at {}: {}; choose another MASTER_PORT",
                          to_text(endpoint), reason));
}

Socket accept_from(const Socket& listener) {
  Socket socket(::accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.is_open()) send_without_delay(socket);
  return socket;
}

Socket connect_to(const Endpoint& endpoint, const Deadline& deadline) {
  const Addresses addresses = resolve(endpoint, endpoint.address.c_str());
  while (true) {
    for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
      Socket socket = open(*address);
      if (!connected(socket, *address, deadline)) continue;
      send_without_delay(socket);
      return socket;
    }
    if (deadline.is_over()) return {};
    wait_for({}, Deadline(std::min(kPause, std::chrono::milliseconds(deadline.milliseconds_left()))));
  }
}

}  // namespace shardcheck::cluster
