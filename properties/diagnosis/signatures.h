// Signatures: patterns of wrong numbers that point to a cause, the list at the end of spec/known-faults.md. A
// table of name and recogniser; a recogniser answers with a sentence, and only where the numbers show it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/diagnosis/symptoms.h"

namespace shardcheck {

struct Signature {
  std::string_view name;  ///< "doubling"
  /// What the numbers show, in a sentence; empty when they do not.
  std::string (*recognise)(const Symptoms& symptoms);
};

std::span<const Signature> signatures();

/// The sentences of all signatures that the symptoms show, each after its name.
std::vector<std::string> recognised(const Symptoms& symptoms);

}  // namespace shardcheck
