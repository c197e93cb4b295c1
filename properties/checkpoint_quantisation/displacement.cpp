#include "properties/checkpoint_quantisation/displacement.h"

#include <fmt/format.h>

namespace shardcheck::verify {
namespace {

using recipe::Extent;

constexpr std::int64_t kFarthest = 256;  ///< elements of a shift or of padding

}  // namespace

std::optional<std::int64_t> Displacement::from(std::int64_t at, Extent extent) const {
  switch (kind) {
    case Kind::transposed: return at % extent.rows * extent.columns + at / extent.rows;
    case Kind::shifted: {
      const std::int64_t from = at - by;
      return from >= 0 && from < extent.numel() ? std::optional(from) : std::nullopt;
    }
    case Kind::padded_rows: {
      const std::int64_t row = at / (extent.columns + by), column = at % (extent.columns + by);
      return column < extent.columns ? std::optional(row * extent.columns + column) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::string text_of(const Displacement& displacement, std::string_view noun) {
  switch (displacement.kind) {
    case Displacement::Kind::transposed: return "transposed";
    case Displacement::Kind::shifted:
      return fmt::format("shifted by {} {}{}", displacement.by, noun, displacement.by == 1 ? "" : "s");
    case Displacement::Kind::padded_rows:
      return fmt::format("in rows with {} {}{} of padding behind each", displacement.by, noun,
                         displacement.by == 1 ? "" : "s");
  }
  return "";
}

std::vector<Displacement> displacements() {
  std::vector<Displacement> all = {{Displacement::Kind::transposed, 0}};
  for (std::int64_t by = 1; by <= kFarthest; ++by) {
    for (const std::int64_t each : {by, -by}) all.push_back({Displacement::Kind::shifted, each});
    all.push_back({Displacement::Kind::padded_rows, by});
  }
  return all;
}

}  // namespace shardcheck::verify
