#include "core/checkpoint/sharded_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/checkpoint/element_type.h"
#include "core/checkpoint/json_guard.h"
#include "core/error.h"

namespace shardcheck::checkpoint {
namespace {

constexpr std::string_view kFormat = "shardcheck-sharded-checkpoint-1";

/// Those of the layout. An ownership that contradicts it, such as a law judges, may name more.
std::int32_t ranks_of(const layout::Layout& layout, std::span<const SavedTensor> tensors) {
  std::int32_t ranks = 1;
  for (const layout::Buffer& buffer : layout.buffers) ranks = std::max(ranks, buffer.world);
  for (const SavedTensor& tensor : tensors) {
    for (const SavedPiece& piece : tensor.pieces) ranks = std::max(ranks, piece.file + 1);
  }
  return ranks;
}

std::vector<SavedPiece> pieces_of(const layout::Ownership& ownership, ParamId param) {
  std::vector<SavedPiece> pieces;
  const std::int64_t numel = ownership.numel(param);
  for (std::int64_t element = 0; element < numel;) {
    const layout::Holding holding = ownership.at(param, element, 0);
    const std::int32_t file = holding.rank.value;
    if (!pieces.empty() && pieces.back().file == file) {
      pieces.back().hi = holding.p_hi;
    } else {
      pieces.push_back({file, element, holding.p_hi, 0});
    }
    element = holding.p_hi;
  }
  return pieces;
}

/// Lays the pieces of each file end to end.
void place(SavedTensor& tensor, std::vector<std::int64_t>& cursor) {
  for (const SavedPiece& piece : tensor.pieces) cursor[piece.file] = 0;
  for (SavedPiece& piece : tensor.pieces) {
    piece.at = cursor[piece.file];
    cursor[piece.file] += piece.hi - piece.lo;
  }
}

void check_tensor(const SavedTensor& tensor, std::size_t files, std::vector<std::int64_t>& cursor,
                  const std::string& where) {
  const std::string field = where + ": tensor " + shown(tensor.name) + ": pieces";
  std::int64_t next = 0;
  for (const SavedPiece& piece : tensor.pieces) {
    if (piece.file < 0 || piece.file >= static_cast<std::int64_t>(files)) {
      throw bad_input(field, fmt::format("file {} of {} does not exist", piece.file, files));
    }
    cursor[piece.file] = 0;
    if (piece.lo >= piece.hi)
      throw bad_input(field, fmt::format("elements {} to {} are none", piece.lo, piece.hi));
    if (piece.lo != next) {
      throw bad_input(field, piece.lo < next ? fmt::format("element {} is saved twice", piece.lo)
                                             : fmt::format("nobody saved elements {} to {}", next, piece.lo));
    }
    next = piece.hi;
  }
  if (next != tensor.numel()) {
    throw bad_input(field,
                    next < tensor.numel()
                        ? fmt::format("nobody saved elements {} to {}", next, tensor.numel())
                        : fmt::format("it ends at {}, but the tensor has {} elements", next, tensor.numel()));
  }
  for (const SavedPiece& piece : tensor.pieces) {
    if (piece.at != cursor[piece.file]) {
      throw bad_input(field, fmt::format("elements {} to {} are at {} of file {}, which is filled up to {}",
                                         piece.lo, piece.hi, piece.at, piece.file, cursor[piece.file]));
    }
    cursor[piece.file] += piece.hi - piece.lo;
  }
}

SavedTensor read_tensor(const std::string& name, const JsonValue& value, const std::string& where) {
  const std::string tensor = where + ": tensor " + shown(name);
  SavedTensor saved{.name = name};
  const std::string& dtype = text_in(member(value, "dtype", tensor), tensor + ": dtype");
  const ElementType* type = find_element_type(dtype);
  if (type == nullptr || !type->dtype) throw bad_input(tensor + ": dtype", shown(dtype) + " is not known");
  saved.dtype = *type->dtype;
  saved.shape = extents_in(member(value, "shape", tensor), tensor + ": shape").shape;
  const std::string field = tensor + ": pieces";
  for (const JsonValue& piece : member(value, "pieces", tensor).items) {
    if (piece.items.size() != 4) throw bad_input(field, "each piece must be [file, lo, hi, at]");
    const std::int64_t file = size_in(piece.items[0], field);
    if (file > INT32_MAX) throw bad_input(field, fmt::format("file {} does not exist", file));
    saved.pieces.push_back({static_cast<std::int32_t>(file), size_in(piece.items[1], field),
                            size_in(piece.items[2], field), size_in(piece.items[3], field)});
  }
  return saved;
}

}  // namespace

std::int64_t SavedTensor::numel() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;  // extents_in or Parameter::numel bounds it
  return product;
}

ShardedIndex index_of(const layout::Ownership& ownership, std::span<const layout::Parameter> parameters,
                      std::string_view layout_name) {
  ShardedIndex index{.layout = std::string(layout_name)};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParamId param{static_cast<std::int32_t>(i)};
    const layout::Parameter& parameter = parameters[i];
    if (parameter.tied_to) continue;
    SavedTensor& tensor =
        index.tensors.emplace_back(SavedTensor{parameter.name, parameter.dtype, parameter.shape, {}});
    if (ownership.holds(param)) {
      tensor.pieces = pieces_of(ownership, param);
    } else if (const std::int64_t numel = parameter.numel(); numel > 0) {
      tensor.pieces.push_back({0, 0, numel, 0});
    }
  }
  const std::int32_t ranks = ranks_of(ownership.layout(), index.tensors);
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    index.files.push_back(fmt::format("rank-{:05}-of-{:05}.safetensors", rank, ranks));
  std::vector<std::int64_t> cursor(static_cast<std::size_t>(ranks), 0);
  for (SavedTensor& tensor : index.tensors) place(tensor, cursor);
  return index;
}

std::int64_t held_in(const SavedTensor& tensor, std::int32_t file) {
  std::int64_t held = 0;
  for (const SavedPiece& piece : tensor.pieces) held += piece.file == file ? piece.hi - piece.lo : 0;
  return held;
}

void check_index(const ShardedIndex& index, const std::string& where) {
  std::set<std::string_view> names, files;
  for (const std::string& file : index.files) {
    if (!files.insert(file).second) throw bad_input(where + ": files", shown(file) + " occurs twice");
  }
  std::vector<std::int64_t> cursor(index.files.size(), 0);
  for (const SavedTensor& tensor : index.tensors) {
    if (!names.insert(tensor.name).second) {
      throw bad_input(where + ": tensor " + shown(tensor.name), "it occurs twice");
    }
    check_tensor(tensor, index.files.size(), cursor, where);
  }
}

std::string to_json(const ShardedIndex& index) {
  nlohmann::json json = {{"format", kFormat}, {"layout", index.layout}, {"files", index.files}};
  nlohmann::json& tensors = json["tensors"] = nlohmann::json::object();
  for (const SavedTensor& tensor : index.tensors) {
    nlohmann::json pieces = nlohmann::json::array();
    for (const SavedPiece& p : tensor.pieces) pieces.push_back({p.file, p.lo, p.hi, p.at});
    tensors[tensor.name] = {
        {"dtype", element_type_name(tensor.dtype)}, {"shape", tensor.shape}, {"pieces", std::move(pieces)}};
  }
  return json.dump(1);
}

ShardedIndex parse_index(std::string_view text, const std::string& where) {
  constexpr int kMostDepth = 5;  // index, tensors, a tensor, its pieces, a piece
  const JsonValue json = parse_object(text, where, kMostDepth);
  const std::string& format = text_in(member(json, "format", where), where + ": format");
  if (format != kFormat)
    throw bad_input(where + ": format", shown(format) + " is not " + std::string(kFormat));
  ShardedIndex index{.layout = text_in(member(json, "layout", where), where + ": layout")};
  for (const JsonValue& file : member(json, "files", where).items) {
    const std::string& name = text_in(file, where + ": files");
    if (!name.ends_with(".safetensors") || name.find('/') != std::string::npos) {
      throw bad_input(where + ": files",
                      shown(name) + " is not the name of a safetensors file beside the index");
    }
    index.files.push_back(name);
  }
  const JsonValue& tensors = member(json, "tensors", where);
  if (!tensors.is(JsonValue::Kind::object)) throw bad_input(where + ": tensors", "it must be an object");
  for (const auto& [name, value] : tensors.members) index.tensors.push_back(read_tensor(name, value, where));
  check_index(index, where);
  return index;
}

}  // namespace shardcheck::checkpoint
