#include "tools/tidy/tree.h"

#include <algorithm>
#include <fstream>
#include <set>

namespace shardcheck::tidy {
namespace {

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  return lines;
}

/// The plain names in .gitignore. It holds no patterns, and a pattern would match no entry here.
std::set<std::string> ignored_names(const std::filesystem::path& root) {
  std::set<std::string> names;
  for (const std::string& line : lines_of(root / ".gitignore")) {
    const auto begin = line.find_first_not_of('/');
    const auto end = line.find_last_not_of('/');
    if (begin != std::string::npos) names.insert(line.substr(begin, end - begin + 1));
  }
  return names;
}

void read_folder(const std::filesystem::path& root, const std::filesystem::path& folder, Tree& tree) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    SourceFile file{.path = entry.path().lexically_relative(root).generic_string(), .lines = {}};
    if (!is_inside(file.path, "tests/data")) file.lines = lines_of(entry.path());
    tree.files.push_back(std::move(file));
  }
}

}  // namespace

Tree read_tree(const std::filesystem::path& root) {
  Tree tree;
  const auto ignored = ignored_names(root);
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') || ignored.contains(name)) continue;
    tree.top_entries.push_back(name);
    if (entry.is_directory()) {
      read_folder(root, entry.path(), tree);
    } else {
      tree.files.push_back({.path = name, .lines = lines_of(entry.path())});
    }
  }
  std::ranges::sort(tree.top_entries);
  std::ranges::sort(tree.files, {}, &SourceFile::path);
  return tree;
}

const SourceFile* find_file(const Tree& tree, std::string_view path) {
  const auto found = std::ranges::find(tree.files, path, &SourceFile::path);
  return found == tree.files.end() ? nullptr : &*found;
}

std::string_view folder_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

std::string_view base_name_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view room_of(std::string_view path) {
  return path.substr(0, path.find('/'));
}

bool is_inside(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

bool is_header(std::string_view path) {
  return path.ends_with(".h") || path.ends_with(".cuh");
}

bool is_translation_unit(std::string_view path) {
  return path.ends_with(".cpp") || path.ends_with(".cu");
}

}  // namespace shardcheck::tidy
