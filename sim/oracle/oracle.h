// The value oracle: what the gradient of a parameter must be, G* of wgrad 2.3, from the scenario alone. It
// does not know the planner: it sums the contributions of the reduction domain in double precision, where all
// data modes are exact, and multiplies by the scale once.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenario/data.h"

namespace shardcheck {

/// How a value may differ from the oracle.
struct Exactness {
  bool is_exact = true;  ///< every partial sum in every order is representable (wgrad 8.9): compare bits
  double growth = 0;     ///< else |computed - exact| <= growth * scale * sum |contributions| + underflow
  double underflow = 0;
};

/// Values of a block of rows of one parameter, row-major.
struct Expected {
  std::vector<double> value;
  std::vector<double> magnitude;  ///< scale * sum |contributions|; empty when exact
};

/// Half-open range of rows.
struct Rows {
  std::int64_t first = 0, last = 0;
};

class Oracle {
 public:
  Oracle(const Scenario& scenario, const ScenarioData& data);

  const Exactness& exactness(std::int32_t parameter) const {
    return exactness_[static_cast<std::size_t>(parameter)];
  }

  /// The scale c that the owner must apply in total; with an average inside the collective, the declared 1/R
  /// rounded to the communication type (wgrad 8.3).
  double scale_of(std::int32_t parameter) const;

  /// What a consumer on `rank` must read after `step`. Copies of a weight on two pipeline stages, or on
  /// tensor-parallel ranks, are summed, not averaged.
  Expected expected(std::int32_t parameter, std::int32_t step, std::int32_t rank, Rows rows) const;

 private:
  /// The part of the rows that lies in one group of the parameter.
  struct Block {
    std::int32_t group = 0;
    Rows rows;
  };
  double scale_without_clipping(std::int32_t parameter) const;
  void add_group(std::int32_t parameter, std::int32_t step, std::int32_t rank, Block block,
                 Expected& to) const;
  template <class Visit>
  void each_token(const ContributionKey& key, std::int32_t group, Visit visit) const;

  const Scenario& scenario_;
  const ScenarioData& data_;
  std::vector<Exactness> exactness_;
};

}  // namespace shardcheck
