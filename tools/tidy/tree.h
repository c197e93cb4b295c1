// Tree: the files of the checkout as the tidy rules see them, which is paths and lines and nothing of C++.
// Paths are relative to the root and use '/'. Next: tools/tidy/rules.h.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace shardcheck::tidy {

struct SourceFile {
  std::string path;
  std::vector<std::string> lines;  ///< empty for files under tests/data, which are read by nobody here
};

struct Tree {
  std::vector<SourceFile> files;         ///< sorted by path
  std::vector<std::string> top_entries;  ///< names of the root folder, sorted
};

/// Reads the checkout at `root`. Dot entries and the names in its .gitignore are left out.
Tree read_tree(const std::filesystem::path& root);

/// The file of that path, or null.
const SourceFile* find_file(const Tree& tree, std::string_view path);

/// "core/plan/op.h" -> "core/plan"; "README.md" -> "".
std::string_view folder_of(std::string_view path);
/// "core/plan/op.h" -> "op.h".
std::string_view base_name_of(std::string_view path);
/// "core/plan/op.h" -> "core"; "README.md" -> "README.md".
std::string_view room_of(std::string_view path);
/// True when `path` lies in `folder`, at any depth.
bool is_inside(std::string_view path, std::string_view folder);
/// .h and .cuh
bool is_header(std::string_view path);
/// .cpp and .cu
bool is_translation_unit(std::string_view path);

}  // namespace shardcheck::tidy
