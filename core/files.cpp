#include "core/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "core/error.h"

namespace shardcheck {
namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

/// Owns an open file; -1 when opening failed.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  /// The error of close, or 0: a full disk may show only here.
  int close() {
    const int fd = fd_;
    fd_ = -1;
    return fd >= 0 && ::close(fd) != 0 ? errno : 0;
  }

 private:
  int fd_;
};

Error cannot_write(const std::filesystem::path& path, int error) {
  return Error(ErrorKind::machine_cannot, fmt::format("{}: cannot write: {}", path.string(), reason(error)));
}

/// Writes all of it and closes the file. Returns the error, or 0.
int write_and_close(Descriptor& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return file.close();
}

/// True for a pipe, socket or device, which renaming would replace.
bool is_written_in_place(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

/// A name beside `path` that other processes do not use; other threads of this one find it taken.
std::string name_beside(const std::filesystem::path& path, int attempt) {
  return fmt::format("{}.{}-{}.part", path.string(), ::getpid(), attempt);
}

}  // namespace

std::string read_text(const std::filesystem::path& path, std::int64_t max_bytes) {
  const auto fail = [&](int error) {
    return bad_input(path.string(), fmt::format("cannot read: {}", reason(error)));
  };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) throw fail(errno);
  std::string text, chunk(std::size_t{1} << 16, '\0');
  while (true) {
    const ssize_t got = ::read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw fail(errno);
    if (got == 0) return text;
    text.append(chunk, 0, static_cast<std::size_t>(got));
    if (std::ssize(text) > max_bytes)
      throw bad_input(path.string(),
                      fmt::format("the file is larger than {} bytes, the most that is read", max_bytes));
  }
}

void write_text_atomically(const std::filesystem::path& path, std::string_view text) {
  if (is_written_in_place(path)) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.is_open()) throw cannot_write(path, errno);
    if (const int error = write_and_close(file, text)) throw cannot_write(path, error);
    return;
  }
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string beside = name_beside(path, attempt);
    Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file.is_open() && errno == EEXIST) continue;
    if (!file.is_open()) throw cannot_write(path, errno);
    int error = write_and_close(file, text);
    if (error == 0 && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
    if (error == 0) return;
    ::unlink(beside.c_str());
    throw cannot_write(path, error);
  }
  throw cannot_write(path, EEXIST);
}

}  // namespace shardcheck
