// Finding: a broken clause with its evidence, as a value. core/contract/monitor.h and core/contract/compare.h
// make them; the command prints them as text and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace shardcheck {

/// A number as it lies in memory: value and bits.
struct Sighting {
  double value = 0;
  std::uint32_t bits = 0;
  DType dtype = DType::f32;
};

/// "0.5 (0x3f000000)"; NaN and infinities are spelled.
std::string to_text(const Sighting& sighting);

/// Where and how a clause was broken. Fields that do not apply are -1 or empty.
struct Finding {
  std::string clause;    ///< id in the catalogue, "W4"
  std::string sentence;  ///< what happened, one sentence
  OpIndex op{-1};        ///< first op at which the state is wrong
  std::string op_text;   ///< that op in words
  std::string stream;
  std::int32_t rank = -1;
  std::int32_t step = -1;
  std::int32_t microbatch = -1;
  std::int32_t parameter = -1;
  std::string parameter_name;
  std::int64_t element = -1;  ///< of the parameter, flattened row-major
  bool has_values = false;
  Sighting expected, actual;
  std::vector<std::string> provenance;  ///< decoded multiplicities, one sentence each
  std::vector<std::string> history;     ///< every op that wrote these bytes, in order
  std::string reproduce;                ///< the command that shows it again
};

/// Fills op, op_text, stream, step and microbatch from the op.
void name_op(Finding& finding, const Plan& plan, OpIndex op);

/// The finding as a JSON object: clause, sentence, op, rank, stream, step, microbatch, parameter, element,
/// expected, actual (each {"number", "hex"}), provenance, history, reproduce. NaN and infinity are strings.
std::string to_json(const Finding& finding);

}  // namespace shardcheck
