// A machine's arithmetic as far as it can be observed through the Backend interface alone: every fact of this
// folder. What a profile (core/numerics/profile.h) says of a machine should come out of it. Read next:
// fact.h; accumulator.h, scale_order.h, gemm_end.h, casts.h, reductions.h, elementwise.h, repeats.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/backend.h"
#include "properties/fingerprint/dots.h"
#include "properties/fingerprint/fact.h"

namespace shardcheck {

/// The products whose accumulators are looked at: 16-bit by Matmul and as weight gradients; FP8 of every
/// pair, fast and promoted.
std::vector<DotRule> accumulators_to_observe();

/// The products whose ends are looked at: the same with every output type that they have.
std::vector<DotRule> ends_to_observe();

/// Called before each part with its name and the share that is done.
using FingerprintProgress = std::function<void(const std::string& part, double share)>;

/// Some seconds on a CPU. Takes `backend` over for the time. Throws what it throws, except that an op which
/// it refuses (Error(bad_input)) becomes a fact that was not observed, with the sentence.
Fingerprint observe(Backend& backend, const FingerprintProgress& progress);

/// A fact in which two fingerprints differ; empty where one has it not, or did not observe it.
struct FactDifference {
  std::string subject, name, a, b;
};
/// In the order of `a`, then what only `b` has.
std::vector<FactDifference> differences(const Fingerprint& a, const Fingerprint& b);

}  // namespace shardcheck
