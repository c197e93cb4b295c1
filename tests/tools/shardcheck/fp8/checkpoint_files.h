// Checkpoints that the tests of `shardcheck fp8 quantize` and `verify` read, in the working folder.
#pragma once

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "core/checkpoint/safetensors.h"
#include "core/numerics/narrow.h"

namespace shardcheck {

/// "bf16.safetensors": two matrices of whole blocks, one with a ragged edge, a norm.
inline std::string write_bf16_checkpoint() {
  using checkpoint::NewTensor;
  const std::vector<NewTensor> tensors = {{"mlp.down.weight", DType::bf16, {256, 384}},
                                          {"mlp.up.weight", DType::bf16, {384, 256}},
                                          {"attention.weight", DType::bf16, {192, 256}},
                                          {"norm.weight", DType::bf16, {256}}};
  std::filesystem::remove("bf16.safetensors");
  checkpoint::SafetensorsWriter writer("bf16.safetensors", tensors);
  std::mt19937 random(4);
  std::normal_distribution<float> normal(0, 0.02f);
  for (const NewTensor& tensor : tensors) {
    const std::int64_t numel = tensor.shape[0] * (tensor.shape.size() == 2 ? tensor.shape[1] : 1);
    std::vector<std::uint16_t> codes;
    for (std::int64_t i = 0; i < numel; ++i)
      codes.push_back(f32_to_bf16(std::ldexp(normal(random), static_cast<int>(i / 128 % 3))));
    writer.append(std::as_bytes(std::span(codes)));
  }
  writer.finish();
  return "bf16.safetensors";
}

/// Overwrites bytes of a tensor's data.
inline void overwrite(const std::string& file, const std::string& tensor, std::int64_t at,
                      const std::vector<std::uint8_t>& bytes) {
  std::int64_t place = at;
  {
    const checkpoint::SafetensorsFile opened(file);
    place += opened.header().data_start + opened.header().find(tensor)->begin;
  }
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(place);
  for (const std::uint8_t byte : bytes) stream.put(static_cast<char>(byte));
}

/// A tensor's data.
inline std::vector<std::uint8_t> bytes_of_tensor(const std::string& file, const std::string& tensor) {
  const checkpoint::SafetensorsFile opened(file);
  const checkpoint::TensorEntry& entry = *opened.header().find(tensor);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(entry.end - entry.begin));
  opened.read(entry, 0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

}  // namespace shardcheck
