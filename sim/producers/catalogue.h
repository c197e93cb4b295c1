// The sixteen kinds of producers of wgrad 4.1, and how a scenario says each: a field, a fault, or nothing
// where the kind is not modelled.
#pragma once

#include <span>
#include <string_view>

namespace shardcheck {

struct ProducerKind {
  std::string_view id;        ///< "Q8"
  std::string_view what;      ///< "deferred embedding"
  std::string_view scenario;  ///< what a scenario says, or a fault; empty where the kind is not modelled
  std::string_view remark;    ///< what it does; else why it is not modelled
};

/// Q1 to Q16.
std::span<const ProducerKind> producer_kinds();

}  // namespace shardcheck
