#include "sim/oracle/oracle.h"

#include <algorithm>
#include <cmath>

#include "core/numerics/narrow.h"
#include "sim/oracle/exactness.h"

namespace shardcheck {
namespace {

double rounded_to(DType type, double value) {
  const auto f = static_cast<float>(value);
  if (type == DType::bf16) return bf16_to_f32(f32_to_bf16(f));
  if (type == DType::f16) return f16_to_f32(f32_to_f16(f));
  return f;
}

/// A sum of outer products dy^T x over rows [first, last). Consecutive products with equal dy are summed in x
/// first: provenance data then costs one pass over the matrix.
class OuterSum {
 public:
  OuterSum(Rows rows, std::int64_t columns, std::vector<double>& sum)
      : rows_(rows), x_(static_cast<std::size_t>(columns), 0.0), sum_(sum) {}

  void add(std::span<const float> dy, std::span<const float> x) {
    if (!std::equal(dy.begin(), dy.end(), dy_.begin(), dy_.end())) {
      flush();
      dy_.assign(dy.begin(), dy.end());
    }
    for (std::size_t c = 0; c < x.size(); ++c) x_[c] += static_cast<double>(x[c]);
  }

  void flush() {
    if (!dy_.empty()) {
      double* out = sum_.data();
      for (std::int64_t r = rows_.first; r < rows_.last; ++r) {
        const double d = static_cast<double>(dy_[static_cast<std::size_t>(r)]);
        for (const double x : x_) *out++ += d * x;
      }
    }
    std::fill(x_.begin(), x_.end(), 0.0);
    dy_.clear();
  }

 private:
  Rows rows_;
  std::vector<double> x_;
  std::vector<float> dy_;
  std::vector<double>& sum_;
};

}  // namespace

Oracle::Oracle(const Scenario& scenario, const ScenarioData& data) : scenario_(scenario), data_(data) {
  for (std::size_t p = 0; p < scenario.parameters.size(); ++p) {
    exactness_.push_back(exactness_of(scenario, data, static_cast<std::int32_t>(p)));
  }
}

double Oracle::scale_of(std::int32_t parameter) const {
  return std::ldexp(scale_without_clipping(parameter), -scenario_.clip);
}

double Oracle::scale_without_clipping(std::int32_t parameter) const {
  const Scenario& s = scenario_;
  if (s.loss == Loss::per_token) return 1.0 / static_cast<double>(tokens_of_step(s));
  if (s.scaling != Scaling::in_collective) return 1.0 / s.ranks;
  // An average multiplies by the inverse of its group, rounded to the type that it adds in.
  const auto rounding = [](DType type, std::int32_t group) {
    return group == 1 ? 1.0 : rounded_to(type, 1.0 / group) * group;
  };
  const std::int32_t group = inner_size(s, s.parameters[static_cast<std::size_t>(parameter)].expert);
  return rounding(s.comm, group) * rounding(type_of_outer_sum(s), s.outer) / s.ranks;
}

Expected Oracle::expected(std::int32_t parameter, std::int32_t step, std::int32_t rank, Rows rows) const {
  const Scenario& s = scenario_;
  const ScenarioParameter& p = s.parameters[static_cast<std::size_t>(parameter)];
  const std::int64_t rows_of = p.rows(), columns = p.columns();
  Expected result;
  result.value.assign(static_cast<std::size_t>((rows.last - rows.first) * columns), 0.0);
  const bool bounded = !exactness(parameter).is_exact;
  if (bounded) result.magnitude = result.value;
  OuterSum sum(rows, columns, result.value), magnitude(rows, columns, result.magnitude);
  std::vector<float> x, dy;
  const auto add_contributions = [&](std::int32_t copy, std::int32_t peer, std::int32_t m) {
    const std::int64_t tokens = tokens_of(s, peer, m);
    if (!is_used(s, copy, step, peer, m) || tokens == 0) return;
    x.resize(static_cast<std::size_t>(tokens * columns));
    dy.resize(static_cast<std::size_t>(tokens * rows_of));
    for (std::int32_t use = 0; use < data_.uses_of(copy); ++use) {
      data_.operands({copy, step, peer, m, use}, tokens, x, dy);
      const std::int64_t carrying = s.data == DataMode::provenance ? 1 : tokens;  // later tokens are zero
      for (std::int64_t t = 0; t < carrying; ++t) {
        const std::span<float> dy_t(dy.data() + t * rows_of, static_cast<std::size_t>(rows_of));
        const std::span<float> x_t(x.data() + t * columns, static_cast<std::size_t>(columns));
        sum.add(dy_t, x_t);
        if (!bounded) continue;
        for (float& v : dy_t) v = std::fabs(v);
        for (float& v : x_t) v = std::fabs(v);
        magnitude.add(dy_t, x_t);
      }
    }
  };
  for (const Contributor& from : contributors(s, parameter, rank)) {
    for (std::int32_t m = 0; m < s.microbatches; ++m) add_contributions(from.parameter, from.rank, m);
  }
  sum.flush();
  magnitude.flush();
  const double scale = scale_of(parameter);
  for (double& v : result.value) v *= scale;
  for (double& v : result.magnitude) v *= scale;
  return result;
}

}  // namespace shardcheck
