#include "core/checkpoint/sharded.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "core/checkpoint/folder.h"
#include "core/checkpoint/json_guard.h"
#include "core/checkpoint/safetensors.h"
#include "core/error.h"
#include "core/files.h"

namespace shardcheck::checkpoint {
namespace {

constexpr std::string_view kIndexName = "shardcheck.index.json";
constexpr std::int64_t kLongestIndex = 1'000'000'000;
constexpr std::int64_t kChunkBytes = std::int64_t{4} << 20;  ///< memory of a stream

/// Hands over the elements of a tensor from `element` on; from any of the threads that write.
using Source = std::function<void(std::size_t tensor, std::int64_t element, std::span<std::byte> into)>;

/// A piece of a tensor that a file holds.
struct FilePart {
  std::size_t tensor;
  SavedPiece piece;
};

std::vector<std::vector<FilePart>> parts_by_file(const ShardedIndex& index) {
  std::vector<std::vector<FilePart>> files(index.files.size());
  for (std::size_t t = 0; t < index.tensors.size(); ++t) {
    for (const SavedPiece& piece : index.tensors[t].pieces) files[piece.file].push_back({t, piece});
  }
  return files;
}

void write_shard(const std::filesystem::path& path, const ShardedIndex& index,
                 std::span<const FilePart> parts, const Source& source, std::vector<std::byte>& chunk) {
  std::vector<NewTensor> tensors;
  for (const FilePart& part : parts) {
    const SavedTensor& tensor = index.tensors[part.tensor];
    if (tensors.empty() || tensors.back().name != tensor.name)
      tensors.push_back({tensor.name, tensor.dtype, {0}});
    tensors.back().shape[0] += part.piece.hi - part.piece.lo;
  }
  SafetensorsWriter writer(path, tensors);
  for (const FilePart& part : parts) {
    const std::int64_t width = bytes_of(index.tensors[part.tensor].dtype);
    for (std::int64_t e = part.piece.lo; e < part.piece.hi;) {
      const std::int64_t count = std::min(part.piece.hi - e, kChunkBytes / width);
      const std::span<std::byte> bytes = std::span(chunk).first(static_cast<std::size_t>(count * width));
      source(part.tensor, e, bytes);
      writer.append(bytes);
      e += count;
    }
  }
  writer.finish();
}

/// Calls write(file, chunk) for every file, on `threads` threads with a chunk each. Rethrows what one threw,
/// after all have stopped.
void each_file(std::size_t files, unsigned threads,
               const std::function<void(std::size_t, std::vector<std::byte>&)>& write) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::vector<std::exception_ptr> thrown(threads);
  const auto work = [&](unsigned thread) {
    try {
      std::vector<std::byte> chunk(static_cast<std::size_t>(kChunkBytes));
      for (std::size_t f = next++; f < files && !failed; f = next++) write(f, chunk);
    } catch (...) {
      thrown[thread] = std::current_exception();
      failed = true;
    }
  };
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads; ++t) others.emplace_back(work, t);
  work(0);
  for (std::thread& other : others) other.join();
  for (const std::exception_ptr& each : thrown) {
    if (each) std::rethrow_exception(each);
  }
}

void write_checkpoint(const std::filesystem::path& folder, const ShardedIndex& index, const Source& source,
                      unsigned threads) {
  NewFolder fresh(folder, kIndexName);
  const auto files = parts_by_file(index);
  each_file(files.size(), threads, [&](std::size_t f, std::vector<std::byte>& chunk) {
    write_shard(fresh.path() / index.files[f], index, files[f], source, chunk);
  });
  write_text_atomically(fresh.path() / kIndexName, to_json(index));
  fresh.put_in_place();
}

layout::Spot spot_of(const layout::Holding& holding) {
  return {holding.buffer, holding.bucket, holding.rank, holding.off};
}

/// The parameters that are saved, in the order of the index.
std::vector<ParamId> saved_parameters(std::span<const layout::Parameter> parameters) {
  std::vector<ParamId> saved;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].tied_to) saved.push_back(ParamId{static_cast<std::int32_t>(i)});
  }
  return saved;
}

/// Where `element` lies, and the end of what lies behind it there.
std::pair<StoragePlace, std::int64_t> place_of(const layout::Ownership& ownership, ParamId param,
                                               std::int64_t element, std::int64_t replica,
                                               std::int64_t numel) {
  if (!ownership.holds(param)) return {{param, {-1, -1, Rank{0}, element}}, numel};
  const layout::Holding holding = ownership.at(param, element, replica);
  return {{param, spot_of(holding)}, holding.p_hi};
}

}  // namespace

void save_sharded(const std::filesystem::path& folder, const layout::Ownership& ownership,
                  std::span<const layout::Parameter> parameters, std::string_view layout_name,
                  const ReadStorage& read) {
  const ShardedIndex index = index_of(ownership, parameters, layout_name);
  check_index(index, "the model to save");  // names that occur twice
  const std::vector<ParamId> saved = saved_parameters(parameters);
  const Source from_storage = [&](std::size_t t, std::int64_t element, std::span<std::byte> into) {
    const std::int64_t width = bytes_of(index.tensors[t].dtype);
    const std::int64_t numel = index.tensors[t].numel();
    while (!into.empty()) {
      const auto [place, end] = place_of(ownership, saved[t], element, 0, numel);
      const std::int64_t count = std::min(end - element, std::ssize(into) / width);
      read(place, into.first(static_cast<std::size_t>(count * width)));
      into = into.subspan(static_cast<std::size_t>(count * width));
      element += count;
    }
  };
  write_checkpoint(folder, index, from_storage, 1);  // `read` is the caller's
}

/// One file: its checked header, and its tensors by name.
struct ShardedCheckpoint::Shard {
  std::filesystem::path path;
  SafetensorsHeader header;
  std::map<std::string_view, const TensorEntry*> by_name;
};

ShardedCheckpoint::~ShardedCheckpoint() = default;

ShardedCheckpoint::ShardedCheckpoint(const std::filesystem::path& folder) : folder_(folder) {
  const std::filesystem::path index_path = folder / kIndexName;
  index_ = parse_index(read_text(index_path, kLongestIndex), index_path.string());
  for (std::size_t t = 0; t < index_.tensors.size(); ++t) by_name_.emplace(index_.tensors[t].name, t);
  const auto files = parts_by_file(index_);
  shards_.reserve(files.size());
  for (std::size_t f = 0; f < files.size(); ++f) {
    Shard& shard = shards_.emplace_back();
    const SafetensorsFile file(folder / index_.files[f]);
    shard.path = file.path();
    shard.header = file.header();
    for (const TensorEntry& entry : shard.header.tensors) shard.by_name[entry.name] = &entry;
    std::map<std::size_t, std::int64_t> held;
    for (const FilePart& part : files[f]) held[part.tensor] += part.piece.hi - part.piece.lo;
    for (const auto& [t, numel] : held) {
      const SavedTensor& tensor = index_.tensors[t];
      const std::string where = shard.path.string() + ": tensor " + shown(tensor.name);
      const auto found = shard.by_name.find(tensor.name);
      if (found == shard.by_name.end()) {
        throw bad_input(where,
                        fmt::format("the index places {} elements here, but the file lacks it", numel));
      }
      const TensorEntry& entry = *found->second;
      if (entry.type.dtype != tensor.dtype) throw bad_input(where + ": dtype", "it differs from the index");
      if (entry.shape.size() != 1 || entry.numel != numel) {
        throw bad_input(where + ": shape",
                        fmt::format("{} elements, but the index places {} here", entry.numel, numel));
      }
    }
    if (held.size() == shard.header.tensors.size()) continue;
    throw bad_input(shard.path.string(), fmt::format("it holds {} tensors, but the index places {} here",
                                                     shard.header.tensors.size(), held.size()));
  }
}

const SavedTensor& ShardedCheckpoint::tensor_of(const layout::Parameter& parameter) const {
  const auto named = by_name_.find(parameter.name);
  const std::string where = folder_.string() + ": tensor " + shown(parameter.name);
  if (named == by_name_.end()) throw bad_input(where, "the checkpoint does not hold it");
  const SavedTensor* found = &index_.tensors[named->second];
  if (found->dtype != parameter.dtype) {
    throw bad_input(where + ": dtype", fmt::format("saved as {}, asked for as {}", name_of(found->dtype),
                                                   name_of(parameter.dtype)));
  }
  if (found->shape != parameter.shape) {
    throw bad_input(where + ": shape",
                    fmt::format("saved as [{}], asked for as [{}]", fmt::join(found->shape, ", "),
                                fmt::join(parameter.shape, ", ")));
  }
  return *found;
}

void ShardedCheckpoint::read(const SavedTensor& tensor, std::int64_t element,
                             std::span<std::byte> into) const {
  const std::int64_t width = bytes_of(tensor.dtype);
  auto piece = std::ranges::upper_bound(tensor.pieces, element, {}, &SavedPiece::lo) - 1;
  for (; !into.empty(); ++piece) {
    const std::int64_t count = std::min(piece->hi - element, std::ssize(into) / width);
    const Shard& shard = shards_[piece->file];
    const std::int64_t at = (piece->at + element - piece->lo) * width;
    const DataFile file =
        DataFile::open(shard.path);  // open for one read, so 100,000 ranks need no descriptors
    file.read(shard.header.data_start + shard.by_name.at(tensor.name)->begin + at,
              into.first(static_cast<std::size_t>(count * width)));
    into = into.subspan(static_cast<std::size_t>(count * width));
    element += count;
  }
}

void ShardedCheckpoint::load(const layout::Ownership& ownership,
                             std::span<const layout::Parameter> parameters, const WriteStorage& write) const {
  const std::vector<ParamId> wanted = saved_parameters(parameters);
  std::vector<const SavedTensor*> tensors;
  for (const ParamId param : wanted) tensors.push_back(&tensor_of(parameters[param.value]));
  std::vector<std::byte> chunk(static_cast<std::size_t>(kChunkBytes));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::int64_t width = bytes_of(tensors[i]->dtype);
    const std::int64_t numel = tensors[i]->numel();
    const std::int64_t replicas = ownership.holds(wanted[i]) ? ownership.replicas(wanted[i]) : 1;
    for (std::int64_t replica = 0; replica < replicas; ++replica) {
      for (std::int64_t element = 0; element < numel;) {
        const auto [place, end] = place_of(ownership, wanted[i], element, replica, numel);
        const std::int64_t count = std::min(end - element, kChunkBytes / width);
        const std::span<std::byte> bytes = std::span(chunk).first(static_cast<std::size_t>(count * width));
        read(*tensors[i], element, bytes);
        write(place, bytes);
        element += count;
      }
    }
  }
}

void ShardedCheckpoint::reshard(const std::filesystem::path& folder, const layout::Ownership& ownership,
                                std::span<const layout::Parameter> parameters,
                                std::string_view layout_name) const {
  std::vector<const SavedTensor*> tensors;
  for (const ParamId param : saved_parameters(parameters))
    tensors.push_back(&tensor_of(parameters[param.value]));
  const ShardedIndex index = index_of(ownership, parameters, layout_name);
  check_index(index, "the model to save");
  const Source from_files = [&](std::size_t t, std::int64_t element, std::span<std::byte> into) {
    read(*tensors[t], element, into);
  };
  constexpr unsigned kMostThreads = 8;  // more only fight for the disk
  write_checkpoint(folder, index, from_files,
                   std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads));
}

}  // namespace shardcheck::checkpoint
