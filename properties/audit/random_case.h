// Random cases for a real framework: small models with tied, frozen and silent weights, empty microbatches,
// types and switches, restricted to what the adapter can express. One thing is left out though frameworks run
// it: a microbatch in which a rank reaches no trainable weight at all. No hook is called there, no adapter
// promises anything, and DDP hangs, with find_unused_parameters too. Next: case_shrinks.h.
#pragma once

#include <string>

#include "properties/audit/audit_case.h"
#include "properties/generate/draw.h"

namespace shardcheck {

/// What the drawn cases have in common.
struct AuditRoom {
  std::string adapter = "ddp";
  std::int32_t ranks = 2;
};

/// A valid case that the adapter accepts (refusal() is empty).
AuditCase random_audit_case(Draw& draw, const AuditRoom& room);

/// Why the adapter cannot run the case, or promises nothing for it; empty when a finding on it counts.
std::string refusal(const AuditCase& audited);

}  // namespace shardcheck
