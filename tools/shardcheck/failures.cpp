#include "tools/shardcheck/failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "core/contract/clauses.h"
#include "core/error.h"
#include "core/files.h"
#include "properties/property.h"
#include "tools/shardcheck/processes.h"

namespace shardcheck {
namespace {

namespace fs = std::filesystem;

Error cannot(const fs::path& path, std::string_view what, const std::error_code& reason) {
  return Error(ErrorKind::machine_cannot,
               fmt::format("{}: cannot {}: {}", path.string(), what, reason.message()));
}

void create(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  // Some libraries say success when a file of that name is in the way.
  if (!error && !fs::is_directory(folder)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) throw cannot(folder, "create the folder", error);
}

/// FNV-1a, 32 bits: enough to tell the failures of one folder apart.
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

/// PROPERTY.CLAUSE.BACKEND.HASH.json, or nothing.
FailureName name_in(const fs::path& file) {
  std::vector<std::string> parts(1);
  for (const char c : file.filename().string()) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  constexpr std::size_t kParts = 5;
  if (parts.size() != kParts || find_property(parts[0]) == nullptr || find_clause(parts[1]) == nullptr)
    return {};
  return {parts[0], parts[1], parts[2]};
}

}  // namespace

std::string label_of(const BackendChoice& choice) {
  std::string label = choice.backend;
  if (!choice.against.empty()) label += "-against-" + choice.against;
  if (choice.arithmetic() != BackendChoice{}.arithmetic()) label += "-" + choice.arithmetic();
  std::ranges::replace_if(
      label, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_'; }, '-');
  return label;
}

std::vector<KeptFailure> FailureFolder::list() const {
  std::vector<KeptFailure> kept;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() != ".json" || !entry->is_regular_file(ignored)) continue;
    kept.push_back({entry->path(), name_in(entry->path())});
  }
  std::ranges::sort(kept, {}, &KeptFailure::file);
  return kept;
}

fs::path FailureFolder::save(const FailureName& name, const Counterexample& failing, Kind kind) const {
  const fs::path folder = kind == Kind::given ? folder_ / "given" : folder_;
  create(folder);
  const std::string text = to_json(failing);
  const fs::path file =
      folder / fmt::format("{}.{}.{}.{:08x}.json", name.property, name.clause, name.backend, hash_of(text));
  write_text_atomically(file, text);
  return file;
}

fs::path FailureFolder::set_aside(const fs::path& file) const {
  const fs::path target = folder_ / "mended" / file.filename();
  create(target.parent_path());
  std::error_code error;
  fs::rename(file, target, error);
  if (error) throw cannot(file, "move to " + target.string(), error);
  return target;
}

std::vector<KeptFailure> kept_by_first(const FailureFolder& folder, Processes& processes) {
  std::string names;
  if (processes.is_first()) {
    for (const KeptFailure& kept : folder.list()) names += kept.file.string() + '\n';
  }
  std::vector<KeptFailure> all;
  std::istringstream lines(processes.of_first(names));
  for (std::string file; std::getline(lines, file);) all.push_back({file, name_in(file)});
  return all;
}

}  // namespace shardcheck
