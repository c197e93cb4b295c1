// The handshake: how the processes of a launch find each other over TCP. Process 0 listens, the others
// connect and say who they are. Whoever says anything else on the port is turned away and the others are
// waited for; one of ours that means another job is an error. Next: tcp_transport.h.
#pragma once

#include <vector>

#include "backends/cluster/socket.h"
#include "backends/cluster/transport.h"

namespace shardcheck::cluster {

/// On process 0: connections to the processes 1, 2, ... in this order. Throws Error(machine_cannot).
std::vector<Socket> meet_others(const Launch& launch, const TransportOptions& options);

/// On another process: the connection to process 0. Throws Error(machine_cannot).
Socket meet_first(const Launch& launch, const TransportOptions& options);

}  // namespace shardcheck::cluster
