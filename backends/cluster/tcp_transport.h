// Processes over TCP: a star with process 0 in the middle, on plain sockets and without a thread. With P
// processes that give B bytes each, process 0 receives (P - 1) B and sends (P - 1) P B, one after the other:
// right for a handful of processes on one host, where a call costs a round trip, and for verdicts anywhere; a
// ring would be right for gradients over a network. Next: frame.h, handshake.h.
#pragma once

#include <memory>

#include "backends/cluster/transport.h"

namespace shardcheck {

/// Returns when all processes have connected. Throws Error(machine_cannot), or Error(bad_input) for an
/// address that means nothing.
std::unique_ptr<Transport> make_tcp_transport(const Launch& launch, const TransportOptions& options);

}  // namespace shardcheck
