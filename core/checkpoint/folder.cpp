#include "core/checkpoint/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace shardcheck::checkpoint {
namespace {

namespace fs = std::filesystem;

Error cannot_write(const fs::path& path, int error) {
  return Error(ErrorKind::machine_cannot,
               fmt::format("{}: cannot write: {}", path.string(), std::generic_category().message(error)));
}

/// Without a trailing slash, whose parent would be the folder itself.
fs::path trimmed(fs::path path) {
  path = path.lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

void check_place(const fs::path& place, std::string_view mark) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(place, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) throw bad_input(place.string(), "it exists and is not a folder");
  if (fs::is_empty(place, error) || fs::exists(place / mark, error)) return;
  throw bad_input(place.string(),
                  fmt::format("the folder holds other files and no {}; name an empty or a new one", mark));
}

}  // namespace

NewFolder::NewFolder(fs::path place, std::string_view mark) : place_(trimmed(std::move(place))) {
  if (place_.empty()) throw bad_input("checkpoint", "the name of the folder is empty");
  check_place(place_, mark);
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    fs::path beside = fmt::format("{}.{}-{}.part", place_.string(), ::getpid(), attempt);
    std::error_code error;
    if (fs::create_directory(beside, error)) {
      beside_ = std::move(beside);
      return;
    }
    if (error) throw cannot_write(place_, error.value());
  }
  throw cannot_write(place_, EEXIST);
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!beside_.empty()) fs::remove_all(beside_, ignored);
}

void NewFolder::put_in_place() {
  std::error_code error;
  if (!fs::exists(place_, error)) {
    if (std::rename(beside_.c_str(), place_.c_str()) != 0) throw cannot_write(place_, errno);
    beside_.clear();
    return;
  }
  // An exchange leaves no moment without a checkpoint; afterwards the older one lies beside, and is removed.
  if (::renameat2(AT_FDCWD, beside_.c_str(), AT_FDCWD, place_.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) throw cannot_write(place_, errno);
  const std::string older = beside_.string() + ".old";  // a file system that cannot exchange
  if (std::rename(place_.c_str(), older.c_str()) != 0) throw cannot_write(place_, errno);
  if (std::rename(beside_.c_str(), place_.c_str()) != 0) {
    const int reason = errno;
    (void)std::rename(older.c_str(), place_.c_str());
    throw cannot_write(place_, reason);
  }
  beside_ = older;
}

}  // namespace shardcheck::checkpoint
