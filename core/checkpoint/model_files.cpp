#include "core/checkpoint/model_files.h"

#include "core/checkpoint/tensor_files.h"

namespace shardcheck::checkpoint {

ModelFiles read_model_files(const std::filesystem::path& path) {
  ModelFiles model;
  const TensorFiles files(path);
  for (const StoredTensor& tensor : files.tensors()) {
    const TensorEntry& entry = *tensor.entry;
    if (entry.type.dtype) {
      model.parameters.push_back({.name = entry.name, .shape = entry.shape, .dtype = *entry.type.dtype});
    } else {
      model.left_out.push_back(entry.name);
    }
  }
  return model;
}

}  // namespace shardcheck::checkpoint
