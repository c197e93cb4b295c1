// Quantise the matrices of a checkpoint into one new safetensors file: a plan first, which says of every
// tensor what becomes of it, then the writing, in strips, so that memory does not grow with the model. The
// file appears whole or not at all. Next: quantized_copy.h for names and shapes.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/checkpoint/quantized_copy.h"
#include "core/checkpoint/tensor_files.h"

namespace shardcheck::checkpoint {

/// What to do with an infinity or a NaN of the source.
enum class NonFinite : std::uint8_t {
  refuse,     ///< Error(bad_input) that names the element
  by_recipe,  ///< what the recipe and its cast say of them
};

/// One tensor of the source.
struct TensorPlan {
  StoredTensor tensor;
  std::string copied_because;  ///< empty: it is quantised
};

struct QuantizePlan {
  const recipe::Recipe* recipe = nullptr;
  std::vector<recipe::Direction> copies = {recipe::Direction::row};
  ScaleShape shape = ScaleShape::grid;
  NonFinite nonfinite = NonFinite::refuse;
  std::vector<TensorPlan> tensors;
};

/// Everything is quantised that `is_chosen` and the recipe takes; the reasons of the others are filled in.
std::vector<TensorPlan> tensors_to_quantize(const TensorFiles& files, const recipe::Recipe& recipe,
                                            const std::function<bool(const std::string& name)>& is_chosen);

/// How to write.
struct WriteOptions {
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;  ///< when it becomes true, nothing is put in place
  /// Called between tensors and strips from any thread, one at a time, with bytes of the source that are
  /// done.
  std::function<void(std::int64_t bytes)> progress;
};

/// Writes `path`. False when it was stopped. Throws Error(bad_input) for an element that is refused and for
/// names of new tensors that the source holds already, Error(machine_cannot) when it cannot be written; an
/// older file at `path` stays in all of these cases.
bool write_quantized(const TensorFiles& files, const QuantizePlan& plan, const std::filesystem::path& path,
                     const WriteOptions& options);

}  // namespace shardcheck::checkpoint
