#include "properties/diagnosis/algebra.h"

#include <algorithm>
#include <bit>
#include <map>

#include "core/numerics/narrow.h"

namespace shardcheck {
namespace {

/// One rounding to the type. Through fp32, which is innocuous for sums and products of two values of a
/// 16-bit type, because 24 >= 2 * 11 + 2.
double rounded(DType type, double value) {
  const auto f = static_cast<float>(value);
  if (type == DType::bf16) return static_cast<double>(bf16_to_f32(f32_to_bf16(f)));
  if (type == DType::f16) return static_cast<double>(f16_to_f32(f32_to_f16(f)));
  return static_cast<double>(f);
}

double poison_value(Poison poison, DType type) {
  const std::uint32_t bits = poison_bits(poison, type);
  if (type == DType::f32) return static_cast<double>(std::bit_cast<float>(bits));
  const auto code = static_cast<std::uint16_t>(bits);
  return static_cast<double>(type == DType::bf16 ? bf16_to_f32(code) : f16_to_f32(code));
}

void add(Combination& sum, const Combination& addend, double factor) {
  std::vector<Term> merged;
  merged.reserve(sum.terms.size() + addend.terms.size());
  auto a = sum.terms.begin();
  auto b = addend.terms.begin();
  while (a != sum.terms.end() || b != addend.terms.end()) {
    const bool from_a =
        b == addend.terms.end() || (a != sum.terms.end() && a->contribution <= b->contribution);
    if (from_a)
      merged.push_back(*a++);
    else if (!merged.empty() && merged.back().contribution == b->contribution)
      merged.back().weight += factor * b++->weight;
    else {
      merged.push_back({b->contribution, factor * b->weight});
      ++b;
    }
  }
  sum.terms = std::move(merged);
  sum.constant += factor * addend.constant;
  sum.undefined += factor * addend.undefined;
  sum.is_known &= addend.is_known;
}

void multiply(Combination& sum, double factor) {
  for (Term& term : sum.terms) term.weight *= factor;
  sum.constant *= factor;
  sum.undefined *= factor;
}

Combination unknown() {
  return {.is_known = false};
}

/// The bytes of the element in every buffer on every rank, while the plan is walked.
class Walk {
 public:
  Walk(const Planned& planned, const Scenario& scenario, const ScenarioData& data, Element element,
       const std::function<void(const ElementWrite&)>& visit)
      : plan_(planned.plan),
        scenario_(scenario),
        data_(data),
        element_(element),
        group_(
            group_of(scenario.parameters[static_cast<std::size_t>(element.parameter.value)], element.index)),
        visit_(visit),
        places_(plan_, element),
        cells_(plan_.buffers.size() * static_cast<std::size_t>(plan_.ranks)) {
    for (const InputSlot& slot : planned.inputs) {
      if (slot.parameter == element.parameter.value) slots_[{slot.dy.buffer.value, slot.dy.offset}] = &slot;
    }
  }

  void run() {
    for (std::size_t i = 0; i < plan_.ops.size(); ++i) {
      op_ = &plan_.ops[i];
      index_ = OpIndex{static_cast<std::int32_t>(i)};
      places_.pass(*op_);
      std::visit(*this, op_->action);
    }
  }

  void operator()(const Allocate&) { undefine(); }
  void operator()(const Undefine&) { undefine(); }
  void operator()(const OpenLease&) { undefine(); }
  void operator()(const Fill& fill) {
    each_place(0, [&](std::size_t, std::int64_t, const Combination&) {
      const auto value = static_cast<double>(fill.value);
      return Combination{.constant = value, .value = value};
    });
  }
  void operator()(const Gemm& gemm) {
    each_place(2, [&](std::size_t i, std::int64_t, const Combination& before) {
      Combination sum = gemm.accumulate ? before : Combination{};
      if (op_->why.parameter != element_.parameter) return unknown();
      if (gemm.tokens == 0) return sum;
      const Rank rank = plan_.ranks_of(*op_)[i];
      const InputSlot* const slot = slot_at(rank, plan_.operand(*op_, 0)[i]);
      if (slot == nullptr) return unknown();
      const InputSlot& of = *slot;
      if (of.group != group_) return unknown();  // another expert's
      const std::int64_t key = data_.index_of({of.parameter, of.step, rank.value, of.microbatch, of.use});
      add(sum, {.terms = {{key, 1}}}, 1);
      sum.value += value_of(key, rank);
      return sum;
    });
  }
  void operator()(const Copy&) {
    remember_static_inputs();
    each_place(1, [&](std::size_t i, std::int64_t at, const Combination&) { return source(i, at); });
  }
  void operator()(const Add&) {
    each_place(1, [&](std::size_t i, std::int64_t at, const Combination& before) {
      Combination sum = before;
      const Combination& addend = source(i, at);
      add(sum, addend, 1);
      sum.value += addend.value;
      return sum;
    });
  }
  void operator()(const Scale& scale) {
    each_place(0, [&](std::size_t, std::int64_t, const Combination& before) {
      Combination product = before;
      multiply(product, static_cast<double>(scale.factor));
      product.value *= static_cast<double>(scale.factor);
      return product;
    });
  }
  void operator()(const Communicate& communicate) {
    if (communicate.collective == Collective::all_gather) {
      return each_place(1, [](std::size_t, std::int64_t, const Combination&) { return unknown(); });
    }
    std::vector<std::pair<std::size_t, Combination>> results;  // inputs may be overwritten: first read all
    for (std::size_t i = 0; i < plan_.ranks_of(*op_).size(); ++i) {
      const View out = plan_.operand(*op_, 1)[i];
      if (const auto at = places_.find(*op_, plan_.ranks_of(*op_)[i], out))
        results.emplace_back(i, reduced(communicate, i, *at - out.offset));
    }
    auto next = results.begin();
    each_place(1, [&](std::size_t, std::int64_t, const Combination&) { return std::move((next++)->second); });
  }
  template <class Other>
  void operator()(const Other&) {}  // moves no byte of a gradient

 private:
  struct Cell {
    std::int64_t offset = -1;
    Combination holds;
  };
  Cell& cell(Rank rank, BufferId buffer) {
    return cells_[static_cast<std::size_t>(rank.value) * plan_.buffers.size() +
                  static_cast<std::size_t>(buffer.value)];
  }

  /// Writes make(position of the rank, offset, before) wherever operand `operand` covers the element.
  template <class Make>
  void each_place(int operand, Make make) {
    const auto ranks = plan_.ranks_of(*op_);
    const auto views = plan_.operand(*op_, operand);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto at = places_.find(*op_, ranks[i], views[i]);
      if (!at) continue;
      Cell& here = cell(ranks[i], views[i].buffer);
      const DType type = plan_.buffer(views[i].buffer).dtype;
      const Combination before = here.offset == *at ? here.holds : nobodys(type);
      Combination after = make(i, *at, before);
      after.value = rounded(type, after.value);
      std::erase_if(after.terms, [](const Term& term) { return term.weight == 0; });
      here = {*at, std::move(after)};
      visit_({index_, ranks[i], {views[i].buffer, *at, 1}, before, here.holds});
    }
  }

  void undefine() {
    each_place(0, [&](std::size_t i, std::int64_t, const Combination&) {
      return nobodys(plan_.buffer(plan_.operand(*op_, 0)[i].buffer).dtype);
    });
  }

  /// Whose operands lie there; null for nobody's.
  const InputSlot* slot_at(Rank rank, View dy) const {
    const std::pair place(dy.buffer.value, dy.offset);
    if (const auto copied = copies_.find({rank, place}); copied != copies_.end()) return copied->second;
    const auto slot = slots_.find(place);
    return slot == slots_.end() ? nullptr : slot->second;
  }
  /// A graph finds the operands of its use copied to where it reads.
  void remember_static_inputs() {
    const auto from = plan_.operand(*op_, 0), to = plan_.operand(*op_, 1);
    if (plan_.buffer(to[0].buffer).role != BufferRole::graph_inputs) return;
    for (std::size_t i = 0; i < to.size(); ++i) {
      const Rank rank = plan_.ranks_of(*op_)[i];
      copies_[{rank, {to[i].buffer.value, to[i].offset}}] = slot_at(rank, from[i]);
    }
  }

  Combination nobodys(DType type) const {
    return {.undefined = 1, .value = poison_value(plan_.poison, type)};
  }

  const Combination& held(Rank rank, BufferId buffer, std::int64_t offset) {
    static const Combination kUnknown = unknown();
    const Cell& there = cell(rank, buffer);
    return there.offset == offset ? there.holds : kUnknown;
  }
  /// What operand 0 holds where operand 1 has the element at `at`.
  const Combination& source(std::size_t i, std::int64_t at) {
    const View from = plan_.operand(*op_, 0)[i], to = plan_.operand(*op_, 1)[i];
    return held(plan_.ranks_of(*op_)[i], from.buffer, from.offset + at - to.offset);
  }

  Combination reduced(const Communicate& communicate, std::size_t i, std::int64_t inside) {
    const auto size = static_cast<std::size_t>(communicate.group);
    const std::size_t first = i - i % size;
    const View out = plan_.operand(*op_, 1)[i];
    const bool scatters = communicate.collective == Collective::reduce_scatter;
    if (scatters) inside += static_cast<std::int64_t>(i % size) * out.numel;
    const DType type = plan_.buffer(plan_.operand(*op_, 0)[i].buffer).dtype;
    const bool averages = communicate.reduction == Reduction::average;
    const double factor = averages ? rounded(type, 1.0 / static_cast<double>(size)) : 1;
    std::vector<std::size_t> order(size);
    for (std::size_t k = 0; k < size; ++k) order[k] = first + k;
    std::ranges::sort(order, {}, [&](std::size_t k) { return plan_.ranks_of(*op_)[k]; });
    Combination sum;
    for (const std::size_t k : order) {
      const View in = plan_.operand(*op_, 0)[k];
      const Combination& addend = held(plan_.ranks_of(*op_)[k], in.buffer, in.offset + inside);
      add(sum, addend, factor);
      const double part = averages ? rounded(type, addend.value * factor) : addend.value;
      sum.value = k == order.front() ? part : rounded(type, sum.value + part);
    }
    return sum;
  }

  double value_of(std::int64_t key, Rank rank) {
    const auto [known, is_new] = values_.emplace(std::pair(key, rank.value), 0);
    if (is_new) {
      known->second = contribution_at(
          scenario_, data_, data_.key_of(element_.parameter.value, rank.value, key), element_.index);
    }
    return known->second;
  }

  const Plan& plan_;
  const Scenario& scenario_;
  const ScenarioData& data_;
  Element element_;
  std::int32_t group_;
  const std::function<void(const ElementWrite&)>& visit_;
  ElementPlaces places_;
  std::vector<Cell> cells_;
  std::map<std::pair<std::int32_t, std::int64_t>, const InputSlot*> slots_;  // by where dy lies
  std::map<std::pair<Rank, std::pair<std::int32_t, std::int64_t>>, const InputSlot*> copies_;
  std::map<std::pair<std::int64_t, std::int32_t>, double> values_;
  const Op* op_ = nullptr;
  OpIndex index_;
};

}  // namespace

double Combination::weight_of(std::int64_t contribution) const {
  const auto at = std::ranges::lower_bound(terms, contribution, {}, &Term::contribution);
  return at != terms.end() && at->contribution == contribution ? at->weight : 0;
}

bool Combination::same_sum(const Combination& other) const {
  return terms == other.terms && constant == other.constant && is_known == other.is_known &&
         (undefined != 0) == (other.undefined != 0);
}

void follow(const Planned& planned, const Scenario& scenario, const ScenarioData& data, Element element,
            const std::function<void(const ElementWrite&)>& visit) {
  Walk(planned, scenario, data, element, visit).run();
}

double contribution_at(const Scenario& scenario, const ScenarioData& data, const ContributionKey& key,
                       std::int64_t element) {
  const ScenarioParameter& p = scenario.parameters[static_cast<std::size_t>(key.parameter)];
  const std::int32_t group = group_of(p, element);
  const std::int64_t tokens = tokens_at(scenario, {key.parameter, group, key.rank, key.microbatch});
  const std::int64_t rows = p.rows_of_group();
  std::vector<float> x(static_cast<std::size_t>(tokens * p.columns()));
  std::vector<float> dy(static_cast<std::size_t>(tokens * rows));
  data.operands(key, {group, tokens}, x, dy);
  const std::int64_t row = element / p.columns() % rows, column = element % p.columns();
  double sum = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    sum += static_cast<double>(dy[static_cast<std::size_t>(t * rows + row)]) *
           static_cast<double>(x[static_cast<std::size_t>(t * p.columns() + column)]);
  }
  return sum;
}

}  // namespace shardcheck
