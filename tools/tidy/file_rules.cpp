#include "tools/tidy/file_rules.h"

#include <algorithm>

namespace shardcheck::tidy {
namespace {

constexpr std::size_t kLongestFile = 500;

constexpr std::string_view kFoldersWithHeaders[] = {"core", "backends", "sim", "properties",
                                                    "tools/shardcheck"};
constexpr std::string_view kNeedNoHeader[] = {"main.cpp", "no_cuda.cpp"};
constexpr std::string_view kVagueWords[] = {"util", "utils", "helper", "helpers", "common", "manager"};
constexpr std::string_view kTopEntries[] = {"CMakeLists.txt",
                                            "CMakePresets.json",
                                            "README.md",
                                            "LICENSE",
                                            "core",
                                            "backends",
                                            "sim",
                                            "properties",
                                            "tests",
                                            "tools"};

/// The files for which forbidden(file) holds.
template <class Forbidden>
Offences files_where(const Tree& tree, Forbidden forbidden) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (forbidden(file)) offences.push_back({file.path, 0, ""});
  }
  return offences;
}

bool has_header_in(const Tree& tree, std::string_view folder) {
  return std::ranges::any_of(tree.files, [&](const SourceFile& file) {
    return is_header(file.path) && folder_of(file.path) == folder;
  });
}

/// True when `cmake` (a CMakeLists.txt) lists `name`, alone or behind a variable for the folder:
/// ${folder}/name.
bool lists(const SourceFile& cmake, std::string_view name) {
  constexpr std::string_view separators = " \t()\"";
  return std::ranges::any_of(cmake.lines, [&](std::string_view line) {
    line = line.substr(0, line.find('#'));
    for (auto at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1)) {
      const std::string_view before = line.substr(0, at), after = line.substr(at + name.size());
      const bool begins =
          before.empty() || before.ends_with("}/") || separators.find(before.back()) != separators.npos;
      const bool ends = after.empty() || separators.find(after.front()) != separators.npos;
      if (begins && ends) return true;
    }
    return false;
  });
}

/// True when the CMakeLists.txt of the file's folder, or of a folder above it, lists the file by its path
/// from there.
bool is_listed(const Tree& tree, std::string_view path) {
  for (std::string_view folder = folder_of(path); !folder.empty(); folder = folder_of(folder)) {
    const SourceFile* cmake = find_file(tree, std::string(folder) + "/CMakeLists.txt");
    if (cmake != nullptr && lists(*cmake, path.substr(folder.size() + 1))) return true;
  }
  return false;
}

/// True when a word of the path, between '/', '_', '-' and '.', is one of the vague ones.
bool has_vague_word(std::string_view path) {
  while (!path.empty()) {
    const auto end = std::min(path.find_first_of("/_-."), path.size());
    if (std::ranges::find(kVagueWords, path.substr(0, end)) != std::end(kVagueWords)) return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

}  // namespace

Offences long_files(const Tree& tree) {
  return files_where(tree, [](const SourceFile& file) {
    return (is_header(file.path) || is_translation_unit(file.path)) && file.lines.size() > kLongestFile;
  });
}

Offences sources_without_header(const Tree& tree) {
  return files_where(tree, [&](const SourceFile& file) {
    const auto holds = [&](std::string_view folder) { return is_inside(file.path, folder); };
    if (!is_translation_unit(file.path) || std::ranges::none_of(kFoldersWithHeaders, holds)) return false;
    if (std::ranges::find(kNeedNoHeader, base_name_of(file.path)) != std::end(kNeedNoHeader)) return false;
    return !has_header_in(tree, folder_of(file.path));
  });
}

Offences unlisted_sources(const Tree& tree) {
  return files_where(tree, [&](const SourceFile& file) {
    return is_translation_unit(file.path) && !is_listed(tree, file.path);
  });
}

Offences vague_names(const Tree& tree) {
  return files_where(tree, [](const SourceFile& file) { return has_vague_word(file.path); });
}

Offences unknown_top_entries(const Tree& tree) {
  Offences offences;
  for (const std::string& name : tree.top_entries) {
    if (std::ranges::find(kTopEntries, name) == std::end(kTopEntries)) offences.push_back({name, 0, ""});
  }
  return offences;
}

}  // namespace shardcheck::tidy
