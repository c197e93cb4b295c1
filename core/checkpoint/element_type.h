// Element types as safetensors spells them, with their width: wider than DType, because a file of a real
// model may hold integers and formats that shardcheck never computes with. Next: safetensors.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/tensor/dtype.h"

namespace shardcheck::checkpoint {

struct ElementType {
  std::string_view name;       ///< "BF16"
  std::int32_t bits = 0;       ///< of one element
  std::optional<DType> dtype;  ///< the type of a plan, where there is one
};

inline constexpr ElementType kElementTypes[] = {
    {"F64", 64, {}},
    {"F32", 32, DType::f32},
    {"F16", 16, DType::f16},
    {"BF16", 16, DType::bf16},
    {"F8_E4M3", 8, DType::e4m3},
    {"F8_E5M2", 8, DType::e5m2},
    {"F8_E8M0", 8, {}},
    {"F4", 4, {}},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
    {"I64", 64, {}},
    {"I32", 32, {}},
    {"I16", 16, {}},
    {"I8", 8, {}},
    {"U64", 64, {}},
    {"U32", 32, {}},
    {"U16", 16, {}},
    {"U8", 8, DType::u8},
    {"BOOL", 8, {}},
    {"C64", 64, {}},
};

/// Null when there is none of that name.
inline const ElementType* find_element_type(std::string_view name) {
  const auto* found = std::ranges::find(kElementTypes, name, &ElementType::name);
  return found == std::end(kElementTypes) ? nullptr : found;
}

/// The spelling of a type of a plan.
inline std::string_view element_type_name(DType dtype) {
  return std::ranges::find(kElementTypes, std::optional(dtype), &ElementType::dtype)->name;
}

}  // namespace shardcheck::checkpoint
