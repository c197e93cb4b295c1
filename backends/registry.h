// The registry: backends by name, with a sentence about each and the reason why one is unavailable here.
// A spec is "cpu", "cuda", "faulty:FAULT", which is the CPU with one numeric fault
// (backends/faulty/faults.h), or "shadow:REFERENCE,CANDIDATE", which runs both and compares
// (backends/shadow): what it saw is asked of the Shadow that it is (core/shadow.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cluster/transport.h"
#include "backends/options.h"
#include "core/backend.h"

namespace shardcheck {

/// A line of `shardcheck list`.
struct BackendEntry {
  std::string name;  ///< the spec, or its pattern: "faulty:FAULT"
  std::string description;
  bool available = false;
  std::string reason;  ///< why it is unavailable, empty when it is available
};

/// Every backend that this build knows of, available or not.
std::vector<BackendEntry> list_backends();

/// The backend that `spec` names. An unknown name, fault or profile is Error(bad_input) and names the known
/// ones; a backend that this machine or build lacks is Error(machine_cannot) with the reason.
std::unique_ptr<Backend> make_backend(const std::string& spec, const BackendOptions& options);

/// The same for one of several processes that each hold a part of the ranks: a Joint (core/joint.h), or a
/// shadow whose candidate is the whole of one and whose reference, which no GPU can be, every process
/// computes for itself. All processes make this call. `transport` must outlive the backend.
std::unique_ptr<Backend> make_backend(const std::string& spec, const BackendOptions& options,
                                      Transport& transport);

}  // namespace shardcheck
