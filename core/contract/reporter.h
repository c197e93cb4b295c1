// Reporter: turns "this atom, this rank, this op" into a finding that names parameter and element. It knows
// where the parameters lie in persistent buffers and in the leases that are open.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/contract/finding.h"

namespace shardcheck {

class Reporter {
 public:
  explicit Reporter(const Plan& plan) : plan_(plan) {}

  static constexpr std::size_t kMost = 16;  ///< findings kept; the first is the one that matters

  void begin_op(OpIndex op) { op_ = op; }
  OpIndex op() const { return op_; }
  /// A lease of `bucket` begins at `view`: its parameters lie there until another lease covers the place.
  void open_lease(std::int32_t bucket, View view);

  struct Place {
    ParamId parameter;
    std::int64_t element = 0;
  };
  /// The parameter's element at that place, or nothing for padding.
  std::optional<Place> place(Rank rank, BufferId buffer, std::int64_t offset) const;

  /// The first element inside `view` of every parameter that has one there.
  std::vector<Place> places(Rank rank, View view) const;

  /// The finding, for more evidence, until the next one; null when enough are kept.
  Finding* report(std::string_view clause, Rank rank, std::optional<Place> place,
                  const std::string& sentence);

  std::vector<Finding> take() { return std::move(findings_); }

 private:
  struct Lease {
    std::int32_t bucket;
    View view;
  };
  const Plan& plan_;
  OpIndex op_{-1};
  std::vector<Lease> leases_;
  std::vector<Finding> findings_;
};

}  // namespace shardcheck
