// The runner: many cases of one property, on several threads, with a result that depends on the seed and the
// number of cases alone. Cases are drawn and shrunk through RapidCheck (properties/generate).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "properties/counterexample.h"
#include "properties/property.h"

namespace shardcheck {

struct RunOptions {
  std::uint64_t seed = 0;
  std::int64_t cases = 0;         ///< of this property
  std::optional<double> seconds;  ///< stop after this time, whatever the number of cases
  std::int32_t threads = 1;
  std::string fault;   ///< an entry of the zoo, switched on in every case; or empty
  std::string clause;  ///< only findings of this clause count as a failure; empty: all do
  std::function<LentBackend()> make_backend;        ///< called at most once a thread
  std::function<void(std::int64_t done)> progress;  ///< called now and then, from one thread at a time
  const std::atomic<bool>* stop = nullptr;          ///< set by an interrupt: finish early
  /// Where several processes run this search, each on one thread: true when it is true on any of them. Asked
  /// equally often on all, so that time and interrupts end them in one place. Else empty.
  std::function<bool(bool here)> anywhere;
};

struct Failure {
  Counterexample first;           ///< as it was drawn
  Counterexample shrunk;          ///< the smallest that still fails
  std::int64_t number = 0;        ///< of the case, 1-based
  std::int64_t tries = 0;         ///< shrinks tried
  std::vector<Finding> findings;  ///< of the shrunk case
};

struct PropertyReport {
  std::int64_t cases = 0;
  double seconds = 0;
  std::map<std::string, std::int64_t> coverage;  ///< situation -> cases that reached it
  std::vector<std::string> missing;              ///< required situations that no case reached
  std::optional<Failure> failure;
  bool interrupted = false;
};

/// Random cases until the first failure, which is shrunk.
PropertyReport run_random(const Property& property, const RunOptions& options);

/// Every scenario up to `size` ranks, microbatches and uses, through the same property, which is one of
/// training steps.
PropertyReport run_exhaustive(const Property& property, std::int32_t size, const RunOptions& options);

/// One given case, which is of the property's kind; a failure is shrunk unless it is large.
PropertyReport run_one(const Property& property, const Counterexample& given, const RunOptions& options);

/// What the property says of a case of its kind, on a joint backend what any process finds; see ask() in
/// comparison.h for training steps.
JudgedCase judge(const Property& property, Backend& backend, const Counterexample& c);
JudgedCase judge(const Property& property, Backend& backend, const Case& c);

/// The smallest scenario on which `fails` still holds, by RapidCheck's search over shrinks of `scenario`.
Scenario shrink(const Scenario& scenario, const std::function<bool(const Scenario&)>& fails,
                std::int64_t* tries);

}  // namespace shardcheck
