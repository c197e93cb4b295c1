#include "core/checkpoint/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/assert.h"
#include "core/checkpoint/json_guard.h"
#include "core/error.h"
#include "core/integers.h"

namespace shardcheck::checkpoint {
namespace {

using nlohmann::json;

constexpr std::int64_t kPrefix = 8;

/// Bytes of `numel` elements, or -1 when they do not fill whole bytes or do not fit 63 bits.
std::int64_t bytes_of_elements(const ElementType& type, std::int64_t numel) {
  const auto bits = checked_multiply(numel, type.bits);
  return bits && *bits % 8 == 0 ? *bits / 8 : -1;
}

TensorEntry read_entry(const std::string& name, const JsonValue& value, const std::string& where,
                       std::int64_t data_bytes) {
  TensorEntry entry{.name = name};
  const std::string tensor = where + ": tensor " + shown(name);
  const std::string& dtype = text_in(member(value, "dtype", tensor), tensor + ": dtype");
  const ElementType* type = find_element_type(dtype);
  if (type == nullptr) throw bad_input(tensor + ": dtype", shown(dtype) + " is not known");
  entry.type = *type;
  Extents extents = extents_in(member(value, "shape", tensor), tensor + ": shape");
  entry.shape = std::move(extents.shape);
  entry.numel = extents.numel;
  const JsonValue& offsets = member(value, "data_offsets", tensor);
  const std::string field = tensor + ": data_offsets";
  if (offsets.items.size() != 2) throw bad_input(field, "it must be a pair [begin, end]");
  entry.begin = size_in(offsets.items[0], field);
  entry.end = size_in(offsets.items[1], field);
  if (entry.begin > entry.end) {
    throw bad_input(field, fmt::format("begin {} is behind end {}", entry.begin, entry.end));
  }
  if (entry.end > data_bytes) {
    throw bad_input(field,
                    fmt::format("end {} is behind the data, which has {} bytes; the file is truncated or "
                                "the header is wrong",
                                entry.end, data_bytes));
  }
  const std::int64_t expected = bytes_of_elements(entry.type, entry.numel);
  if (expected != entry.end - entry.begin) {
    throw bad_input(field, fmt::format("{} bytes, but dtype {} and shape [{}] make {}",
                                       entry.end - entry.begin, dtype, fmt::join(entry.shape, ", "),
                                       expected < 0 ? "no whole number of bytes" : std::to_string(expected)));
  }
  return entry;
}

/// The format asks for data without overlaps and without holes.
void check_tiling(const SafetensorsHeader& header, const std::string& where) {
  std::int64_t next = 0;
  for (const TensorEntry& entry : header.tensors) {
    if (entry.begin != next) {
      throw bad_input(
          where + ": tensor " + shown(entry.name) + ": data_offsets",
          entry.begin < next
              ? fmt::format("begin {} lies inside the tensor before it, which ends at {}", entry.begin, next)
              : fmt::format("the bytes from {} to begin {} belong to no tensor", next, entry.begin));
    }
    next = entry.end;
  }
  if (next != header.data_bytes) {
    throw bad_input(where, fmt::format("the tensors end at byte {} of the data, which has {} bytes", next,
                                       header.data_bytes));
  }
}

std::int64_t header_length(const DataFile& file) {
  if (file.bytes() < kPrefix) {
    throw bad_input(
        file.path().string(),
        fmt::format("{} bytes are no safetensors file; the header's length alone takes 8", file.bytes()));
  }
  std::array<std::byte, kPrefix> prefix{};
  file.read(0, prefix);
  std::uint64_t length = 0;
  for (std::size_t i = prefix.size(); i-- > 0;)
    length = length << 8 | std::to_integer<std::uint64_t>(prefix[i]);
  if (length > static_cast<std::uint64_t>(kLongestHeader)) {
    throw bad_input(
        file.path().string(),
        fmt::format("the header's length is {} bytes; at most {} are allowed", length, kLongestHeader));
  }
  if (static_cast<std::int64_t>(length) > file.bytes() - kPrefix) {
    throw bad_input(file.path().string(), fmt::format("the header's length is {} bytes, but only {} follow",
                                                      length, file.bytes() - kPrefix));
  }
  return static_cast<std::int64_t>(length);
}

SafetensorsHeader header_of(const DataFile& file) {
  const std::int64_t length = header_length(file);
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(kPrefix, std::as_writable_bytes(std::span(text)));
  SafetensorsHeader header =
      parse_safetensors_header(text, file.path().string(), file.bytes() - kPrefix - length);
  header.data_start = kPrefix + length;
  return header;
}

}  // namespace

const TensorEntry* SafetensorsHeader::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &TensorEntry::name);
  return found == tensors.end() ? nullptr : &*found;
}

SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& where,
                                           std::int64_t data_bytes) {
  constexpr int kMostDepth = 3;  // the header, a tensor, its shape
  const JsonValue parsed = parse_object(text, where, kMostDepth);
  SafetensorsHeader header{.data_bytes = data_bytes};
  for (const auto& [name, value] : parsed.members) {
    if (name == "__metadata__") {
      if (!value.is(JsonValue::Kind::object)) {
        throw bad_input(where + ": __metadata__", "it must be an object of strings");
      }
      for (const auto& [key, entry] : value.members) {
        header.metadata[key] = text_in(entry, where + ": __metadata__: " + shown(key));
      }
      continue;
    }
    header.tensors.push_back(read_entry(name, value, where, data_bytes));
  }
  std::ranges::sort(header.tensors, [](const TensorEntry& a, const TensorEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  check_tiling(header, where);
  return header;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : file_(DataFile::open(path)), header_(header_of(file_)) {}

void SafetensorsFile::read(const TensorEntry& tensor, std::int64_t at, std::span<std::byte> into) const {
  SC_ASSERT(at >= 0 && at + std::ssize(into) <= tensor.end - tensor.begin, "a read outside its tensor");
  file_.read(header_.data_start + tensor.begin + at, into);
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::span<const NewTensor> tensors)
    : SafetensorsWriter(path, tensors, {}) {}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::span<const NewTensor> tensors,
                                     const std::map<std::string, std::string>& metadata)
    : file_(DataFile::create(path)) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t cursor = 0;
  for (const NewTensor& tensor : tensors) {
    const ElementType type = tensor.type ? *tensor.type : *find_element_type(element_type_name(tensor.dtype));
    std::int64_t numel = 1;
    for (const std::int64_t extent : tensor.shape) {
      const auto product = checked_multiply(numel, extent);
      SC_ASSERT(product.has_value(), "a tensor to write does not fit 63 bits of elements");
      numel = *product;
    }
    const std::int64_t bytes = bytes_of_elements(type, numel);
    SC_ASSERT(bytes >= 0, "a tensor to write is no whole number of bytes");
    header[tensor.name] = {
        {"dtype", type.name}, {"shape", tensor.shape}, {"data_offsets", {cursor, cursor + bytes}}};
    begins_.push_back(cursor);
    cursor += bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the data of the first tensor starts aligned
  std::array<std::byte, kPrefix> prefix{};
  for (std::size_t i = 0; i < prefix.size(); ++i) prefix[i] = std::byte(text.size() >> 8 * i & 0xff);
  file_.append(prefix);
  file_.append(std::as_bytes(std::span(text)));
  for (std::int64_t& begin : begins_) begin += file_.bytes();
  missing_ = cursor;
}

void SafetensorsWriter::append(std::span<const std::byte> data) {
  file_.append(data);
  missing_ -= std::ssize(data);
}

void SafetensorsWriter::write(Place place, std::span<const std::byte> data) {
  file_.write(begins_[place.tensor] + place.at, data);
  missing_ -= std::ssize(data);
}

void SafetensorsWriter::finish() {
  SC_ASSERT(missing_ == 0, "the data is not what the header announced");
  file_.finish();
}

}  // namespace shardcheck::checkpoint
