// How quantised copies of a matrix lie in a checkpoint: names, types and shapes as public checkpoints have
// them. A tensor NAME of codes has its scales beside it, in NAME_scale_inv where they are fp32 numbers of
// blocks (a number that multiplies a code gives the value back), in NAME_scale otherwise. Next:
// quantize_file.h, which writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/matrix_rows.h"
#include "core/checkpoint/safetensors.h"
#include "core/recipe/quantize.h"

namespace shardcheck::checkpoint {

/// Keys of the header's metadata: which recipe made the codes, and how its scales are shaped.
inline constexpr std::string_view kRecipeKey = "shardcheck.recipe", kScalesKey = "shardcheck.scales";

/// How a tensor of scales is shaped.
enum class ScaleShape : std::uint8_t {
  grid,    ///< one a block, in the order of the codes, as public checkpoints ship them
  padded,  ///< as products read them, transposed and padded (fp8 3.3, 3.4)
};
std::string_view name_of(ScaleShape shape);

/// A copy as its codes lie: a matrix, which is the source or its transpose, and blocks of it.
struct CopyView {
  recipe::Direction direction = recipe::Direction::row;  ///< of the blocks in that matrix
  Turned turned = Turned::no;                            ///< the matrix is the transposed source
  recipe::ScaleStorage storage;                          ///< of the grid of that matrix, where it is padded
};
/// F32 to F34: a copy that is stored transposed is the row copy of the transposed source.
CopyView view_of(const recipe::Recipe& recipe, recipe::Direction copy);

/// The blocks of a copy whose codes lie as a matrix of this extent.
recipe::Blocks blocks_of(const recipe::Recipe& recipe, const CopyView& view, recipe::Extent extent);

/// The tensors of one copy.
struct CopyNames {
  std::string codes, scales;
  std::string tensor_scale;  ///< the second level of two_level, else empty
};
CopyNames names_of(const recipe::Recipe& recipe, recipe::Direction copy, const std::string& name);

/// "w" of "w_columnwise"; nothing where the name is not that of a column copy.
std::optional<std::string> row_copy_of(std::string_view codes);

/// The shape of the tensor of scales; empty for one scale a tensor.
std::vector<std::int64_t> scale_shape(const recipe::Recipe& recipe, const CopyView& view,
                                      recipe::Extent extent, ScaleShape shape);

/// The tensors of one copy, in the order of CopyNames; `extent` is that of the source.
std::vector<NewTensor> tensors_of(const recipe::Recipe& recipe, recipe::Direction copy,
                                  const std::string& name, recipe::Extent extent, ScaleShape shape);

/// Scales, one a block and row-major over the grid, as the bytes of their tensor.
std::vector<std::byte> scale_bytes(const recipe::Recipe& recipe, const CopyView& view, ScaleShape shape,
                                   const recipe::ScaleGrid& grid);

/// Why the recipe does not take a tensor, in words, such as "it has 1 dimension; recipes take matrices".
/// Empty: it does.
std::string reason_against(const recipe::Recipe& recipe, const TensorEntry& tensor);

}  // namespace shardcheck::checkpoint
