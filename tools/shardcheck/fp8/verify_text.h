// The report of `shardcheck fp8 verify` as people read it. Next: verify_json.h, the same for machines.
#pragma once

#include <string>

#include "properties/checkpoint_quantisation/verify.h"
#include "tools/shardcheck/terminal.h"

namespace shardcheck::fp8 {

/// A tensor that does not hold: what kinds of difference, where, values as decimals and bits.
std::string tensor_text(const Terminal& terminal, const verify::TensorReport& report);

/// The table of tensors; where they are many, of those that do not hold.
std::string summary_text(const Terminal& terminal, const verify::Report& report);

/// Which recipe was chosen by a sample, and what else explains it; empty where nothing was chosen.
std::string choice_text(const Terminal& terminal, const verify::Report& report);

}  // namespace shardcheck::fp8
