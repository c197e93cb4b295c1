// Certificates of casts: all 2^32 fp32 numbers, all bf16 and all fp16 numbers through a machine's casts, held
// against the definition, with a digest of the codes that any other machine can be compared by. Here the CPU
// sweeps; a GPU does by itself (backends/cuda/cast_sweep.h). Read next: digest.h, nearest_code.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/numerics/named_cast.h"
#include "core/tensor/dtype.h"
#include "properties/cast_law/nearest_code.h"

namespace shardcheck {

/// What a sweep saw.
struct CastCertificate {
  std::uint64_t inputs = 0;
  std::uint64_t differences = 0;  ///< from the definition
  std::uint32_t input = 0;        ///< the least that differs (as bits), with both codes
  std::uint32_t expected = 0, actual = 0;
  std::uint64_t digest = 0;  ///< of the codes, as cast_digest()
};

/// Which of the CPU's casts.
enum class CastPath : std::uint8_t {
  fast,      ///< core/numerics/fast_cast.h, which Cast ops use; seconds
  readable,  ///< core/numerics/encode.h; minutes
};

/// How to sweep. `end` is exclusive; 2^32 for all.
struct SweepOptions {
  CastPath path;
  std::uint64_t begin, end;
  int threads;
  std::function<void(double share)> progress;  ///< called now and then by the calling thread; may be empty
  const std::atomic<bool>* stop = nullptr;     ///< a sweep that is stopped says fewer inputs
};

/// A cast, and the definition that it is held against: its own, unless a test wants to see differences.
struct SweptCast {
  NamedCast cast;
  NearestCode definition;
  explicit SweptCast(const NamedCast& cast) : cast(cast), definition(cast) {}
  SweptCast(const NamedCast& cast, const NamedCast& defined) : cast(cast), definition(defined) {}
};

/// One certificate a cast, over fp32 inputs [begin, end). The digest is that of the inputs in the range: of
/// what was computed, found from the definition's and the differences.
std::vector<CastCertificate> sweep_fp32(std::span<const SweptCast> casts, const SweepOptions& options);

/// The codes of all 2^16 numbers of a 16-bit type, in the order of their bits.
using CastOf16 = std::function<std::vector<std::uint16_t>(DType source)>;

/// All bf16 and all fp16 numbers. The digest is the sum over inputs of w(x) * (code + 1) as digest.h has it,
/// with x the bits of a bf16 number, and 2^16 more than the bits of an fp16 number.
CastCertificate certify_16_bit(const NamedCast& cast, const CastOf16& codes);

/// The CPU's codes of all numbers of bf16 or f16.
std::vector<std::uint16_t> codes_of_16_bit(const NamedCast& cast, CastPath path, DType source);

/// A number of bf16 or f16, given by its bits, as fp32 bits. Exact.
std::uint32_t widened(DType source, std::uint32_t code);

}  // namespace shardcheck
