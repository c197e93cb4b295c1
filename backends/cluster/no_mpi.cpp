// The absence of MPI: this build did not find it.
#include <fmt/format.h>

#include "backends/cluster/mpi_transport.h"
#include "core/error.h"

namespace shardcheck {

std::string mpi_missing() {
  return "not built: CMake found no MPI (libopenmpi-dev)";
}

std::unique_ptr<Transport> make_mpi_transport(const Launch& launch, const TransportOptions&) {
  throw Error(ErrorKind::machine_cannot,
              fmt::format("cluster: {} started {} processes, but MPI is {}; name a host and a free port for "
                          "TCP (mpirun -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=29500)",
                          launch.how, launch.processes, mpi_missing()));
}

}  // namespace shardcheck
