#include "properties/fingerprint/repeats.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <string>

#include "core/error.h"
#include "core/numerics/same_code.h"
#include "core/plan/op.h"
#include "properties/fingerprint/one_op.h"
#include "properties/gemm_law/execute.h"

namespace shardcheck {
namespace {

constexpr int kCases = 120, kRepeats = 3;

/// FNV-1a over canonical codes: every NaN is the same NaN.
struct Digest {
  std::uint64_t state = 0xCBF29CE484222325u;
  void add(DType type, std::span<const std::byte> bytes) {
    for (std::int64_t i = 0; i < std::ssize(bytes) / bytes_of(type); ++i) {
      state ^= canonical_code(type, code_at(type, bytes, i));
      state *= 0x100000001B3u;
    }
  }
};

/// What was seen of one kind of computation.
struct Repeats {
  int cases = 0, unstable = 0, refused = 0;
  std::string refusal;
  Digest digest;

  /// `compute` runs it once and returns its bytes.
  template <class Compute>
  void look_at(DType type, Compute compute) {
    try {
      const std::vector<std::byte> first = compute();
      bool same = true;
      for (int i = 1; i < kRepeats; ++i) same &= compute() == first;
      ++cases;
      unstable += same ? 0 : 1;
      digest.add(type, first);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_input) throw;
      ++refused;
      refusal = error.what();
    }
  }
};

std::string kind_of(const GemmCase& c) {
  if (bytes_of(c.a) > 1) return "GEMMs of 16-bit operands";
  if (c.op.scales_a == ScaleKind::vector128 || c.op.scales_a == ScaleKind::block128x128)
    return "GEMMs of FP8, block scales";
  return c.op.fast_accumulation ? "GEMMs of FP8, fast" : "GEMMs of FP8, promoted";
}

OpOperand random_inputs(std::int32_t ranks) {
  constexpr std::int64_t kElements = 4096;
  constexpr std::uint64_t kSeed = 0x4E9EA7;
  OpOperand inputs{DType::f32, {}};
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    Draw draw(kSeed, static_cast<std::uint64_t>(rank));
    std::vector<std::uint32_t> codes;
    for (std::int64_t i = 0; i < kElements; ++i)
      codes.push_back((draw.word() & 0x807FFFFFu) | static_cast<std::uint32_t>(115 + draw.below(24)) << 23);
    inputs.ranks.push_back(bytes_of_codes(DType::f32, codes));
  }
  return inputs;
}

}  // namespace

std::vector<Fact> observe_repeats(Backend& backend) {
  std::map<std::string, Repeats> kinds;
  for (int i = 0; i < kCases; ++i) {
    Draw draw(1, static_cast<std::uint64_t>(i));
    const GemmCase c = library_gemm_case(draw);
    const GemmInputs inputs = inputs_of(c);
    kinds[kind_of(c)].look_at(c.d, [&] { return execute_gemm(backend, c, inputs); });
  }
  for (std::int32_t ranks : {2, 3, 4}) {
    const OpOperand inputs = random_inputs(ranks);
    const std::array operands = {inputs, inputs};
    const Communicate op{Collective::all_reduce, Reduction::sum, ranks};
    kinds[fmt::format("all_reduce f32 over {} ranks", ranks)].look_at(
        DType::f32, [&] { return execute_op(backend, op, operands).ranks.back(); });
  }
  std::vector<Fact> facts;
  for (const auto& [kind, seen] : kinds) {
    if (seen.cases == 0) {
      facts.push_back({kind, "repeated", "", seen.refusal, {}});
      continue;
    }
    const std::string refused = seen.refused == 0 ? "" : fmt::format("; {} refused", seen.refused);
    facts.push_back(
        {kind,
         "repeated",
         seen.unstable == 0 ? "the same bits" : fmt::format("{} of {} differ", seen.unstable, seen.cases),
         fmt::format("{} times each of {}{}", kRepeats, seen.cases, refused),
         {}});
    facts.push_back({kind,
                     "digest",
                     fmt::format("0x{:016x}", seen.digest.state),
                     fmt::format("of all outputs of {}{}", seen.cases, refused),
                     {}});
  }
  return facts;
}

}  // namespace shardcheck
