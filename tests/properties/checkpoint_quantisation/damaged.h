// A checkpoint of one weight, quantised by a recipe, whose bytes a test may damage before it is verified.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "core/checkpoint/quantize_file.h"
#include "core/recipe/catalogue.h"
#include "properties/checkpoint_quantisation/verify.h"
#include "tests/core/checkpoint/temp_folder.h"

namespace shardcheck::verify {

/// Numbers as weights are: the spread differs from row to row and from column to column, so that neighbours
/// have different scales.
inline std::vector<float> weights(recipe::Extent extent, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> values;
  for (std::int64_t i = 0; i < extent.numel(); ++i) {
    const auto spread = static_cast<int>((i / extent.columns / 32 * 7 + i % extent.columns / 32 * 3) % 5);
    values.push_back(std::ldexp(normal(random), spread));
  }
  return values;
}

class Damaged {
 public:
  using Codes = std::vector<std::uint8_t>;
  /// Changes codes and stored scales; fp32 scales as their bits.
  using Damage = std::function<void(Codes& codes, std::vector<std::uint32_t>& scales)>;

  Damaged(std::string_view recipe, recipe::Extent extent, std::vector<float> values)
      : recipe_(*recipe::find_recipe(recipe)), extent_(extent), values_(std::move(values)) {}
  Damaged(std::string_view recipe, recipe::Extent extent) : Damaged(recipe, extent, weights(extent, 5)) {}

  const std::vector<float>& values() const { return values_; }
  const recipe::Recipe& recipe() const { return recipe_; }
  recipe::Blocks blocks() const { return recipe::blocks_of(recipe_, recipe::Direction::row, extent_); }

  /// The report on the row copy after the damage.
  TensorReport verified(bool with_source, const Damage& damage) {
    const checkpoint::TempFolder folder;
    const auto in = folder.path() / "in.safetensors", out = folder.path() / "out.safetensors";
    write(in, {{"w", DType::f32, {extent_.rows, extent_.columns}}}, {std::as_bytes(std::span(values_))}, {});
    const recipe::QuantizedCopy copy =
        recipe::quantize(recipe_, {recipe::Direction::row, recipe_.forward, 1}, {extent_, values_});
    Codes codes = copy.codes;
    std::vector<std::uint32_t> scales = recipe::grid_in(copy.scales, recipe_.row_scales);
    damage(codes, scales);
    const auto view = checkpoint::view_of(recipe_, recipe::Direction::row);
    const std::vector<std::byte> scale_bytes =
        checkpoint::scale_bytes(recipe_, view, checkpoint::ScaleShape::grid, {blocks().grid, scales});
    write(out,
          checkpoint::tensors_of(recipe_, recipe::Direction::row, "w", extent_, checkpoint::ScaleShape::grid),
          {std::as_bytes(std::span(codes)), scale_bytes}, {{"shardcheck.recipe", std::string(recipe_.name)}});
    const checkpoint::TensorFiles files(out), source(in);
    const auto all = [](const std::string&) { return true; };
    Request request{.files = files, .source = with_source ? &source : nullptr, .is_chosen = all};
    request.options.threads = 2;
    return verify_checkpoint(request, contents_of(files, all)).tensors.at(0);
  }

 private:
  static void write(const std::filesystem::path& path, const std::vector<checkpoint::NewTensor>& tensors,
                    const std::vector<std::span<const std::byte>>& data,
                    const std::map<std::string, std::string>& metadata) {
    checkpoint::SafetensorsWriter writer(path, tensors, metadata);
    for (const auto& bytes : data) writer.append(bytes);
    writer.finish();
  }

  const recipe::Recipe& recipe_;
  recipe::Extent extent_;
  std::vector<float> values_;
};

/// The kinds, joined: "twice ...: 3 blocks; ...".
inline std::string kinds_of(const TensorReport& report) {
  std::string text;
  for (const Kind& kind : report.explanation.kinds)
    text += kind.clause + " " + kind.sentence + ": " + std::to_string(kind.blocks) + "; ";
  return text;
}

}  // namespace shardcheck::verify
