// A case of sharded quantisation as a small value: recipe, who owns what (a layout of the registry, or plain
// cuts), shapes, and the family that the numbers come from. The same case has the same numbers everywhere.
// Next: laws.h judges; quantisation_property.h keeps and shrinks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/recipe/sharded.h"
#include "core/tensor/dtype.h"
#include "properties/generate/draw.h"

namespace shardcheck {

/// Where the masters come from (fp8 5.8).
enum class MasterFamily : std::uint8_t {
  log_uniform,  ///< 24 binades
  outlier,      ///< one large number, the others small: a scale of a subset shows (G5)
  midpoints,    ///< one fp32 ulp above a midpoint of the element format: a second rounding shows (G13)
  equal,        ///< all the same magnitude (G4)
  zeros,        ///< signed zeros, and a few numbers (G7, G8)
  tiny,         ///< amaxes whose quotient overflows or is subnormal (G6)
  special,      ///< one NaN or infinity among numbers (G9)
};
inline constexpr int kMasterFamilies = 7;

struct WeightShape {
  std::int64_t rows = 1, columns = 1;
  bool expert = false;             ///< held by the expert group
  std::int32_t shard_dim = 0;      ///< the dimension that a layout cuts, where it has a choice: 0 or 1
  std::vector<std::int64_t> cuts;  ///< of layout "cuts": world - 1 ascending places in the flattened weight
  bool operator==(const WeightShape&) const = default;
};

struct QuantisationCase {
  std::string recipe = "te-current";
  std::string layout = "cuts";  ///< or a name of the registry
  std::int32_t world = 1;
  std::int32_t expert_world = 0;  ///< 0: as world
  std::vector<WeightShape> weights;
  MasterFamily masters = MasterFamily::log_uniform;
  std::optional<DType> model_type;   ///< bf16 or f16: rounded to it first (F47)
  std::int64_t weights_at_once = 0;  ///< of one packed buffer; 0 is all
  bool gradient = false;             ///< elements in the recipe's format of gradients
  std::uint64_t seed = 0;
  std::string fault;  ///< of the zoo, or empty
};

/// A case within the limits that read_case allows.
QuantisationCase random_quantisation_case(Draw& draw);

/// The call of a case. Throws Error where the layout refuses it.
recipe::ShardedCall call_of(const QuantisationCase& c);

/// "te-mxfp8 over 4 ranks of fsdp1-flat: 3 x 130, 64 x 64 expert; outlier, masters rounded to bf16, seed 7".
std::string describe(const QuantisationCase& c);
std::string_view name_of(MasterFamily family);

}  // namespace shardcheck
