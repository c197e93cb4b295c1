#include "backends/faulty/faults.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "backends/faulty/block_faults.h"
#include "backends/faulty/values.h"

namespace shardcheck {
namespace {

using faulty::Direction;
using faulty::load;
using faulty::rounded;
using faulty::store;
using Values = std::vector<double>;

/// One op of a plan, with its operands at hand.
struct Site {
  Backend& inner;
  const Plan& plan;
  OpIndex index;
  const Op& op = plan.ops[static_cast<std::size_t>(index.value)];

  void execute() const { inner.execute(plan, index, OpIndex{index.value + 1}); }
  std::size_t ranks() const { return static_cast<std::size_t>(op.ranks); }
  Rank rank(std::size_t i) const { return plan.ranks_of(op)[i]; }
  View view(int operand, std::size_t i) const { return plan.operand(op, operand)[i]; }
  DType type(int operand, std::size_t i) const { return plan.buffer(view(operand, i).buffer).dtype; }
  bool is_float(int operand) const { return bytes_of(type(operand, 0)) > 1; }

  Values load(int operand, std::size_t i) const {
    return faulty::load(inner, plan, rank(i), view(operand, i));
  }
  void store(int operand, std::size_t i, const Values& values) const {
    faulty::store(inner, plan, rank(i), view(operand, i), values);
  }
  std::vector<Values> load_all(int operand) const {
    std::vector<Values> all;
    for (std::size_t i = 0; i < ranks(); ++i) all.push_back(load(operand, i));
    return all;
  }
  /// Replaces every element of an operand by change(rank position, element position, value).
  template <class Change>
  void change(int operand, Change change) const {
    for (std::size_t i = 0; i < ranks(); ++i) {
      Values values = load(operand, i);
      for (std::size_t e = 0; e < values.size(); ++e) values[e] = change(i, e, values[e]);
      store(operand, i, values);
    }
  }
};

// ---- Which ops a fault touches.

template <class... Kind>
bool is_any(const Action& action) {
  return (std::holds_alternative<Kind>(action) || ...);
}
/// A sum or an average; a maximum has faults of its own.
bool is_reduction(const Action& action) {
  const auto* communicate = std::get_if<Communicate>(&action);
  return communicate != nullptr && communicate->collective != Collective::all_gather &&
         communicate->reduction != Reduction::maximum;
}
bool is_gather(const Action& action) {
  const auto* communicate = std::get_if<Communicate>(&action);
  return communicate != nullptr && communicate->collective == Collective::all_gather;
}
bool is_average(const Action& action) {
  return is_reduction(action) && std::get<Communicate>(action).reduction == Reduction::average;
}
bool is_overwriting_gemm(const Action& action) {
  const auto* gemm = std::get_if<Gemm>(&action);
  return gemm != nullptr && !gemm->accumulate;
}
bool is_empty_overwriting_gemm(const Action& action) {
  return is_overwriting_gemm(action) && std::get<Gemm>(action).tokens == 0;
}
bool is_addition(const Action& action) {
  return is_any<Add>(action) || is_reduction(action);
}
bool is_arithmetic(const Action& action) {
  return is_any<Gemm, Add, Scale, SgdStep>(action) || is_reduction(action);
}
/// A product of FP8 codes that is summed with promotion; block scales are always so.
bool is_promoted_product(const Action& action) {
  const auto* matmul = std::get_if<Matmul>(&action);
  return matmul != nullptr && !matmul->fast_accumulation &&
         (matmul->scales_a == ScaleKind::tensor || matmul->scales_a == ScaleKind::outer_vector);
}
int destination_of(const Action& action) {
  if (is_any<Scale>(action)) return 0;
  return is_any<Gemm>(action) ? 2 : 1;
}

// ---- Reductions, done again in another way.

/// How a wrong reduction differs from the right one.
struct ReductionRule {
  Direction addition = Direction::nearest_even;
  bool descending = false;     ///< adds from the last rank to the first
  bool without_last = false;   ///< forgets the last rank of a group
  bool divides_after = false;  ///< an average multiplies the sum instead of the addends
};

/// Element `e` of the reduction of the group that begins at rank position `first`.
double reduced(const std::vector<Values>& inputs, std::size_t first, std::size_t e,
               const Communicate& communicate, DType type, const ReductionRule& rule) {
  const auto size = static_cast<std::size_t>(communicate.group);
  const bool averages = communicate.reduction == Reduction::average;
  const double factor =
      averages ? rounded(1.0 / static_cast<double>(size), type, Direction::nearest_even) : 1.0;
  const std::size_t count = rule.without_last ? size - 1 : size;
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    double addend = inputs[first + (rule.descending ? count - 1 - k : k)][e];
    if (averages && !rule.divides_after) addend = rounded(addend * factor, type, Direction::nearest_even);
    sum = k == 0 ? addend : rounded(sum + addend, type, rule.addition);
  }
  return averages && rule.divides_after ? rounded(sum * factor, type, Direction::nearest_even) : sum;
}

void reduce_by(const Site& site, const ReductionRule& rule) {
  const std::vector<Values> inputs = site.load_all(0);
  site.execute();
  const auto& communicate = std::get<Communicate>(site.op.action);
  const auto size = static_cast<std::size_t>(communicate.group);
  const bool scatters = communicate.collective == Collective::reduce_scatter;
  site.change(1, [&](std::size_t i, std::size_t e, double) {
    const auto part = static_cast<std::size_t>(site.view(1, i).numel);
    const std::size_t offset = scatters ? i % size * part : 0;
    return reduced(inputs, i - i % size, offset + e, communicate, site.type(1, i), rule);
  });
}

// ---- The faults.

void truncate_add(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  if (is_reduction(site.op.action)) return reduce_by(site, {.addition = Direction::toward_zero});
  const std::vector<Values> addend = site.load_all(0), old = site.load_all(1);
  site.execute();
  site.change(1, [&](std::size_t i, std::size_t e, double) {
    return rounded(old[i][e] + addend[i][e], site.type(1, i), Direction::toward_zero);
  });
}

void bf16_detour(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  const bool accumulates = std::get<Gemm>(site.op.action).accumulate;
  const std::vector<Values> old = accumulates ? site.load_all(2) : std::vector<Values>{};
  if (accumulates) site.change(2, [](std::size_t, std::size_t, double) { return 0.0; });
  site.execute();
  site.change(2, [&](std::size_t i, std::size_t e, double product) {
    const double passed = rounded(product, DType::bf16, Direction::nearest_even);
    return accumulates ? rounded(old[i][e] + passed, site.type(2, i), Direction::nearest_even)
                       : rounded(passed, site.type(2, i), Direction::nearest_even);
  });
}

void skip_last_rank(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  if (std::get<Communicate>(site.op.action).group == 1) return site.execute();
  reduce_by(site, {.without_last = true});
}

void descending_reduction(Backend& inner, const Plan& plan, OpIndex index) {
  reduce_by({inner, plan, index}, {.descending = true});
}

void average_after(Backend& inner, const Plan& plan, OpIndex index) {
  reduce_by({inner, plan, index}, {.divides_after = true});
}

void scale_twice(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  site.execute();
  site.execute();
}

void drop_last_element(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  const auto last_of = [&](std::size_t i) {
    const View all = site.view(2, i);
    return View{all.buffer, all.offset + all.numel - 1, all.numel > 0 ? 1 : 0};
  };
  std::vector<Values> old;
  for (std::size_t i = 0; i < site.ranks(); ++i) {
    const View last = last_of(i);
    old.push_back(last.numel == 0 ? Values{} : load(inner, plan, site.rank(i), last));
  }
  site.execute();
  for (std::size_t i = 0; i < site.ranks(); ++i) {
    if (!old[i].empty()) store(inner, plan, site.rank(i), last_of(i), old[i]);
  }
}

double smallest_normal(DType type) {
  return type == DType::f16 ? 0x1p-14 : 0x1p-126;
}

void flush_subnormals(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  site.execute();
  site.change(destination_of(site.op.action), [&](std::size_t i, std::size_t, double value) {
    const DType type = site.type(destination_of(site.op.action), i);
    return std::abs(value) < smallest_normal(type) ? std::copysign(0.0, value) : value;
  });
}

void stale_beta(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  const std::vector<Values> old = site.load_all(2);
  site.execute();
  site.change(2, [&](std::size_t i, std::size_t e, double value) {
    return rounded(old[i][e] + value, site.type(2, i), Direction::nearest_even);
  });
}

void empty_gemm_skips(Backend&, const Plan&, OpIndex) {}

void truncate_cast(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  if (!site.is_float(0) || !site.is_float(1)) return site.execute();
  const std::vector<Values> source = site.load_all(0);
  site.execute();
  site.change(1, [&](std::size_t i, std::size_t e, double) {
    return rounded(source[i][e], site.type(1, i), Direction::toward_zero);
  });
}

void lose_zero_sign(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  site.execute();
  site.change(destination_of(site.op.action),
              [](std::size_t, std::size_t, double value) { return value == 0 ? 0.0 : value; });
}

void gather_backwards(Backend& inner, const Plan& plan, OpIndex index) {
  const Site site{inner, plan, index};
  const auto size = static_cast<std::size_t>(std::get<Communicate>(site.op.action).group);
  site.execute();
  for (std::size_t i = 0; i < site.ranks(); ++i) {
    const View view = site.view(1, i);
    std::vector<std::byte> bytes(static_cast<std::size_t>(view.numel * bytes_of(site.type(1, i))));
    inner.read(plan, site.rank(i), view, bytes);
    const std::size_t part = bytes.size() / size;
    for (std::size_t k = 0; k < size / 2; ++k) {
      const auto at = [&](std::size_t place) {
        return bytes.begin() + static_cast<std::ptrdiff_t>(place * part);
      };
      std::swap_ranges(at(k), at(k + 1), at(size - 1 - k));
    }
    inner.write(plan, site.rank(i), view, bytes);
  }
}

void fast_accumulation(Backend& inner, const Plan& plan, OpIndex index) {
  Plan fast = plan;
  std::get<Matmul>(fast.ops[static_cast<std::size_t>(index.value)].action).fast_accumulation = true;
  inner.execute(fast, index, OpIndex{index.value + 1});
}

constexpr NumericFault kFaults[] = {
    {"truncate-add", "additions and reductions round toward zero", "W38", is_addition, truncate_add},
    {"bf16-detour", "weight gradients pass through bf16 on their way to the destination", "W16", is_any<Gemm>,
     bf16_detour},
    {"skip-last-rank", "a reduction forgets the last rank of the group", "W2", is_reduction, skip_last_rank},
    {"descending-reduction", "a reduction adds from the last rank to the first", "W39", is_reduction,
     descending_reduction},
    {"average-after", "an average multiplies the sum by 1/R instead of every addend", "W38", is_average,
     average_after},
    {"scale-twice", "a scale is applied twice", "W24", is_any<Scale>, scale_twice},
    {"drop-last-element", "a weight gradient leaves its last element unwritten", "W2", is_any<Gemm>,
     drop_last_element},
    {"stale-beta", "an overwriting weight gradient adds to the old content", "W4", is_overwriting_gemm,
     stale_beta},
    {"empty-gemm-skips", "an overwriting weight gradient without tokens writes nothing", "W9",
     is_empty_overwriting_gemm, empty_gemm_skips},
    {"truncate-cast", "casts cut off bits instead of rounding to nearest even", "W38", is_any<Copy>,
     truncate_cast},
    {"flush-subnormals", "subnormal results of arithmetic become zero", "W38", is_arithmetic,
     flush_subnormals},
    {"gather-backwards", "an all-gather lays the parts down from the last rank to the first", "L13 L16",
     is_gather, gather_backwards},
    {"fast-accumulation", "FP8 products stay in the tensor core's short accumulator", "F66",
     is_promoted_product, fast_accumulation},
    {"amax-without-last-row", "an amax forgets the last row of its piece", "F18 F40", faulty::is_take_amax,
     faulty::amax_without_last_row},
    {"scale-rounded-up", "scales are rounded up by one power of two too many", "F16 F20",
     faulty::is_scale_from_amax, faulty::scale_rounded_up},
    {"double-rounded-codes", "scaled elements pass through bf16 before they are cast", "F12",
     faulty::is_quantize_blocks, faulty::double_rounded_codes},
    {"column-of-row-codes", "a column copy that needs its own quantisation gets the codes of the row copy",
     "F34", faulty::makes_two_copies, faulty::column_of_row_codes},
    {"grid-not-transposed", "a derived column copy keeps the row copy's grid of scales", "F33",
     faulty::is_derive_column_copy, faulty::grid_not_transposed},
    {"swizzled-scales", "stored scales are in the order in which products read them", "F36",
     faulty::stores_scales_to_swizzle, faulty::swizzled_scales},
    {"frozen-history", "delayed scaling closes a step without moving its history", "F54",
     faulty::is_close_delayed_step, faulty::frozen_history},
    {"lose-maximum", "a maximum over ranks leaves every rank its own number", "F41", faulty::is_maximum,
     faulty::lose_maximum},
    {"lose-zero-sign", "a result of minus zero becomes plus zero", "W39", is_arithmetic, lose_zero_sign},
};

}  // namespace

std::span<const NumericFault> list_numeric_faults() {
  return kFaults;
}

const NumericFault* find_numeric_fault(std::string_view name) {
  for (const NumericFault& fault : kFaults) {
    if (fault.name == name) return &fault;
  }
  return nullptr;
}

}  // namespace shardcheck
