// What kinds of difference a broken copy shows: every guess is tried on every specimen, and the fewest kinds
// that explain the most are kept. A specimen that none explains is counted as such. Next: verify.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/checkpoint_quantisation/evidence.h"

namespace shardcheck::verify {

/// One kind of difference.
struct Kind {
  std::string clause;
  std::string sentence;
  std::int64_t blocks = 0;                ///< of the specimens
  std::vector<std::size_t> examples;      ///< positions among the specimens, the first kMostExamples
  std::vector<std::string> details;       ///< of those, where the guess has them; else empty strings
  std::vector<std::string> alternatives;  ///< sentences that explain the same blocks as well
};
inline constexpr std::size_t kMostExamples = 2;

struct Explanation {
  std::vector<Kind> kinds;  ///< the one with the most blocks first
  std::int64_t examined = 0;
  bool places_tried = true;  ///< false: the tensor is too large to try transposition and shifts of codes
};

Explanation explain(const Evidence& evidence);

}  // namespace shardcheck::verify
