// A recorded layout as it was read: one line of a file of recorded layouts, checked field by field. Whatever
// is missing, of the wrong type or out of range is bad input with a sentence that names file, line and field.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/layout/parameter.h"
#include "core/tensor/dtype.h"

namespace shardcheck::conform {

/// A JSON value that knows its file, line and path. The value must outlive it.
class Field {
 public:
  Field(const nlohmann::json& value, std::string where, std::string path);

  /// The member of that name; bad input when this is no object or has no such member.
  Field at(const std::string& name) const;
  /// The member of that name unless it is absent or null.
  std::optional<Field> find(const std::string& name) const;
  /// The elements of an array.
  std::vector<Field> list() const;

  std::int64_t integer(std::int64_t least) const;        ///< at least `least`
  std::int32_t small_integer(std::int32_t least) const;  ///< at least `least`, at most a million
  std::vector<std::int64_t> integers(std::int64_t least) const;
  bool boolean() const;
  std::string text() const;
  DType dtype() const;  ///< "fp32", "bf16", "fp16" or "fp8" (read as e4m3: only its width matters here)

  const nlohmann::json& value() const { return *value_; }
  [[noreturn]] void reject(const std::string& expected) const;

 private:
  const nlohmann::json* value_;
  std::string where_;  ///< file and line
  std::string path_;   ///< for example params[3].shape
};

/// The input half of a line.
struct RecordedLayout {
  std::string id;
  std::string layout;
  std::int32_t world = 1;
  std::vector<std::int32_t> mesh;  ///< empty = none
  std::vector<layout::Parameter> params;
  Field config;
  Field output;
};

/// Reads the line `where`, whose value is `line`.
RecordedLayout read_recorded_layout(const nlohmann::json& line, const std::string& where);

/// Spelling of a dtype in the recorded layouts.
std::string recorded_name(DType type);

}  // namespace shardcheck::conform
