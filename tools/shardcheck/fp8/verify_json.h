// The report of `shardcheck fp8 verify` for machines.
#pragma once

#include <string>

#include "properties/checkpoint_quantisation/verify.h"

namespace shardcheck::fp8 {

/// What was verified.
struct VerifiedFiles {
  std::string file, against;  ///< `against` is empty without a source
};

/// An object {"schema": 1, ...} with every tensor, its counts, kinds of difference and examples; ends with a
/// newline. Scales and codes are given as values and, in hexadecimal, as they are stored.
std::string verify_json(const VerifiedFiles& files, const verify::Report& report);

}  // namespace shardcheck::fp8
