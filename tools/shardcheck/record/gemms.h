// GEMMs of a machine, written down: operands drawn at random, outputs as the machine left them, in the format
// that `shardcheck conform` reads. Next: properties/gemm_law/execute.h, which computes one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/backend.h"

namespace shardcheck {

/// Case i is library_gemm_case of the stream i of `seed`.
struct GemmRecording {
  std::int64_t cases = 200;
  std::uint64_t seed = 1;
};

/// The two files, not yet written.
struct RecordedGemms {
  std::string json;             ///< an object with "cases"; offsets are into the data
  std::vector<std::byte> data;  ///< little-endian: A, B, scales of A and B, C, D of every case
  std::int64_t cases = 0;
  /// Left out: the backend refuses the product, or its library does not compute it.
  std::int64_t left_out = 0;
};

/// What computed the products that a backend has run, in words (gemm_algorithms of a GPU).
using ComputedBy = std::function<std::vector<std::string>(const Backend&)>;

/// Runs the cases on `backend`. `versions` goes into the file as it is.
RecordedGemms record_gemms(Backend& backend, const GemmRecording& recording,
                           const std::vector<std::string>& versions, const ComputedBy& computed_by);

}  // namespace shardcheck
