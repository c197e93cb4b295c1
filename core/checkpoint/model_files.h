// Model files: a safetensors file, or the index or folder of a model that is split over several, as the
// ordered parameters that a layout takes. Only headers are read. Next: core/layout/registry.h, which cuts
// them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/layout/parameter.h"

namespace shardcheck::checkpoint {

struct ModelFiles {
  std::vector<layout::Parameter> parameters;  ///< in the order of the data, file by file
  std::vector<std::string> left_out;  ///< tensors whose element type is not one of core/tensor/dtype.h
};

/// Reads what TensorFiles opens, and throws what it throws.
ModelFiles read_model_files(const std::filesystem::path& path);

}  // namespace shardcheck::checkpoint
