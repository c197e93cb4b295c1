// safetensors: files of named tensors. The header is read and checked against the file's length before any
// byte of data is believed; data is read on demand. Format: 8 bytes little-endian header length, a JSON
// object name -> {dtype, shape, data_offsets}, then the data without holes. Next: model_files.h, sharded.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/data_file.h"
#include "core/checkpoint/element_type.h"

namespace shardcheck::checkpoint {

/// One tensor of a file.
struct TensorEntry {
  std::string name;
  ElementType type;
  std::vector<std::int64_t> shape;
  std::int64_t numel = 0;
  std::int64_t begin = 0, end = 0;  ///< bytes from the start of the data
};

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  ///< ascending by begin
  std::map<std::string, std::string> metadata;
  std::int64_t data_start = 0;  ///< byte of the file
  std::int64_t data_bytes = 0;

  /// Null when there is none of that name. Linear.
  const TensorEntry* find(std::string_view name) const;
};

/// The longest header that is read: 100 MB, the limit of the format's own reader.
inline constexpr std::int64_t kLongestHeader = 100'000'000;

/// Checks the JSON of a header against `data_bytes` bytes of data. Throws Error(bad_input) that names
/// `where`, the tensor and the field: unknown dtypes, negative or overflowing extents, offsets beyond the
/// data, lengths that are not dtype times shape, overlaps, holes, duplicate names.
SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& where,
                                           std::int64_t data_bytes);

/// A file whose header has been checked.
class SafetensorsFile {
 public:
  /// Throws Error(bad_input).
  explicit SafetensorsFile(const std::filesystem::path& path);
  const SafetensorsHeader& header() const { return header_; }
  const std::filesystem::path& path() const { return file_.path(); }

  /// Fills `into` from byte `at` of the tensor's data. Throws Error(bad_input) when the file shrank
  /// meanwhile.
  void read(const TensorEntry& tensor, std::int64_t at, std::span<std::byte> into) const;

 private:
  DataFile file_;
  SafetensorsHeader header_;
};

/// What a new file will hold; `begin` and `end` are computed from dtype and shape.
struct NewTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::optional<ElementType> type = {};  ///< instead of dtype, where a plan may have no such type
};

/// Writes the header at once and takes the data in the order of `tensors`, or in any order by place.
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::filesystem::path& path, std::span<const NewTensor> tensors);
  /// With what the header says of the file.
  SafetensorsWriter(const std::filesystem::path& path, std::span<const NewTensor> tensors,
                    const std::map<std::string, std::string>& metadata);
  void append(std::span<const std::byte> data);

  /// Where a byte of the data belongs.
  struct Place {
    std::size_t tensor = 0;  ///< position among the tensors
    std::int64_t at = 0;     ///< byte of it
  };
  /// From any thread, every byte once. A file is appended to or written by place.
  void write(Place place, std::span<const std::byte> data);

  /// Asserts that exactly the announced bytes were written. Throws Error(machine_cannot).
  void finish();

 private:
  DataFile file_;
  std::vector<std::int64_t> begins_;  ///< bytes of the file
  std::atomic<std::int64_t> missing_ = 0;
};

}  // namespace shardcheck::checkpoint
