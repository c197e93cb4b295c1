// Rates of ops on blocks: both copies of a matrix, the derived one, and the parts that shards use, each on
// its minimum traffic (fp8 8.1) as a share of the device's own copy in the same run.
#include "core/recipe/catalogue.h"
#include "core/recipe/quantize.h"
#include "tools/bench/gpu_rows.h"

namespace shardcheck {
namespace {

using recipe::Direction;

constexpr std::int64_t kSide = 32768;  ///< 4 GiB of traffic, as the copy has it, and more
constexpr double kElements = static_cast<double>(kSide) * static_cast<double>(kSide);

/// One recipe on a square matrix of bf16.
class BlockRows {
 public:
  BlockRows(std::string_view name, double copy_rate)
      : named_(*recipe::find_recipe(name)),
        of_{.recipe = static_cast<std::int8_t>(&named_ - recipe::recipes().data()),
            .rows = kSide,
            .columns = kSide},
        copy_rate_(copy_rate),
        backend_(make_cuda_backend(one_gpu())),
        repeated_(*backend_, 1),
        source_(repeated_.buffer(DType::bf16, kSide * kSide)),
        codes_(repeated_.buffer(DType::e4m3, kSide * kSide)),
        column_codes_(repeated_.buffer(DType::e4m3, kSide * kSide)),
        plane_(plane(Direction::row)),
        column_plane_(plane(Direction::column)) {}

  /// `passes` over the source.
  void both_copies(double passes) {
    show("both copies", 2 * passes * kElements + 2 * kElements + bytes(plane_) + bytes(column_plane_),
         repeated_.seconds(QuantizeMatrix{of_}, {source_, codes_, plane_, column_codes_, column_plane_}));
  }
  void derived_copy() {
    show("derived column copy", 2 * kElements + bytes(plane_) + bytes(column_plane_),
         repeated_.seconds(DeriveColumnCopy{of_}, {codes_, plane_, column_codes_, column_plane_}));
  }
  void pieces() {
    const std::int64_t blocks = recipe::blocks_of(named_, Direction::row, {kSide, kSide}).count();
    const View amaxes = repeated_.buffer(DType::f32, blocks), factors = repeated_.buffer(DType::f32, blocks);
    const double floats = 4.0 * static_cast<double>(blocks);
    show("amaxes", 2 * kElements + 2 * floats, repeated_.seconds(TakeAmax{of_, 0}, {source_, amaxes}));
    show("codes", 3 * kElements + floats,
         repeated_.seconds(QuantizeBlocks{of_, 0}, {source_, factors, codes_}));
    show("numbers", 3 * kElements + bytes(plane_),
         repeated_.seconds(DequantizeBlocks{of_, 0}, {codes_, plane_, source_}));
  }

 private:
  View plane(Direction direction) {
    const recipe::Blocks blocks = recipe::blocks_of(named_, direction, {kSide, kSide});
    const std::vector<std::uint32_t> zeros(static_cast<std::size_t>(blocks.count()));
    const auto laid_out =
        recipe::scale_plane(named_.scale_format, recipe::storage_of(named_, direction), {blocks.grid, zeros});
    const bool is_wide = named_.scale_format == FormatId::f32;
    return repeated_.buffer(is_wide ? DType::f32 : DType::e5m2,
                            std::ssize(laid_out.bytes) / (is_wide ? 4 : 1));
  }
  double bytes(View view) const {
    return static_cast<double>(view.numel * bytes_of(repeated_.plan().buffer(view.buffer).dtype));
  }
  void show(const char* what, double traffic, double seconds) const {
    row(fmt::format("{}, {} ({:.2f} B/element)", named_.name, what, traffic / kElements),
        terabytes(traffic, seconds), fmt::format("{:.3f} TB/s", copy_rate_ * 1e-12),
        traffic / seconds / copy_rate_);
  }

  const recipe::Recipe& named_;
  BlockCopy of_;
  double copy_rate_;
  std::unique_ptr<Backend> backend_;
  Repeated repeated_;
  View source_, codes_, column_codes_, plane_, column_plane_;
};

}  // namespace

void block_op_rows(double copy_rate) {
  for (const char* name : {"te-mxfp8", "te-mxfp8-32x32", "te-block-1x128", "te-block-1x128-fp32", "dg-1x128",
                           "te-block-128x128", "te-current"}) {
    BlockRows rows(name, copy_rate);
    const bool is_whole = recipe::find_recipe(name)->block == recipe::BlockShape{};
    rows.both_copies(is_whole ? 2 : 1);
    if (is_derivable(recipe::find_recipe(name)->second_copy)) rows.derived_copy();
    if (std::string_view(name).starts_with("te-") && name != std::string_view("te-block-1x128-fp32"))
      rows.pieces();
  }
}

}  // namespace shardcheck
