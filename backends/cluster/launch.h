// Launch: which of how many processes this one is, as the launcher left it in the environment. Next:
// transport.h, over which the processes of one launch speak.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace shardcheck {

/// The place of this process among those that run the same command together.
struct Launch {
  int process = 0;      ///< 0-based
  int processes = 1;    ///< of the whole job
  int local = 0;        ///< 0-based, among the processes of this host: it chooses the GPU
  std::string address;  ///< of process 0; empty when the launcher named none
  int port = 0;         ///< on which process 0 listens; 0 when the launcher named none
  std::string how;      ///< "one process", "torchrun-style variables", "Open MPI"
};

/// The value of an environment variable, or nothing.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

/// RANK and WORLD_SIZE where either is set, with LOCAL_RANK (absent: RANK), and MASTER_ADDR and MASTER_PORT,
/// which more than one process needs; else OMPI_COMM_WORLD_RANK, _SIZE and _LOCAL_RANK, with the same two if
/// they are set; else one process. Where TORCHELASTIC_USE_AGENT_STORE is "True" torchrun's own store listens
/// on MASTER_PORT, and the port is the next one. Inconsistent variables are Error(bad_input).
Launch launch_from(const Variables& variables);
Launch launch_of_environment();

}  // namespace shardcheck
