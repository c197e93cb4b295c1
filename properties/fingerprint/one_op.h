// One op on a backend, in a plan of its own: operands in, operands out. Every observation of a fingerprint
// goes through here, so that it sees a machine only by the four calls of core/backend.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/backend.h"
#include "core/plan/op.h"
#include "core/tensor/dtype.h"

namespace shardcheck {

/// The codes of an operand on every rank, equally many on each.
struct OpOperand {
  DType type;
  std::vector<std::vector<std::byte>> ranks;
};

/// Little-endian bytes of codes of `type`.
std::vector<std::byte> bytes_of_codes(DType type, std::span<const std::uint32_t> codes);
std::vector<std::uint32_t> codes_of_bytes(DType type, std::span<const std::byte> bytes);

/// The operand on one rank.
OpOperand on_one_rank(DType type, std::span<const std::uint32_t> codes);

/// Executes `action` once on ranks 0 to R - 1, R being the ranks of the operands, and returns the last
/// operand as it lies afterwards; nothing for a rank that another process holds. Throws what the backend
/// throws.
OpOperand execute_op(Backend& backend, const Action& action, std::span<const OpOperand> operands);

/// The same, and all operands as they lie afterwards. One without elements is a view of zero elements.
std::vector<OpOperand> execute_whole_op(Backend& backend, const Action& action,
                                        std::span<const OpOperand> operands);

}  // namespace shardcheck
