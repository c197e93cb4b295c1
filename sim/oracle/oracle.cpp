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
  OuterSum(Rows rows, std::int64_t columns, std::span<double> sum)
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
  std::span<double> sum_;
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
  // An average multiplies by the inverse of its group, rounded to the type that it adds in.
  const auto rounding = [](DType type, std::int32_t group) {
    return group == 1 ? 1.0 : rounded_to(type, 1.0 / group) * group;
  };
  const double own = is_distributed(s, parameter) ? rounding(s.main_grad, s.gtp) : 1.0;
  if (s.scaling != Scaling::in_collective) return own / s.ranks;
  const std::int32_t group = inner_size(s, has_coordinates(s, parameter));
  return own * rounding(s.comm, group) * rounding(type_of_outer_sum(s), s.outer) / s.ranks;
}

/// Its x and dy of each token that carries something, for one contribution to one group.
template <class Visit>
void Oracle::each_token(const ContributionKey& key, std::int32_t group, Visit visit) const {
  const ScenarioParameter& p = scenario_.parameters[static_cast<std::size_t>(key.parameter)];
  const std::int64_t tokens = tokens_at(scenario_, {key.parameter, group, key.rank, key.microbatch});
  const auto rows = static_cast<std::size_t>(p.rows_of_group()),
             columns = static_cast<std::size_t>(p.columns());
  std::vector<float> x(static_cast<std::size_t>(tokens) * columns),
      dy(static_cast<std::size_t>(tokens) * rows);
  for (std::int32_t use = 0; use < data_.uses_of(key.parameter); ++use) {
    data_.operands({key.parameter, key.step, key.rank, key.microbatch, use}, {group, tokens}, x, dy);
    const std::int64_t carrying = scenario_.data == DataMode::provenance ? 1 : tokens;  // later ones are zero
    for (std::size_t t = 0; t < static_cast<std::size_t>(carrying); ++t)
      visit(std::span(dy).subspan(t * rows, rows), std::span(x).subspan(t * columns, columns));
  }
}

void Oracle::add_group(std::int32_t parameter, std::int32_t step, std::int32_t rank, Block block,
                       Expected& to) const {
  const Scenario& s = scenario_;
  const ScenarioParameter& p = s.parameters[static_cast<std::size_t>(parameter)];
  const std::int64_t begin = block.group * p.rows_of_group();
  const Rows rows{std::max(block.rows.first, begin), std::min(block.rows.last, begin + p.rows_of_group())};
  if (rows.first >= rows.last) return;
  const Rows inside{rows.first - begin, rows.last - begin};
  const auto offset = static_cast<std::size_t>((rows.first - block.rows.first) * p.columns());
  const bool bounded = !to.magnitude.empty();
  OuterSum sum(inside, p.columns(), std::span(to.value).subspan(offset));
  OuterSum magnitude(inside, p.columns(), std::span(to.magnitude).subspan(bounded ? offset : 0));
  const auto add = [&](std::span<float> dy, std::span<float> x) {
    sum.add(dy, x);
    if (!bounded) return;
    for (float& v : dy) v = std::fabs(v);
    for (float& v : x) v = std::fabs(v);
    magnitude.add(dy, x);
  };
  for (const Contributor& from : contributors(s, parameter, rank)) {
    for (std::int32_t m = 0; m < s.microbatches; ++m) {
      const ContributionKey key{from.parameter, step, from.rank, m, 0};
      if (contributes(s, key, block.group)) each_token(key, block.group, add);
    }
  }
  sum.flush();
  magnitude.flush();
}

Expected Oracle::expected(std::int32_t parameter, std::int32_t step, std::int32_t rank, Rows rows) const {
  const ScenarioParameter& p = scenario_.parameters[static_cast<std::size_t>(parameter)];
  Expected result;
  result.value.assign(static_cast<std::size_t>((rows.last - rows.first) * p.columns()), 0.0);
  if (!exactness(parameter).is_exact) result.magnitude = result.value;
  for (std::int32_t group = 0; group < p.groups; ++group)
    add_group(parameter, step, rank, {group, rows}, result);
  const double scale = scale_of(parameter);
  for (double& v : result.value) v *= scale;
  for (double& v : result.magnitude) v *= scale;
  return result;
}

}  // namespace shardcheck
