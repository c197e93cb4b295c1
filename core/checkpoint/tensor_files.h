// Tensor files: the tensors of one safetensors file, of a folder of them, or of a JSON index, by name.
// Headers are read and checked at once, data on demand. Next: safetensors.h.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/safetensors.h"

namespace shardcheck::checkpoint {

/// A tensor and the file that holds it.
struct StoredTensor {
  const SafetensorsFile* file = nullptr;
  const TensorEntry* entry = nullptr;

  /// "model.safetensors: tensor "x"", as sentences begin.
  std::string where() const;
};

class TensorFiles {
 public:
  /// `path` is a safetensors file, a JSON index {"weight_map": {tensor: file}} whose files lie beside it, or
  /// a folder with one such index (*.index.json) or with *.safetensors files. Throws Error(bad_input) with a
  /// sentence that names file, tensor and field: everything that parse_safetensors_header refuses, files
  /// outside the folder of the index, tensors that the index names and the file lacks, tensors that a file
  /// holds and the index gives to another, or to none, names that two files of a folder hold.
  explicit TensorFiles(const std::filesystem::path& path);

  /// In the order of the data, file by file.
  std::span<const StoredTensor> tensors() const { return tensors_; }
  /// Null when there is none of that name.
  const StoredTensor* find(std::string_view name) const;
  /// Of the first file that has it; empty when none does.
  std::string_view metadata(const std::string& key) const;
  const std::filesystem::path& path() const { return path_; }
  const std::deque<SafetensorsFile>& files() const { return files_; }

 private:
  const SafetensorsFile& open(const std::filesystem::path& path);
  void open_index(const std::filesystem::path& path);
  void open_folder(const std::filesystem::path& folder);

  std::filesystem::path path_;
  std::deque<SafetensorsFile> files_;  // never moves
  std::vector<StoredTensor> tensors_;
  std::map<std::string_view, std::size_t> by_name_;
};

}  // namespace shardcheck::checkpoint
