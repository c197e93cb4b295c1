// Refusals: exceptions of frameworks that were looked into once, so that the verdict says what they mean.
// Next: judge.h.
#pragma once

#include <string_view>

#include "properties/audit/audit_case.h"

namespace shardcheck {

/// What an exception of that framework means in such a case, a clause without a full stop; empty when it is
/// not known.
std::string_view meaning_of(const AuditCase& audited, std::string_view exception);

}  // namespace shardcheck
