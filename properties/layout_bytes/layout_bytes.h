// The layout laws that move bytes, executed: shards are gathered (L13), gradients are reduce-scattered (L15)
// and a gathered model is cut again by another layout (L16), as ops of a plan on a backend. The laws of
// layout_laws/bytes.h ask the same of numbers in host memory; here the collectives are the machine's own.
// Next: move_plan.h builds the plan.
#pragma once

#include <string>
#include <vector>

#include "core/backend.h"
#include "properties/case.h"

namespace shardcheck {

/// Judges a case of the kind "layout" (layout_laws/layout_case.h) whose buffers are cut into equal shards;
/// others move nothing and reach no situation. On a shadow: the candidate's bytes. Exact: every element is
/// compared bit for bit, NaN payloads and signed zeros included.
JudgedCase judge_layout_bytes(Backend& backend, const Case& c);

/// What random cases must reach: a gather and a reduce-scatter under every layout with equal shards, and a
/// move into another layout.
const std::vector<std::string>& layout_bytes_situations();

}  // namespace shardcheck
