// SC_ASSERT: our own mistakes. It aborts in every build type and says where; it is never used for bad input
// (core/error.h) and never for a broken clause (core/contract/finding.h).
#pragma once

#include <source_location>
#include <string_view>

namespace shardcheck {

/// Prints `condition`, the place and `why` to standard error and aborts.
[[noreturn]] void assertion_failed(std::string_view condition, std::string_view why,
                                   std::source_location where = std::source_location::current());

}  // namespace shardcheck

/// Aborts with a sentence when an invariant of ours does not hold.
#define SC_ASSERT(condition, why)                                      \
  do {                                                                 \
    if (!(condition)) ::shardcheck::assertion_failed(#condition, why); \
  } while (false)
