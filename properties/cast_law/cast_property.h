// The laws of casts, F3, F7, F8 and F12, as a property: its cases are one Cast op over a list of inputs,
// which shrinks to the one that shows it. Judged by nearest_code.h. Next: cast_law.h asks the same of all
// 2^32.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/tensor/dtype.h"
#include "properties/case.h"

namespace shardcheck {

struct CastCase {
  DType source = DType::f32;        ///< f32, bf16 or f16
  DType destination = DType::e4m3;  ///< e4m3 or e5m2
  std::string policy = "nv_saturating";
  std::vector<std::int64_t> inputs;  ///< codes of the source type
  std::string fault;                 ///< of the zoo of casts, or empty
};

class CastOfInputs final : public Case {
 public:
  explicit CastOfInputs(CastCase value) : value_(std::move(value)) {}
  const CastCase& value() const { return value_; }

  std::string json() const override;
  std::string describe() const override;
  /// Fewer inputs.
  std::vector<std::unique_ptr<Case>> smaller() const override;

 private:
  CastCase value_;
};

/// The kind "cast".
const CaseKind& cast_kind();

/// What random cases must reach: every type on both sides, every policy, and every kind of input.
const std::vector<std::string>& cast_situations();

/// Executes the cast on the backend (on a shadow, on its candidate) and compares every code with the nearest
/// one; a case with a fault is cast by the fault. A finding is of F12 where a first rounding to bf16 or fp16
/// explains it, of F8 at a NaN, of F7 from the overflow threshold on, else of F3. A code of NaN is compared
/// too: policies say it.
JudgedCase judge_cast(Backend& backend, const Case& c);

}  // namespace shardcheck
