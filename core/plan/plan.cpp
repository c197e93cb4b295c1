#include "core/plan/plan.h"

#include <fmt/format.h>

namespace shardcheck {

std::string_view name_of(Purpose purpose) {
  constexpr std::string_view names[] = {
      "none",        "setup",         "zero",          "write",        "dummy",   "fold",
      "scale",       "stage",         "reduce",        "reduce_outer", "unstage", "accumulate",
      "reduce_tied", "reduce_tensor", "reduce_shards", "divide",       "clip",    "consume",
      "weights",     "forward",       "backward",      "recompute"};
  return names[static_cast<int>(purpose)];
}

std::string_view name_of(Stream stream) {
  constexpr std::string_view names[] = {"compute", "reduce", "graph"};
  return names[static_cast<int>(stream)];
}

std::string_view name_of(BetaRule rule) {
  constexpr std::string_view names[] = {"first touch of the lease",
                                        "a constant of the layer",
                                        "overwrite_main_grad, a flag of the strategy",
                                        "a flag that the owner flips after the first write",
                                        "the microbatch index",
                                        "the order of calls",
                                        "the flag of another parameter",
                                        "a flag read before the write was issued",
                                        "a value baked into a captured graph",
                                        "whether param.grad holds anything"};
  return names[static_cast<int>(rule)];
}

std::string_view name_of(BufferRole role) {
  constexpr std::string_view names[] = {
      "inputs", "graph_inputs", "main_grad", "lease_slot", "shard",  "staging", "param_grad", "placeholder",
      "master", "weights",      "initial",   "codes",      "scales", "amaxes",  "activations"};
  return names[static_cast<int>(role)];
}

std::string to_text(const DeclaredPipeline& declared) {
  return fmt::format("local sums {}, wire {}, outer sums {}, main_grad {}", name_of(declared.local),
                     name_of(declared.wire), name_of(declared.outer), name_of(declared.main_grad));
}

std::uint32_t poison_bits(Poison poison, DType type) {
  const bool nan = poison == Poison::quiet_nan;
  switch (type) {
    case DType::f32: return nan ? 0x7FC0DEADu : 0x6FABCDEFu;
    case DType::bf16: return nan ? 0x7FC1u : 0x6FABu;
    case DType::f16: return nan ? 0x7E01u : 0x78E5u;
    case DType::e4m3: return nan ? 0x7Fu : 0x75u;
    case DType::e5m2: return nan ? 0x7Eu : 0x75u;
    case DType::u8: return 0xA5u;
  }
  return 0;
}

namespace {

/// One row a kind of action: the operands that it reads and writes.
struct AccessOf {
  Access operator()(const Fill&) const { return {0, 0b1}; }
  Access operator()(const Allocate&) const { return {0, 0b1}; }
  Access operator()(const Undefine&) const { return {0, 0b1}; }
  Access operator()(const OpenLease&) const { return {0, 0b1}; }
  Access operator()(const Gemm& gemm) const {
    return {static_cast<std::uint8_t>(gemm.accumulate ? 0b111 : 0b011), 0b100};
  }
  Access operator()(const Copy&) const { return {0b01, 0b10}; }
  Access operator()(const Cast&) const { return {0b01, 0b10}; }
  Access operator()(const Quantize&) const { return {0b011, 0b100}; }
  Access operator()(const Dequantize&) const { return {0b011, 0b100}; }
  Access operator()(const Matmul& matmul) const {
    return {static_cast<std::uint8_t>(matmul.accumulate ? 0b11111 : 0b01111), 0b10000};
  }
  Access operator()(const TakeAmax&) const { return {0b11, 0b10}; }
  Access operator()(const ScaleFromAmax&) const { return {0b001, 0b110}; }
  Access operator()(const QuantizeBlocks&) const { return {0b011, 0b100}; }
  Access operator()(const DequantizeBlocks&) const { return {0b011, 0b100}; }
  Access operator()(const QuantizeMatrix&) const { return {0b00001, 0b11110}; }
  Access operator()(const DeriveColumnCopy&) const { return {0b0011, 0b1100}; }
  Access operator()(const CloseDelayedStep&) const { return {0b111, 0b110}; }
  Access operator()(const Add&) const { return {0b11, 0b10}; }
  Access operator()(const Scale&) const { return {0b1, 0b1}; }
  Access operator()(const Communicate&) const { return {0b01, 0b10}; }
  Access operator()(const SgdStep&) const { return {0b11, 0b10}; }
  template <class Event>
  Access operator()(const Event&) const {
    return {};
  }
};

}  // namespace

Access access_of(const Action& action) {
  return std::visit(AccessOf{}, action);
}

bool is_event(const Action& action) {
  const bool orders = std::holds_alternative<Record>(action) || std::holds_alternative<Wait>(action);
  return !orders && access_of(action).writes == 0;
}

}  // namespace shardcheck
