// Processes over MPI, where mpirun started them and this build found MPI (else no_mpi.cpp stands here). The
// collectives are MPI's own, non-blocking, and tested until they are done or the deadline has come. MPI does
// not say which process is missing, and mpirun itself ends all processes when one is killed.
#pragma once

#include <memory>
#include <string>

#include "backends/cluster/transport.h"

namespace shardcheck {

/// Why there is no MPI in this build, or an empty text.
std::string mpi_missing();

/// Initialises MPI; at most one may be made in the life of a process. Throws Error(machine_cannot).
std::unique_ptr<Transport> make_mpi_transport(const Launch& launch, const TransportOptions& options);

}  // namespace shardcheck
