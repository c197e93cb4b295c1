// Model files: a safetensors file, or the index of a model that is split over several, as the ordered
// parameters that a layout takes. Only headers are read. Next: core/layout/registry.h, which cuts them.
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

/// Reads `path`: a safetensors file, or a JSON index {"weight_map": {tensor: file}} whose files lie beside
/// it. Throws Error(bad_input) with a sentence that names file, tensor and field: everything that
/// parse_safetensors_header refuses, files outside the folder of the index, tensors that the index names and
/// the file lacks, tensors that a file holds and the index gives to another, or to none.
ModelFiles read_model_files(const std::filesystem::path& path);

}  // namespace shardcheck::checkpoint
