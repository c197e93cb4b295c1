// The sixteen kinds of producers of wgrad 4.1, and how a scenario says each: by a field, or a fault.
#pragma once

#include <span>
#include <string_view>

namespace shardcheck {

struct ProducerKind {
  std::string_view id;        ///< "Q8"
  std::string_view what;      ///< "deferred embedding"
  std::string_view scenario;  ///< what a scenario says, or a fault
  std::string_view remark;    ///< what it does
};

/// Q1 to Q16.
std::span<const ProducerKind> producer_kinds();

}  // namespace shardcheck
