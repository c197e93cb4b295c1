#include "core/checkpoint/tensor_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/checkpoint/json_guard.h"
#include "core/error.h"
#include "core/files.h"

namespace shardcheck::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLongestIndex = 100'000'000;

/// File -> its tensors, as the index says.
std::map<std::string, std::set<std::string>> weight_map(const fs::path& path) {
  constexpr int kMostDepth = 8;  // metadata is free
  const std::string where = path.string();
  const JsonValue index = parse_object(read_text(path, kLongestIndex), where, kMostDepth);
  const JsonValue& map = member(index, "weight_map", where);
  if (!map.is(JsonValue::Kind::object))
    throw bad_input(where + ": weight_map", "it must be an object {tensor: file}");
  std::map<std::string, std::set<std::string>> files;
  for (const auto& [tensor, file] : map.members) {
    const std::string field = where + ": weight_map: " + shown(tensor);
    const std::string& name = text_in(file, field);
    if (name.empty() || fs::path(name).filename().string() != name || name == "." || name == "..") {
      throw bad_input(field, shown(name) + " is not the name of a file beside the index");
    }
    files[name].insert(tensor);
  }
  return files;
}

/// The files of a folder that end so, sorted.
std::vector<fs::path> ending_in(const fs::path& folder, std::string_view end) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().ends_with(end)) found.push_back(entry.path());
  }
  if (error) throw bad_input(folder.string(), "cannot read: " + error.message());
  std::ranges::sort(found);
  return found;
}

}  // namespace

std::string StoredTensor::where() const {
  return file->path().string() + ": tensor " + shown(entry->name);
}

TensorFiles::TensorFiles(const fs::path& path) : path_(path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    open_folder(path);
  } else if (path.extension() == ".json") {
    open_index(path);
  } else {
    open(path);
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto [other, is_new] = by_name_.emplace(tensors_[i].entry->name, i);
    if (!is_new)
      throw bad_input(tensors_[i].where(), "the file " + tensors_[other->second].file->path().string() +
                                               " holds a tensor of the same name");
  }
}

const SafetensorsFile& TensorFiles::open(const fs::path& path) {
  const SafetensorsFile& file = files_.emplace_back(path);
  for (const TensorEntry& entry : file.header().tensors) tensors_.push_back({&file, &entry});
  return file;
}

void TensorFiles::open_index(const fs::path& path) {
  for (auto& [name, tensors] : weight_map(path)) {
    const SafetensorsFile& file = open(path.parent_path() / name);
    for (const TensorEntry& entry : file.header().tensors) {
      if (tensors.erase(entry.name) == 1) continue;
      throw bad_input(file.path().string() + ": tensor " + shown(entry.name),
                      "the index " + path.filename().string() + " does not place it in this file");
    }
    if (tensors.empty()) continue;
    throw bad_input(path.string() + ": weight_map: " + shown(*tensors.begin()),
                    "the file " + name + " does not hold it");
  }
}

void TensorFiles::open_folder(const fs::path& folder) {
  const std::vector<fs::path> indexes = ending_in(folder, ".index.json");
  if (indexes.size() == 1) return open_index(indexes.front());
  if (indexes.size() > 1)
    throw bad_input(folder.string(),
                    fmt::format("it holds {} indexes, {} and {} among them; name one of them", indexes.size(),
                                indexes[0].filename().string(), indexes[1].filename().string()));
  const std::vector<fs::path> files = ending_in(folder, ".safetensors");
  if (files.empty())
    throw bad_input(folder.string(), "the folder holds no *.index.json and no *.safetensors file");
  for (const fs::path& file : files) open(file);
}

const StoredTensor* TensorFiles::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

std::string_view TensorFiles::metadata(const std::string& key) const {
  for (const SafetensorsFile& file : files_) {
    const auto found = file.header().metadata.find(key);
    if (found != file.header().metadata.end()) return found->second;
  }
  return {};
}

}  // namespace shardcheck::checkpoint
