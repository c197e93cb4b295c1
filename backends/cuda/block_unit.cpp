#include "backends/cuda/block_unit.h"

#include <cmath>

#include "backends/cuda/quantize_matrix.h"
#include "backends/cuda/reduce_steps.h"
#include "core/assert.h"
#include "core/recipe/catalogue.h"

namespace shardcheck::gpu {
namespace {

bool is_fp8(DType type) {
  return type == DType::e4m3 || type == DType::e5m2;
}
bool is_number(DType type) {
  return type == DType::f32 || type == DType::bf16 || type == DType::f16;
}

/// Operands of the call by rank; those of zero elements are null. All ranks have the types of the first.
OperandTable table_of(const BlockCall& call) {
  SC_ASSERT(!call.ranks.empty() && call.ranks.size() <= kRanksPerLaunch, "a launch takes so many ranks");
  OperandTable table{};
  table.aligned = true;
  for (const BlockRanges& operands : call.ranks) {
    const int rank = table.ranks++;
    for (std::size_t o = 0; o < operands.size(); ++o) {
      SC_ASSERT(operands[o].dtype == call.ranks[0][o].dtype, "types differ between the ranks of an op");
      if (operands[o].numel == 0) continue;
      table.at[o][rank] = operands[o].data;
      table.aligned &= is_aligned(operands[o].data);
    }
    table.numel[rank] = operands[0].numel;
  }
  return table;
}

/// What every rank's operand must satisfy.
template <class Holds>
void expect(const BlockCall& call, Holds holds, const char* sentence) {
  for (const BlockRanges& operands : call.ranks) SC_ASSERT(holds(operands), sentence);
}

void expect_piece(const BlockCall& call, const BlockCopy& of, std::int64_t start) {
  expect(
      call, [&](const BlockRanges& o) { return start >= 0 && start + o[0].numel <= of.rows * of.columns; },
      "a piece lies outside its matrix");
}

std::int64_t blocks_of(const CopyShape& shape) {
  return shape.grid.grid_rows * shape.grid.grid_columns;
}

/// The elements that an op's recipe speaks of where the op has no codes.
FormatId elements_of(const BlockCopy& of) {
  return recipe::recipes()[static_cast<std::size_t>(of.recipe)].forward;
}

/// Outputs of an op are written in no order: they lie apart from its inputs.
void expect_apart(const BlockCall& call, std::initializer_list<std::size_t> inputs,
                  std::initializer_list<std::size_t> outputs) {
  for (const std::size_t in : inputs) {
    for (const std::size_t out : outputs) {
      expect(
          call, [&](const BlockRanges& o) { return o[in].numel == 0 || !o[in].overlaps(o[out]); },
          "an op on blocks writes over what it reads");
    }
  }
}

}  // namespace

std::int64_t scratch_for(const QuantizeMatrix& quantize, std::size_t ranks) {
  return scratch_of(quantize, static_cast<int>(ranks));
}

void enqueue(const TakeAmax& take, const BlockCall& call) {
  const CopyShape shape = shape_of(take.of, elements_of(take.of));
  expect_piece(call, take.of, take.start);
  expect(
      call, [&](const BlockRanges& o) { return o[1].dtype == DType::f32 && o[1].numel == blocks_of(shape); },
      "not one amax in fp32 a block");
  launch_take_amax(table_of(call), call.ranks[0][0].dtype, shape, take.start, call.stream);
}

void enqueue(const ScaleFromAmax& scale, const BlockCall& call) {
  const CopyShape shape = shape_of(scale.of, elements_of(scale.of));
  expect(
      call,
      [&](const BlockRanges& o) {
        return o[0].dtype == DType::f32 && o[1].dtype == DType::f32 && o[0].numel == blocks_of(shape) &&
               o[1].numel == blocks_of(shape) && o[2].bytes() == shape.plane.bytes();
      },
      "not one amax and one factor in fp32 a block, or a plane of scales of another size");
  expect_apart(call, {0}, {1, 2});
  launch_scale_from_amax(table_of(call), shape, call.stream);
}

void enqueue(const QuantizeBlocks& quantize, const BlockCall& call) {
  const Types types{call.ranks[0][0].dtype, call.ranks[0][2].dtype};
  SC_ASSERT(is_number(types.source) && is_fp8(types.destination), "quantisation goes from floats to FP8");
  const CopyShape shape = shape_of(quantize.of, *format_id_of(types.destination));
  expect_piece(call, quantize.of, quantize.start);
  expect(
      call,
      [&](const BlockRanges& o) {
        return o[1].dtype == DType::f32 && o[1].numel == blocks_of(shape) && o[2].numel == o[0].numel;
      },
      "not one factor in fp32 a block, or not one code an element");
  expect_apart(call, {0, 1}, {2});
  launch_quantize_blocks(table_of(call), types, shape, quantize.start, call.stream);
}

void enqueue(const DequantizeBlocks& dequantize, const BlockCall& call) {
  const Types types{call.ranks[0][0].dtype, call.ranks[0][2].dtype};
  SC_ASSERT(is_fp8(types.source) && is_number(types.destination), "dequantisation goes from FP8 to floats");
  const CopyShape shape = shape_of(dequantize.of, *format_id_of(types.source));
  expect_piece(call, dequantize.of, dequantize.start);
  expect(
      call,
      [&](const BlockRanges& o) { return o[1].bytes() == shape.plane.bytes() && o[2].numel == o[0].numel; },
      "a plane of scales of another size, or not one number a code");
  expect_apart(call, {0, 1}, {2});
  launch_dequantize_blocks(table_of(call), types, shape, dequantize.start, call.stream);
}

void enqueue(const QuantizeMatrix& quantize, const BlockCall& call) {
  const BlockRanges& first = call.ranks[0];
  MatrixTypes types{first[0].dtype, first[1].dtype, first[3].dtype};
  const bool makes_row = first[1].numel != 0, makes_column = first[3].numel != 0;
  if (!makes_row && !makes_column) return;
  if (!makes_row) types.row = types.column;
  if (!makes_column) types.column = types.row;
  SC_ASSERT(is_number(types.source) && is_fp8(types.row) && is_fp8(types.column),
            "quantisation goes from floats to FP8");
  const std::int64_t numel = quantize.of.rows * quantize.of.columns;
  const auto copy_fits = [&](const BlockRanges& o, std::size_t codes, recipe::Direction direction) {
    BlockCopy of = quantize.of;
    of.direction = direction;
    const CopyShape shape = shape_of(of, *format_id_of(types.row));
    return o[codes].numel == numel && o[codes + 1].bytes() == shape.plane.bytes();
  };
  expect(
      call,
      [&](const BlockRanges& o) {
        return o[0].numel == numel && (makes_row == (o[1].numel != 0)) &&
               (makes_column == (o[3].numel != 0)) &&
               (!makes_row || copy_fits(o, 1, recipe::Direction::row)) &&
               (!makes_column || copy_fits(o, 3, recipe::Direction::column));
      },
      "a copy of a matrix has another number of codes or of scales");
  expect_apart(call, {0}, {1, 2, 3, 4});
  enqueue_quantize_matrix(quantize, table_of(call), types, call.scratch, call.stream);
}

void enqueue(const DeriveColumnCopy& derive, const BlockCall& call) {
  const std::int64_t numel = derive.of.rows * derive.of.columns;
  expect(
      call,
      [&](const BlockRanges& o) {
        return o[0].numel == numel && o[2].numel == numel && is_fp8(o[0].dtype) && o[0].dtype == o[2].dtype;
      },
      "a derived copy has other codes than its first copy");
  for (const auto& [direction, at] : {std::pair{recipe::Direction::row, 1}, {recipe::Direction::column, 3}}) {
    BlockCopy of = derive.of;
    of.direction = direction;
    const CopyShape shape = shape_of(of, *format_id_of(call.ranks[0][0].dtype));
    expect(
        call,
        [&](const BlockRanges& o) { return o[static_cast<std::size_t>(at)].bytes() == shape.plane.bytes(); },
        "a plane of scales has another size");
  }
  expect_apart(call, {0, 1}, {2, 3});
  enqueue_derive_column_copy(derive, table_of(call), call.stream);
}

void enqueue(const CloseDelayedStep& close, const BlockCall& call) {
  expect(
      call,
      [](const BlockRanges& o) {
        return o[0].dtype == DType::f32 && o[1].dtype == DType::f32 && o[2].dtype == DType::f32 &&
               o[0].numel == 1 && o[1].numel >= 1 && o[2].numel == 2;
      },
      "delayed scaling has an amax, a history, and a scale with its inverse, in fp32");
  expect_apart(call, {0}, {1, 2});
  OperandTable table = table_of(call);
  for (std::size_t r = 0; r < call.ranks.size(); ++r) table.numel[r] = call.ranks[r][1].numel;
  launch_close_delayed_step(table,
                            {.most_recent = close.most_recent,
                             .rolls_on_zero = close.rolls_on_zero,
                             .target = std::ldexp(close.largest, -close.margin)},
                            call.stream);
}

}  // namespace shardcheck::gpu
