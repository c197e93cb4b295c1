#include "core/checkpoint/data_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace shardcheck::checkpoint {
namespace {

std::string reason() {
  return std::generic_category().message(errno);
}

Error cannot_write(const std::filesystem::path& path) {
  return Error(ErrorKind::machine_cannot, fmt::format("{}: cannot write: {}", path.string(), reason()));
}

}  // namespace

DataFile DataFile::open(const std::filesystem::path& path) {
  DataFile file(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe must not block
  if (file.fd_ < 0) throw bad_input(path.string(), "cannot read: " + reason());
  struct stat status {};
  if (::fstat(file.fd_, &status) != 0) throw bad_input(path.string(), "cannot read: " + reason());
  if (!S_ISREG(status.st_mode)) throw bad_input(path.string(), "it is not a regular file");
  file.bytes_ = status.st_size;
  return file;
}

DataFile DataFile::create(const std::filesystem::path& path) {
  DataFile file(path, ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.fd_ < 0) throw cannot_write(path);
  return file;
}

DataFile::DataFile(DataFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), bytes_(other.bytes_) {}

DataFile::~DataFile() {
  if (fd_ >= 0) ::close(fd_);
}

void DataFile::read(std::int64_t at, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd_, into.data(), into.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw bad_input(path_.string(), "cannot read: " + reason());
    if (got == 0) {
      throw bad_input(path_.string(),
                      fmt::format("it ends at byte {}, {} bytes before the data does", at, into.size()));
    }
    into = into.subspan(static_cast<std::size_t>(got));
    at += got;
  }
}

void DataFile::append(std::span<const std::byte> from) {
  while (!from.empty()) {
    const ssize_t put = ::write(fd_, from.data(), from.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw cannot_write(path_);
    from = from.subspan(static_cast<std::size_t>(put));
    bytes_ += put;
  }
}

void DataFile::write(std::int64_t at, std::span<const std::byte> from) {
  while (!from.empty()) {
    const ssize_t put = ::pwrite(fd_, from.data(), from.size(), at);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw cannot_write(path_);
    from = from.subspan(static_cast<std::size_t>(put));
    at += put;
  }
}

void DataFile::finish() {
  if (::close(std::exchange(fd_, -1)) != 0) throw cannot_write(path_);
}

}  // namespace shardcheck::checkpoint
