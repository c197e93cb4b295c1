// Fact: one thing that was observed about a machine's arithmetic, with the inputs and outputs that it was
// read from, so that a reader can check it. A fingerprint is a list of facts. Read next: fingerprint.h, which
// observes them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/tensor/dtype.h"

namespace shardcheck {

/// Codes of one operand or result, in hex: {"A", "e4m3", {"0x38", "0x01"}}.
struct CodeList {
  std::string name;
  std::string type;
  std::vector<std::string> codes;
  bool operator==(const CodeList&) const = default;
};

/// One execution of an op that decided a fact.
struct Probe {
  std::string op;  ///< "GEMM TN e4m3 x e4m3 -> f32, K 64"
  std::vector<CodeList> inputs, outputs;
  bool operator==(const Probe&) const = default;
};

/// A fact is named by subject and name; two machines differ in it when their values differ.
struct Fact {
  std::string subject;  ///< "accumulator of e4m3 x e4m3, fast"
  std::string name;     ///< "products a step"
  std::string value;    ///< "32"; empty when it was not observed
  std::string how;      ///< how it was seen, or why it could not be
  std::vector<Probe> probes;
  bool is_observed() const { return !value.empty(); }
  bool operator==(const Fact&) const = default;
};

struct Fingerprint {
  BackendInfo machine;
  std::vector<std::string> computed_by;  ///< what computed the products, as far as the machine tells
  std::vector<Fact> facts;
};

/// The code in as many digits as its type has: "0x3f80".
std::string hex(DType type, std::uint32_t code);

/// Little-endian codes of `type` as a list.
CodeList code_list(std::string name, DType type, std::span<const std::byte> bytes);
CodeList code_list(std::string name, DType type, std::span<const std::uint32_t> codes);

}  // namespace shardcheck
