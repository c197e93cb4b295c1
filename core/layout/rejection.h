// Rejected: the Error of a layout that cannot exist for these parameters, with the reason as a value, so that
// a test can ask for the reason and a user reads the sentence.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "core/types.h"

namespace shardcheck::layout {

/// Why a layout refuses its input.
enum class Reason {
  zero_row_size,    ///< a trailing extent is 0, so a row has no elements
  zero_dim_tensor,  ///< a scalar, where rows are needed
  dim0_not_multiple_of_block,
  mixed_dtype,
  mixed_requires_grad,
  empty_flat_parameter,
  uneven_nonzero_dim,  ///< FSDP2 cuts a dimension other than 0 only evenly
  shard_dim_out_of_range,
  units_do_not_divide_numel,
  local_numel_not_a_multiple_of_granularity,
  odd_numel,           ///< NVFP4 packs two elements a byte
  bucket_count,        ///< the packed space lost a bucket
  zero_element_owner,  ///< a tensor without elements has no candidate owner
};

/// The reason as the recorded layouts spell it, for example "zero-row-size".
constexpr std::string_view name_of(Reason reason) {
  constexpr std::string_view names[] = {"zero-row-size",
                                        "zero-dim-tensor",
                                        "dim0-not-multiple-of-block",
                                        "mixed-dtype",
                                        "mixed-requires-grad",
                                        "empty-flat-parameter",
                                        "uneven-nonzero-dim",
                                        "shard-dim-out-of-range",
                                        "units-do-not-divide-numel",
                                        "local-numel-not-a-multiple-of-granularity",
                                        "odd-numel",
                                        "bucket-count",
                                        "zero-element-owner"};
  return names[static_cast<int>(reason)];
}

/// Bad input that names the offending parameter. The first offending parameter decides.
class Rejected : public Error {
 public:
  Rejected(Reason reason, const std::string& parameter, const std::string& sentence)
      : Error(ErrorKind::bad_input, "parameter " + parameter + ": " + sentence), reason_(reason) {}
  Reason reason() const { return reason_; }

 private:
  Reason reason_;
};

}  // namespace shardcheck::layout
