#include "properties/fingerprint/fact.h"

#include <fmt/format.h>

#include "core/numerics/same_code.h"

namespace shardcheck {

std::string hex(DType type, std::uint32_t code) {
  return fmt::format("0x{:0{}x}", code, 2 * bytes_of(type));
}

CodeList code_list(std::string name, DType type, std::span<const std::byte> bytes) {
  CodeList list{std::move(name), std::string(name_of(type)), {}};
  for (std::int64_t i = 0; i < std::ssize(bytes) / bytes_of(type); ++i)
    list.codes.push_back(hex(type, code_at(type, bytes, i)));
  return list;
}

CodeList code_list(std::string name, DType type, std::span<const std::uint32_t> codes) {
  CodeList list{std::move(name), std::string(name_of(type)), {}};
  for (const std::uint32_t code : codes) list.codes.push_back(hex(type, code));
  return list;
}

}  // namespace shardcheck
