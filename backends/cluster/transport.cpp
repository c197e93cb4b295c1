#include "backends/cluster/transport.h"

#include <fmt/format.h>

#include <numeric>

#include "backends/cluster/mpi_transport.h"
#include "backends/cluster/tcp_transport.h"
#include "core/assert.h"
#include "core/error.h"

namespace shardcheck {

std::string to_text(const Occasion& occasion) {
  if (occasion.number < 0) return std::string(occasion.what);
  return fmt::format("{} {}", occasion.what, occasion.number);
}

std::span<const std::byte> Gathered::of(int process) const {
  const auto index = static_cast<std::ptrdiff_t>(process);
  SC_ASSERT(index >= 0 && index < std::ssize(sizes), "there is no such process");
  const auto begin = std::accumulate(sizes.begin(), sizes.begin() + index, std::uint64_t{0});
  return std::span(bytes).subspan(begin, sizes[static_cast<std::size_t>(index)]);
}

const Gathered& Transport::all_gather(std::span<const std::byte> mine, const Occasion& occasion) {
  if (failure_) throw Error(ErrorKind::machine_cannot, *failure_);
  SC_ASSERT(mine.size() <= options_.largest_frame, "more bytes than a frame may hold");
  return exchange(mine, occasion);
}

std::span<const std::byte> Transport::broadcast(std::span<const std::byte> mine, const Occasion& occasion) {
  return all_gather(process() == 0 ? mine : std::span<const std::byte>{}, occasion).of(0);
}

void Transport::barrier(const Occasion& occasion) {
  all_gather({}, occasion);
}

void Transport::fail(const std::string& sentence) noexcept {
  if (failure_) return;
  failure_ = sentence;
  tell(sentence);
}

std::string Transport::deadline_text() const {
  return fmt::format("{} s", static_cast<double>(options_.comm_timeout.count()) / 1000);
}

void Transport::give_up(const std::string& sentence) {
  fail("cluster: " + sentence);
  throw Error(ErrorKind::machine_cannot, *failure_);
}

void Transport::give_up_as_told(const std::string& sentence) {
  failure_ = sentence;
  if (process() == 0) tell(sentence);
  throw Error(ErrorKind::machine_cannot, sentence);
}

std::unique_ptr<Transport> make_transport(const Launch& launch, const TransportOptions& options) {
  if (launch.processes == 1 || launch.port > 0) return make_tcp_transport(launch, options);
  return make_mpi_transport(launch, options);
}

}  // namespace shardcheck
