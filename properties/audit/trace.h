// AuditTrace: what a real framework did with an AuditCase, read from the folder that tools/probe wrote:
// manifest.json, and for every rank rank-N.json with rank-N.safetensors. Reading trusts nothing. Next:
// judge.h.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/tensor/dtype.h"
#include "properties/audit/audit_case.h"

namespace shardcheck {

/// How a rank ended.
enum class Outcome : std::uint8_t {
  finished,
  deadline,  ///< it was still waiting
  stopped,   ///< another rank had failed, and it was still waiting
  raised,    ///< the framework raised an exception
  died,      ///< the process ended by itself
};
std::string_view name_of(Outcome outcome);

/// A collective, in the order in which the rank issued them.
struct CollectiveEvent {
  std::string kind, reduction, dtype, phase;
  std::vector<std::int32_t> group;      ///< ranks
  std::int64_t sent = 0, received = 0;  ///< elements
  std::int32_t step = -1, microbatch = -1;
  bool completed = false;
};
/// "reduce_scatter_base avg f32, 36 -> 18 elements, step 0, microbatch 1, backward".
std::string to_text(const CollectiveEvent& event);

enum class Traced : std::uint8_t { gradient, parameter, probe };

/// What a rank owns of a gradient (before the optimizer of that step), of a parameter (after it), or of the
/// gradient of a linear probe, whose number is `step`.
struct TracedTensor {
  Traced what = Traced::gradient;
  std::int32_t step = 0, parameter = 0;
  std::int64_t first = 0;   ///< element of the parameter, row-major
  bool is_present = false;  ///< false: the framework has no tensor there
  DType dtype = DType::f32;
  std::vector<float> values;

  std::int64_t last() const { return first + static_cast<std::int64_t>(values.size()); }
};

struct RankTrace {
  std::int32_t rank = 0;
  Outcome outcome = Outcome::finished;
  std::string error;
  std::vector<std::string> waiting;  ///< innermost frame last
  std::vector<TracedTensor> tensors;
  std::vector<CollectiveEvent> collectives;
};

struct AuditTrace {
  AuditCase audited;
  std::string device;
  double rate = 0;  ///< of SGD
  std::map<std::string, std::string> versions;
  std::vector<RankTrace> ranks;  ///< by rank
};

/// Throws bad_input: files that are missing or truncated, another schema version, ranks that are missing,
/// tensors of the wrong shape or outside their parameter.
AuditTrace read_trace(const std::filesystem::path& folder);

}  // namespace shardcheck
