// DataFile: an open file that is read at any place or written from front to back, every failure being an
// Error that names the path. No position is shared, so one file may serve several readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace shardcheck::checkpoint {

class DataFile {
 public:
  /// Opens a regular file. Throws Error(bad_input).
  static DataFile open(const std::filesystem::path& path);
  /// Creates a file that does not exist yet. Throws Error(machine_cannot).
  static DataFile create(const std::filesystem::path& path);

  DataFile(DataFile&& other) noexcept;
  DataFile& operator=(DataFile&&) = delete;
  ~DataFile();

  const std::filesystem::path& path() const { return path_; }
  std::int64_t bytes() const { return bytes_; }

  /// Fills `into` from that place. Throws Error(bad_input) when the file ends before.
  void read(std::int64_t at, std::span<std::byte> into) const;

  /// Appends. Throws Error(machine_cannot), for example on a full disk.
  void append(std::span<const std::byte> from);

  /// Writes at that place, from any thread, without moving where append() goes on. Throws
  /// Error(machine_cannot).
  void write(std::int64_t at, std::span<const std::byte> from);

  /// Closes after writing; only then is it known that all of it was taken. Throws Error(machine_cannot).
  void finish();

 private:
  DataFile(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::filesystem::path path_;
  int fd_ = -1;
  std::int64_t bytes_ = 0;
};

}  // namespace shardcheck::checkpoint
