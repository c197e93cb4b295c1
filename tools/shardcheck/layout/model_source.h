// The MODEL of a layout: a known model's name, a safetensors file or index, or a JSON list of names and
// shapes, as ordered parameters. Next: question.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/layout/parameter.h"

namespace shardcheck {

struct ModelSource {
  std::vector<layout::Parameter> parameters;
  std::vector<std::string> left_out;  ///< tensors of a file whose element type is never sharded here
};

/// Throws Error(bad_input): an unknown name with the nearest known ones, and everything that is wrong with a
/// file, naming file, tensor and field.
ModelSource read_model(const std::string& model);

/// Reads a list [{"name": ..., "shape": [...], "dtype": ..., "unit": ..., "expert": ..., ...}] or
/// [["name", [...]], ...]. `where` names the file in errors.
std::vector<layout::Parameter> parse_model_list(const std::string& json, const std::string& where);

}  // namespace shardcheck
