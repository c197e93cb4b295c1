// shadow(reference, candidate): a backend made of two. Both execute every op, and what each op wrote is
// compared by its class (yardstick.h): the first op that differs is the bug, whichever element of whichever
// gradient shows it in the end. Inputs are written to both; what is read is the candidate's. In a job of
// several processes both must hold the same ranks, and each process compares its own.
//
// To compare is to read, and a read waits for all that was enqueued: a shadowed run serialises the plan's
// streams, so it shows wrong numbers and never a race. A backend that is right under the shadow and wrong
// without it lacks an order between streams.
#pragma once

#include <cstdint>
#include <memory>

#include "core/shadow.h"

namespace shardcheck {

/// What happens when an op differs by more than its class allows.
enum class AfterDifference : std::uint8_t {
  stop,    ///< execute on without comparing: what follows may depend on wrong bytes
  resync,  ///< give the candidate the reference's bytes and go on, so that every op is judged by itself
};

struct ShadowOptions {
  AfterDifference after;
  /// Views of at least so many bytes are compared by digests first where the candidate is Digesting
  /// (core/digest.h), and fetched only where those differ. Below, a fetch costs no more than a launch.
  std::int64_t digest_from = std::int64_t{1} << 20;
};

struct ShadowPair {
  std::unique_ptr<Backend> reference, candidate;
};
std::unique_ptr<Shadow> make_shadow_backend(ShadowPair pair, const ShadowOptions& options);

/// The same for backends that belong to somebody else and outlive the shadow.
struct BorrowedPair {
  Backend& reference;
  Backend& candidate;
};
std::unique_ptr<Shadow> make_shadow_backend(BorrowedPair pair, const ShadowOptions& options);

}  // namespace shardcheck
