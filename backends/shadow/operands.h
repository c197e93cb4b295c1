// The operands of one op as they were before it ran. What the op overwrites is kept beforehand; the rest is
// read when somebody asks. They are the reference's: up to the first difference both sides hold the same.
#pragma once

#include <optional>
#include <vector>

#include "core/backend.h"
#include "core/contract/finding.h"

namespace shardcheck::shadowing {

/// Operand number `operand` on the rank at `position` in the op's list.
struct OperandAt {
  int operand;
  std::size_t position;
};

class Operands {
 public:
  explicit Operands(Backend& reference) : reference_(reference) {}

  /// True when the op overwrites bytes that it reads.
  static bool is_overwritten(const Plan& plan, const Op& op);

  /// Call before the op runs. Overwritten operands are kept up to `most` bytes together, else none is.
  void keep(const Plan& plan, const Op& op, std::int64_t most);

  /// The bytes of an operand; nothing when it was too large to keep.
  std::optional<std::vector<std::byte>> bytes(OperandAt at);
  /// Elements first, first + stride, ... of it, `count` of them; empty when it was too large to keep
  /// or another process has it.
  struct Elements {
    std::int64_t first, count, stride;
  };
  std::vector<Sighting> elements(OperandAt at, Elements which);

  View view(OperandAt at) const;
  DType type(OperandAt at) const { return plan_->buffer(view(at).buffer).dtype; }
  const Plan& plan() const { return *plan_; }
  const Op& op() const { return *op_; }

 private:
  struct Kept {
    OperandAt at;
    std::size_t begin, size;  ///< in bytes_
  };
  const Kept* find(OperandAt at) const;

  Backend& reference_;
  const Plan* plan_ = nullptr;
  const Op* op_ = nullptr;
  bool too_large_ = false;
  std::vector<Kept> kept_;
  std::vector<std::byte> bytes_;
};

/// The number at `index` of little-endian codes.
Sighting sighting_at(DType type, std::span<const std::byte> bytes, std::int64_t index);

}  // namespace shardcheck::shadowing
