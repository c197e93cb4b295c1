// The history of an element's bytes: every op that wrote them, in order, with the number that the backend
// held after it. One run of the plan, op by op, reading single elements. Next: first_wrong.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/backend.h"
#include "properties/diagnosis/subject.h"

namespace shardcheck {

/// An op wrote the element's bytes on a rank.
struct ByteEvent {
  OpIndex op;
  std::string op_text;
  std::int32_t rank = -1;
  Sighting value;                     ///< after the op, as read from the backend
  std::vector<std::string> contents;  ///< what it is: "microbatch 0 of rank 1", "undefined bytes"
  Combination predicted;              ///< what the plan makes of it by ideal arithmetic
};

/// What one run shows.
struct Observation {
  std::vector<ByteEvent> events;                  ///< on the ranks asked for, in the order of the plan
  std::vector<std::pair<Rank, double>> finished;  ///< the element as each owner reads it
  std::int64_t first = 0;                         ///< of `range`, in elements of the parameter
  std::vector<double> range;  ///< the reader's part of the parameter at the end of the step; empty when large
};

/// Ranks whose local history explains the element: the reader, the finding's rank, and those whose
/// contributions are wrong in what the reader gets (at most three of them).
std::vector<Rank> ranks_that_matter(const Subject& subject, const Combination& actual,
                                    const Combination& right);

/// Runs the subject's plan on the backend. Events begin with the step of the oldest contribution that
/// `actual` holds, or with the allocation when undefined bytes are in it.
Observation observe(const Subject& subject, std::span<const Rank> ranks, const Combination& actual,
                    Backend& backend);

/// A line for reports: "op 12 on rank 0: wgrad GEMM, ... -> 4 (0x40800000): microbatch 1 of rank 0".
std::string to_text(const ByteEvent& event);

}  // namespace shardcheck
