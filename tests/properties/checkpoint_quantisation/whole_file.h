// A source of some weights and its quantised checkpoint in a folder of a test.
#pragma once

#include <string>
#include <vector>

#include "core/numerics/narrow.h"
#include "tests/properties/checkpoint_quantisation/damaged.h"

namespace shardcheck::verify {

struct NamedMatrix {
  std::string name;
  recipe::Extent extent;
};

/// bf16 weights, each with its own seed, and a norm; in place of an older file.
inline void write_source(const std::filesystem::path& path, const std::vector<NamedMatrix>& matrices) {
  std::vector<checkpoint::NewTensor> tensors;
  for (const NamedMatrix& each : matrices)
    tensors.push_back({each.name, DType::bf16, {each.extent.rows, each.extent.columns}});
  tensors.push_back({"norm", DType::f32, {8}});
  std::filesystem::remove(path);
  checkpoint::SafetensorsWriter writer(path, tensors);
  std::uint32_t seed = 1;
  for (const NamedMatrix& each : matrices) {
    std::vector<std::uint16_t> codes;
    for (const float value : weights(each.extent, seed++)) codes.push_back(f32_to_bf16(value));
    writer.append(std::as_bytes(std::span(codes)));
  }
  writer.append(std::vector<std::byte>(32, std::byte{3}));
  writer.finish();
}

struct Quantised {
  std::string_view recipe;
  checkpoint::ScaleShape shape = checkpoint::ScaleShape::grid;
};

inline void write_codes(const std::filesystem::path& from, const std::filesystem::path& to, Quantised how) {
  const checkpoint::TensorFiles in(from);
  checkpoint::QuantizePlan plan{.recipe = recipe::find_recipe(how.recipe),
                                .copies = {recipe::Direction::row, recipe::Direction::column},
                                .shape = how.shape};
  plan.tensors = tensors_to_quantize(in, *plan.recipe, [](const std::string&) { return true; });
  write_quantized(in, plan, to, {.threads = 2});
}

/// One byte of a tensor's data.
struct ByteOf {
  std::string tensor;
  std::int64_t at = 0;
};

inline void change(const std::filesystem::path& path, const ByteOf& place,
                   const std::function<std::uint8_t(std::uint8_t)>& changed) {
  std::int64_t at = 0;
  {
    const checkpoint::SafetensorsFile file(path);
    at = file.header().data_start + file.header().find(place.tensor)->begin + place.at;
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const auto byte = static_cast<std::uint8_t>(file.get());
  file.seekp(at);
  file.put(static_cast<char>(changed(byte)));
}

}  // namespace shardcheck::verify
