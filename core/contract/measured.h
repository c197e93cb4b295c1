// What an amax was taken of, and which scales came out of it: sets of pieces, each stored once, named by a
// number that stamps carry (core/contract/versions.h). The maximum of two amaxes is of the union of their
// pieces.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/plan/plan.h"

namespace shardcheck {

/// Elements of a weight, or all of what one use fed to a product.
struct Measured {
  std::int32_t parameter = -1, tensor = 0;
  std::int32_t version = -1;  ///< of a weight; -1: an activation
  recipe::Direction direction = recipe::Direction::row;
  DType precision = DType::f32;
  std::int64_t lo = 0, hi = 0;                                   ///< elements of a weight
  std::int32_t rank = -1, step = -1, microbatch = -1, use = -1;  ///< of an activation
  auto operator<=>(const Measured&) const = default;
};

class MeasuredSets {
 public:
  static constexpr std::int32_t kNone = 0;  ///< nothing was measured

  std::int32_t with(std::int32_t set, const Measured& piece);
  std::int32_t joined(std::int32_t a, std::int32_t b);
  /// Sorted; pieces of one weight that touch are one.
  std::span<const Measured> operator[](std::int32_t set) const {
    return sets_[static_cast<std::size_t>(set)];
  }

 private:
  std::int32_t number_of(std::vector<Measured> pieces);

  std::vector<std::vector<Measured>> sets_{{}};
  std::map<std::vector<Measured>, std::int32_t> numbers_{{{}, kNone}};
};

/// One set of scales: those of a weight's amaxes, or those that a history gave when it was closed.
struct Scaling {
  std::int32_t parameter = -1, tensor = 0, version = -1;
  recipe::Direction direction = recipe::Direction::row;
  std::int32_t measured = MeasuredSets::kNone;
  std::int32_t history = -1;  ///< its buffer, of delayed scaling
  std::int64_t offset = 0;    ///< in that buffer
  std::int32_t closings = 0;
  auto operator<=>(const Scaling&) const = default;
};

/// Equal scalings have one number.
class Scalings {
 public:
  std::int32_t number_of(const Scaling& scaling);
  const Scaling& operator[](std::int32_t number) const { return rows_[static_cast<std::size_t>(number)]; }

 private:
  std::vector<Scaling> rows_;
  std::map<Scaling, std::int32_t> numbers_;
};

}  // namespace shardcheck
