#include "backends/shadow/operands.h"

#include "core/numerics/same_code.h"

namespace shardcheck::shadowing {
namespace {

bool overlaps(View a, View b) {
  return a.buffer == b.buffer && a.offset < b.offset + b.numel && b.offset < a.offset + a.numel;
}

std::size_t bytes_in(const Plan& plan, View view) {
  return static_cast<std::size_t>(view.numel) *
         static_cast<std::size_t>(bytes_of(plan.buffer(view.buffer).dtype));
}

/// Calls visit(operand, position, view) for every operand that the op reads and then overwrites.
template <class Visit>
void each_overwritten(const Plan& plan, const Op& op, Visit visit) {
  const Access access = access_of(op.action);
  for (int read = 0; read < op.operands; ++read) {
    if ((access.reads >> read & 1) == 0) continue;
    for (std::size_t i = 0; i < static_cast<std::size_t>(op.ranks); ++i) {
      const View view = plan.operand(op, read)[i];
      bool is_overwritten = false;
      for (int written = 0; written < op.operands; ++written) {
        if ((access.writes >> written & 1) != 0)
          is_overwritten |= overlaps(view, plan.operand(op, written)[i]);
      }
      if (is_overwritten) visit(OperandAt{read, i}, view);
    }
  }
}

}  // namespace

bool Operands::is_overwritten(const Plan& plan, const Op& op) {
  bool any = false;
  each_overwritten(plan, op, [&](OperandAt, View) { any = true; });
  return any;
}

void Operands::keep(const Plan& plan, const Op& op, std::int64_t most) {
  plan_ = &plan;
  op_ = &op;
  kept_.clear();
  std::size_t size = 0;
  each_overwritten(plan, op, [&](OperandAt at, View view) {
    if (!reference_.holds(plan, plan.ranks_of(op)[at.position])) return;
    kept_.push_back({at, size, bytes_in(plan, view)});
    size += kept_.back().size;
  });
  too_large_ = static_cast<std::int64_t>(size) > most;
  if (too_large_) return;
  bytes_.resize(size);
  for (const Kept& kept : kept_) {
    reference_.read(plan, plan.ranks_of(op)[kept.at.position], view(kept.at),
                    std::span(bytes_).subspan(kept.begin, kept.size));
  }
}

View Operands::view(OperandAt at) const {
  return plan_->operand(*op_, at.operand)[at.position];
}

const Operands::Kept* Operands::find(OperandAt at) const {
  for (const Kept& kept : kept_) {
    if (kept.at.operand == at.operand && kept.at.position == at.position) return &kept;
  }
  return nullptr;
}

std::optional<std::vector<std::byte>> Operands::bytes(OperandAt at) {
  if (const Kept* kept = find(at)) {
    if (too_large_) return std::nullopt;
    const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(kept->begin);
    return std::vector<std::byte>(begin, begin + static_cast<std::ptrdiff_t>(kept->size));
  }
  std::vector<std::byte> bytes(bytes_in(*plan_, view(at)));
  reference_.read(*plan_, plan_->ranks_of(*op_)[at.position], view(at), bytes);
  return bytes;
}

std::vector<Sighting> Operands::elements(OperandAt at, Elements which) {
  const Kept* kept = find(at);
  const Rank rank = plan_->ranks_of(*op_)[at.position];
  std::vector<Sighting> seen;
  if ((kept != nullptr && too_large_) || !reference_.holds(*plan_, rank)) return seen;
  std::vector<std::byte> code(static_cast<std::size_t>(bytes_of(type(at))));
  for (std::int64_t n = 0; n < which.count; ++n) {
    const std::int64_t index = which.first + n * which.stride;
    if (kept != nullptr) {
      seen.push_back(sighting_at(type(at), std::span(bytes_).subspan(kept->begin, kept->size), index));
    } else {
      const View all = view(at);
      reference_.read(*plan_, rank, {all.buffer, all.offset + index, 1}, code);
      seen.push_back(sighting_at(type(at), code, 0));
    }
  }
  return seen;
}

Sighting sighting_at(DType type, std::span<const std::byte> bytes, std::int64_t index) {
  const std::uint32_t code = code_at(type, bytes, index);
  return {value_of_code(type, code), code, type};
}

}  // namespace shardcheck::shadowing
