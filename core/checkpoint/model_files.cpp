#include "core/checkpoint/model_files.h"

#include <map>

#include "core/checkpoint/json_guard.h"
#include "core/checkpoint/safetensors.h"
#include "core/error.h"
#include "core/files.h"

namespace shardcheck::checkpoint {
namespace {

constexpr std::int64_t kLongestIndex = 100'000'000;

void add(const TensorEntry& entry, ModelFiles& model) {
  if (!entry.type.dtype) {
    model.left_out.push_back(entry.name);
    return;
  }
  model.parameters.push_back({.name = entry.name, .shape = entry.shape, .dtype = *entry.type.dtype});
}

/// File -> its tensors, as the index says.
std::map<std::string, std::map<std::string, bool>> weight_map(const std::filesystem::path& path) {
  constexpr int kMostDepth = 8;  // metadata is free
  const std::string where = path.string();
  const JsonValue index = parse_object(read_text(path, kLongestIndex), where, kMostDepth);
  const JsonValue& map = member(index, "weight_map", where);
  if (!map.is(JsonValue::Kind::object))
    throw bad_input(where + ": weight_map", "it must be an object {tensor: file}");
  std::map<std::string, std::map<std::string, bool>> files;
  for (const auto& [tensor, file] : map.members) {
    const std::string field = where + ": weight_map: " + shown(tensor);
    const std::string& name = text_in(file, field);
    if (name.empty() || std::filesystem::path(name).filename().string() != name || name == "." ||
        name == "..") {
      throw bad_input(field, shown(name) + " is not the name of a file beside the index");
    }
    files[name][tensor] = false;
  }
  return files;
}

ModelFiles read_index(const std::filesystem::path& path) {
  ModelFiles model;
  auto files = weight_map(path);
  for (auto& [name, tensors] : files) {
    const SafetensorsFile file(path.parent_path() / name);
    for (const TensorEntry& entry : file.header().tensors) {
      const auto found = tensors.find(entry.name);
      if (found == tensors.end()) {
        throw bad_input(file.path().string() + ": tensor " + shown(entry.name),
                        "the index " + path.filename().string() + " does not place it in this file");
      }
      found->second = true;
      add(entry, model);
    }
    for (const auto& [tensor, seen] : tensors) {
      if (seen) continue;
      throw bad_input(path.string() + ": weight_map: " + shown(tensor),
                      "the file " + name + " does not hold it");
    }
  }
  return model;
}

}  // namespace

ModelFiles read_model_files(const std::filesystem::path& path) {
  if (path.extension() == ".json") return read_index(path);
  ModelFiles model;
  const SafetensorsFile file(path);
  for (const TensorEntry& entry : file.header().tensors) add(entry, model);
  return model;
}

}  // namespace shardcheck::checkpoint
