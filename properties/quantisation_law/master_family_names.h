// The names of master families in JSON, once for all kinds of cases that have one. For .cpp files only.
#pragma once

#include "properties/case_fields.h"
#include "properties/quantisation_law/quantisation_case.h"

namespace shardcheck::case_fields {

template <>
struct EnumNames<MasterFamily> {
  static constexpr std::string_view names[] = {"log_uniform", "outlier", "midpoints", "equal",
                                               "zeros",       "tiny",    "special"};
};

}  // namespace shardcheck::case_fields
