#include "backends/cuda/quantize_matrix.h"

#include <algorithm>

#include "backends/cuda/check.h"
#include "backends/cuda/transpose_bytes.h"
#include "core/assert.h"
#include "core/integers.h"
#include "core/recipe/catalogue.h"

namespace shardcheck::gpu {
namespace {

using recipe::Direction;

// Operands of the op.
constexpr int kSource = 0, kRowCodes = 1, kRowScales = 2, kColumnCodes = 3, kColumnScales = 4;

const recipe::Recipe& recipe_of(const BlockCopy& of) {
  return recipe::recipes()[static_cast<std::size_t>(of.recipe)];
}

CopyShape copy_shape(BlockCopy of, Direction direction, DType codes) {
  of.direction = direction;
  return shape_of(of, *format_id_of(codes));
}

/// Blocks that no tile cuts, or `given`.
TileScheme scheme_of(const recipe::Recipe& named) {
  if (named.use != recipe::ScaleUse::multiply) return TileScheme::given;
  if (named.block == recipe::BlockShape{32, 1}) return TileScheme::lines32;
  if (named.block == recipe::BlockShape{128, 1}) return TileScheme::lines128;
  if (named.block == recipe::BlockShape{32, 32}) return TileScheme::square32;
  if (named.block == recipe::BlockShape{128, 128}) return TileScheme::square128;
  return TileScheme::given;
}

void launch(const TileJob& job, const MatrixTypes& types, TileScheme scheme, cudaStream_t stream) {
  if (job.tile_rows * job.tile_columns == 0) return;
  const DType codes = job.table.at[kRowCodes][0] != nullptr ? types.row : types.column;
  switch (types.source) {
    case DType::f32: return launch_tiles_of_f32(job, codes, scheme, stream);
    case DType::bf16: return launch_tiles_of_bf16(job, codes, scheme, stream);
    case DType::f16: return launch_tiles_of_f16(job, codes, scheme, stream);
    default: SC_ASSERT(false, "a matrix to quantise is f32, bf16 or f16");
  }
}

/// Amaxes and factors of one copy in memory of our own, one after the other rank by rank.
struct Factors {
  std::byte* memory;
  std::int64_t blocks;

  float* amaxes(int rank) const { return reinterpret_cast<float*>(memory) + 2 * rank * blocks; }
  float* factors(int rank) const { return amaxes(rank) + blocks; }
  std::int64_t bytes(int ranks) const { return 2 * ranks * blocks * 4; }
};

std::int64_t blocks_of(const CopyShape& shape) {
  return shape.grid.grid_rows * shape.grid.grid_columns;
}

void take_amaxes(const OperandTable& table, const MatrixTypes& types, const CopyShape& shape,
                 const Factors& factors, cudaStream_t stream) {
  SC_CHECK(cudaMemsetAsync(factors.memory, 0, static_cast<std::size_t>(factors.bytes(table.ranks)), stream));
  OperandTable amaxes = table;
  for (int r = 0; r < table.ranks; ++r) amaxes.at[1][r] = factors.amaxes(r);
  launch_take_amax(amaxes, types.source, shape, 0, stream);
}

/// Factors and the plane that operand `stored` is.
void make_scales(const OperandTable& table, int stored, const CopyShape& shape, const Factors& factors,
                 cudaStream_t stream) {
  OperandTable scales = table;
  for (int r = 0; r < table.ranks; ++r) {
    scales.at[0][r] = factors.amaxes(r);
    scales.at[1][r] = factors.factors(r);
    scales.at[2][r] = table.at[stored][r];
  }
  launch_scale_from_amax(scales, shape, stream);
}

/// Amaxes, factors and stored scales of the copies that are made; a derived copy shares the other one's.
void make_given(TileJob& job, const QuantizeMatrix& quantize, const MatrixTypes& types, std::byte* scratch,
                cudaStream_t stream) {
  const recipe::Recipe& named = recipe_of(quantize.of);
  const OperandTable& table = job.table;
  job.a_factor_a_line = named.block != recipe::BlockShape{};
  Factors factors{};
  for (Direction direction : {Direction::row, Direction::column}) {
    const bool is_row = direction == Direction::row;
    if (table.at[is_row ? kRowCodes : kColumnCodes][0] == nullptr) continue;
    const CopyShape shape = copy_shape(quantize.of, direction, is_row ? types.row : types.column);
    if (factors.memory == nullptr || !recipe::is_derivable(named.second_copy)) {
      factors = {scratch, blocks_of(shape)};
      scratch += factors.bytes(table.ranks);
      take_amaxes(table, types, shape, factors, stream);
    }
    make_scales(table, is_row ? kRowScales : kColumnScales, shape, factors, stream);
    (is_row ? job.row_factors : job.column_factors) = factors.factors(0);
    (is_row ? job.row_stride : job.column_stride) = 2 * factors.blocks;
  }
}

TileJob job_of(const QuantizeMatrix& quantize, const OperandTable& table, const MatrixTypes& types) {
  const recipe::Recipe& named = recipe_of(quantize.of);
  const std::int64_t rows = quantize.of.rows, columns = quantize.of.columns;
  const CopyShape row = copy_shape(quantize.of, Direction::row, types.row);
  const CopyShape column = copy_shape(quantize.of, Direction::column, types.column);
  TileJob job{};
  job.table = table;
  job.table.aligned = table.aligned && rows % 16 == 0 && columns % 16 == 0;
  job.rows = rows;
  job.columns = columns;
  const TileScheme scheme = scheme_of(named);
  job.tile_rows = div_ceil(rows, tile_rows_of(scheme));
  job.tile_columns = div_ceil(columns, tile_columns_of(scheme));
  job.row_plane = row.plane;
  job.column_plane = column.plane;
  job.rule = table.at[kRowCodes][0] != nullptr ? row.rule : column.rule;
  job.turns = named.second_copy != recipe::SecondCopy::requantised_in_place;
  SC_ASSERT(!job.turns || tile_rows_of(scheme) == 128, "only tiles of 128 rows are stored transposed");
  return job;
}

void enqueue_one_type(const QuantizeMatrix& quantize, const OperandTable& table, const MatrixTypes& types,
                      std::byte* scratch, cudaStream_t stream) {
  TileJob job = job_of(quantize, table, types);
  const TileScheme scheme = scheme_of(recipe_of(quantize.of));
  if (scheme == TileScheme::given) {
    SC_ASSERT(job.rule.use == recipe::ScaleUse::multiply, "no tiles for factors that divide");
    make_given(job, quantize, types, scratch, stream);
  } else {
    if (table.at[kRowCodes][0] != nullptr) launch_zero_padding(table, kRowScales, job.row_plane, stream);
    if (table.at[kColumnCodes][0] != nullptr)
      launch_zero_padding(table, kColumnScales, job.column_plane, stream);
  }
  launch(job, types, scheme, stream);
}

}  // namespace

std::int64_t scratch_of(const QuantizeMatrix& quantize, int ranks) {
  if (scheme_of(recipe_of(quantize.of)) != TileScheme::given) return 0;
  std::int64_t bytes = 0;
  for (Direction direction : {Direction::row, Direction::column}) {
    bytes += Factors{nullptr, blocks_of(copy_shape(quantize.of, direction, DType::e4m3))}.bytes(ranks);
  }
  return bytes;
}

void enqueue_quantize_matrix(const QuantizeMatrix& quantize, const OperandTable& table,
                             const MatrixTypes& types, std::byte* scratch, cudaStream_t stream) {
  const bool makes_both = table.at[kRowCodes][0] != nullptr && table.at[kColumnCodes][0] != nullptr;
  if (!makes_both || types.row == types.column) {
    return enqueue_one_type(quantize, table, types, scratch, stream);
  }
  for (int left_out : {kColumnCodes, kRowCodes}) {
    OperandTable one = table;
    std::fill_n(one.at[left_out], table.ranks, nullptr);      // codes
    std::fill_n(one.at[left_out + 1], table.ranks, nullptr);  // and their scales
    enqueue_one_type(quantize, one, types, scratch, stream);
  }
}

void enqueue_derive_column_copy(const DeriveColumnCopy& derive, const OperandTable& table,
                                cudaStream_t stream) {
  SC_ASSERT(recipe::is_derivable(recipe_of(derive.of).second_copy), "the recipe quantises its column copy");
  const PlanePair planes{copy_shape(derive.of, Direction::row, DType::e4m3).plane,
                         copy_shape(derive.of, Direction::column, DType::e4m3).plane};
  launch_derive_column_copy(table, derive.of.rows, derive.of.columns, planes, stream);
}

}  // namespace shardcheck::gpu
