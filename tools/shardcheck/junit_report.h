// JUnit XML, as CI systems read it: a property is a test case, a finding its failure, missing coverage its
// error, and a property that an interrupt left out is skipped.
#pragma once

#include <string>

#include "tools/shardcheck/check_result.h"

namespace shardcheck {

std::string junit_report(const CheckResult& result);

/// Text inside an attribute or an element: markup escaped, characters that XML forbids replaced.
std::string xml_escaped(std::string_view text);

}  // namespace shardcheck
