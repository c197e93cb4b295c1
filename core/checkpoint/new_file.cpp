#include "core/checkpoint/new_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace shardcheck::checkpoint {

NewFile::NewFile(std::filesystem::path place) : place_(std::move(place)) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    beside_ = fmt::format("{}.{}-{}.part", place_.string(), ::getpid(), attempt);
    std::error_code ignored;
    if (!std::filesystem::exists(std::filesystem::symlink_status(beside_, ignored))) return;
  }
  throw Error(ErrorKind::machine_cannot,
              fmt::format("{}: cannot write: {} files named like {} lie beside it; remove them",
                          place_.string(), kAttempts, beside_.filename().string()));
}

NewFile::~NewFile() {
  std::error_code ignored;
  if (!beside_.empty()) std::filesystem::remove(beside_, ignored);
}

void NewFile::put_in_place() {
  if (std::rename(beside_.c_str(), place_.c_str()) != 0)
    throw Error(ErrorKind::machine_cannot,
                fmt::format("{}: cannot write: {}", place_.string(), std::generic_category().message(errno)));
  beside_.clear();
}

}  // namespace shardcheck::checkpoint
