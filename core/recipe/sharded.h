// Sharded quantisation: every rank quantises the pieces that it owns of master weights, with scales that all
// of them agree on, and gathers the rest (fp8 4.2). The plan says everything as data: who measures, reduces,
// casts and sends what, in which order; so a law looks at the plan, and a fault of the zoo changes a number
// of it. Invariant (F40): every rank ends with the copies that quantize() makes of the whole. Read next:
// sharded_run.h executes a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/layout/range.h"
#include "core/recipe/quantize.h"
#include "core/types.h"

namespace shardcheck::recipe {

/// One master weight and who owns which elements of it.
struct ShardedWeight {
  std::string name;
  Extent extent;
  std::vector<float> master;  ///< fp32, whole; a rank reads its own ranges of it
  /// Ranks 0 to owned.size() - 1 hold the weight; their ranges partition its elements, and may be none.
  std::vector<std::vector<layout::Range>> owned;
};

/// One call over several weights of one recipe.
struct ShardedCall {
  const Recipe* recipe = nullptr;
  FormatId elements = FormatId::e4m3;
  std::vector<ShardedWeight> weights;
  std::optional<FormatId> model_type;  ///< masters are rounded to it first (fp8 4.2 step 1)
  std::int64_t weights_at_once = 0;    ///< of one packed amax buffer; 0 is all of them
  float given_scale = 1;               ///< of ScaleFormula::given

  std::int32_t ranks() const;
};

/// How maxima travel.
enum class AmaxWire : std::uint8_t {
  f32_max,   ///< drops NaN, as NCCL does (fp8 3.0)
  bits_max,  ///< as unsigned integers: a NaN is the largest of all magnitudes, and arrives (fp8 4.7)
};

enum class Act : std::uint8_t { measure, reduce, scale, cast, gather, derive };
std::string_view name_of(Act act);

/// One step of a rank, for weights [first, first + count) of one group.
struct Step {
  Act act = Act::measure;
  std::int32_t first = 0, count = 0;
  std::int32_t first_rank = 0, group = 0;  ///< of a collective: ranks [first_rank, first_rank + group)
  std::int64_t length = 0;                 ///< reduce: elements of the packed buffer
  AmaxWire wire = AmaxWire::f32_max;
  bool operator==(const Step&) const = default;
};

/// What one rank does to one weight.
struct Part {
  std::vector<layout::Range> measured;  ///< enter its amaxes
  std::vector<layout::Range> cast;      ///< are written in its array of codes
  std::vector<layout::Range> sent;      ///< go into the gather
};

struct WeightPlan {
  std::vector<Part> parts;                           ///< [rank]
  const Recipe* recipes[2] = {};                     ///< by Direction: who makes the scales
  std::optional<FormatId> measured_type, cast_type;  ///< masters are rounded to it before
  std::int64_t packed_at = 0;                        ///< its place in the packed buffer of its batch
  std::int64_t read_at = 0;                          ///< where its scales are read from
};

struct ShardedPlan {
  std::vector<WeightPlan> weights;
  std::vector<std::vector<Step>> schedules;  ///< [rank]
};

/// Directions of a recipe that are quantised of themselves: one where the second copy is derived, else two.
std::span<const Direction> quantised_directions(const Recipe& recipe);

/// Amaxes of one weight in a packed buffer: every block, one direction after the other.
std::int64_t amax_count(const Recipe& recipe, Extent extent);

/// The plan of fp8 4.2. Weights that are held by equally many ranks form a group; a batch is of one group.
ShardedPlan plan_sharded(const ShardedCall& call);

/// The master, rounded to the type; itself without one.
std::vector<float> rounded_to(std::optional<FormatId> type, std::span<const float> values);

}  // namespace shardcheck::recipe
