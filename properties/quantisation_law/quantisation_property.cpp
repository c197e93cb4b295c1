#include "properties/quantisation_law/quantisation_property.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/layout/registry.h"
#include "core/recipe/catalogue.h"
#include "properties/case_fields.h"
#include "properties/quantisation_law/laws.h"
#include "properties/quantisation_law/master_family_names.h"
#include "properties/quantisation_law/zoo.h"

namespace shardcheck::case_fields {

template <>
struct FieldsOf<WeightShape> {
  template <class F>
  static void list(F& fields, WeightShape& w) {
    fields("rows", w.rows);
    fields("columns", w.columns);
    fields("expert", w.expert);
    fields("shard_dim", w.shard_dim);
    fields("cuts", w.cuts);
  }
};

template <>
struct FieldsOf<QuantisationCase> {
  template <class F>
  static void list(F& fields, QuantisationCase& c) {
    fields("recipe", c.recipe);
    fields("layout", c.layout);
    fields("world", c.world);
    fields("expert_world", c.expert_world);
    fields("weights", c.weights);
    fields("masters", c.masters);
    fields("model_type", c.model_type);
    fields("weights_at_once", c.weights_at_once);
    fields("gradient", c.gradient);
    fields("seed", c.seed);
    fields("fault", c.fault);
  }
};

}  // namespace shardcheck::case_fields

namespace shardcheck {
namespace {

using namespace case_fields;

constexpr std::string_view kCuts = "cuts";
// Of a case from a file: everything that is drawn is far smaller.
constexpr std::int64_t kMostElements = std::int64_t{1} << 24;
constexpr std::int64_t kMostWeights = 64;
constexpr std::int32_t kMostRanks = 1024;

std::int32_t ranks_of(const QuantisationCase& c, const WeightShape& weight) {
  return weight.expert && c.expert_world > 0 ? c.expert_world : c.world;
}

void check_cuts(const QuantisationCase& c, std::size_t i, const std::string& where) {
  const WeightShape& weight = c.weights[i];
  const std::string place = fmt::format("{}.weights[{}].cuts", where, i);
  const std::int64_t numel = weight.rows * weight.columns;
  const std::int32_t wanted = c.layout == kCuts ? ranks_of(c, weight) - 1 : 0;
  if (std::ssize(weight.cuts) != wanted)
    throw bad_input(place, fmt::format("has {} places, expected {}", weight.cuts.size(), wanted));
  if (!std::ranges::is_sorted(weight.cuts) || (!weight.cuts.empty() && weight.cuts.back() > numel))
    throw bad_input(place, fmt::format("expected ascending places from 0 to {}", numel));
}

/// Everything that call_of and the laws take for granted.
void check(const QuantisationCase& c, const std::string& where) {
  if (recipe::find_recipe(c.recipe) == nullptr)
    throw bad_input(where + ".recipe", fmt::format("\"{}\" is no recipe, as te-mxfp8 is", c.recipe));
  if (c.layout != kCuts && layout::find_layout(c.layout) == nullptr)
    throw bad_input(where + ".layout", fmt::format("\"{}\" is neither \"cuts\" nor a layout", c.layout));
  if (c.world < 1 || c.world > kMostRanks)
    throw bad_input(where + ".world", fmt::format("expected 1 to {}", kMostRanks));
  if (c.expert_world > kMostRanks)
    throw bad_input(where + ".expert_world", fmt::format("expected at most {}", kMostRanks));
  if (c.weights.empty() || std::ssize(c.weights) > kMostWeights)
    throw bad_input(where + ".weights", fmt::format("expected 1 to {} weights", kMostWeights));
  if (c.model_type && *c.model_type != DType::bf16 && *c.model_type != DType::f16)
    throw bad_input(where + ".model_type", "expected bf16 or f16");
  if (!c.fault.empty() && find_quantisation_fault(c.fault) == nullptr)
    throw bad_input(where + ".fault", fmt::format("\"{}\" is no fault of sharded quantisation", c.fault));
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < c.weights.size(); ++i) {
    const WeightShape& weight = c.weights[i];
    if (weight.columns > kMostElements || weight.rows > kMostElements ||
        (elements += weight.rows * weight.columns) > kMostElements)
      throw bad_input(fmt::format("{}.weights[{}]", where, i),
                      fmt::format("all weights have at most {} elements", kMostElements));
    if (weight.shard_dim > 1)
      throw bad_input(fmt::format("{}.weights[{}].shard_dim", where, i), "expected 0 or 1");
    check_cuts(c, i, where);
  }
}

constexpr CaseKind kKind = kind_of<ShardedQuantisation, random_quantisation_case, check>("quantisation");

/// The same pieces as plain cuts, where every rank owns at most one run and in order of ranks.
std::optional<QuantisationCase> as_cuts(const QuantisationCase& c) {
  QuantisationCase plain = c;
  plain.layout = kCuts;
  try {
    const recipe::ShardedCall call = call_of(c);
    for (std::size_t i = 0; i < c.weights.size(); ++i) {
      const auto& owned = call.weights[i].owned;
      if (std::ssize(owned) != ranks_of(c, c.weights[i])) return std::nullopt;
      std::int64_t end = 0;
      for (std::size_t rank = 0; rank < owned.size(); ++rank) {
        if (owned[rank].size() > 1 || (!owned[rank].empty() && owned[rank][0].lo != end)) return std::nullopt;
        if (!owned[rank].empty()) end = owned[rank][0].hi;
        if (rank + 1 < owned.size()) plain.weights[i].cuts.push_back(end);
      }
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  return plain;
}

/// A weight of another shape, whose cuts stay within it.
void reshape(WeightShape& weight, std::int64_t rows, std::int64_t columns) {
  weight.rows = rows;
  weight.columns = columns;
  for (std::int64_t& cut : weight.cuts) cut = std::min(cut, rows * columns);
}

// The order of quantisation_situations().
enum Situation : std::size_t {
  kCutBlock,
  kEmptyPiece,
  kMoreRanksThanElements,
  kExperts,
  kManyRuns,
  kRefused,
  kBatches,
  kFirstNamed
};

struct Named {
  std::size_t recipe, family, layout;
};
Named named_situations(const QuantisationCase& c) {
  const auto recipes = recipe::recipes();
  const auto layouts = layout::named_layouts();
  const auto recipe_index = static_cast<std::size_t>(recipe::find_recipe(c.recipe) - recipes.data());
  const std::size_t layout_index =
      c.layout == kCuts ? 0 : 1 + static_cast<std::size_t>(layout::find_layout(c.layout) - layouts.data());
  return {kFirstNamed + recipe_index, kFirstNamed + recipes.size() + static_cast<std::size_t>(c.masters),
          kFirstNamed + recipes.size() + kMasterFamilies + layout_index};
}

/// Whether two ranks own elements of one block of the row direction.
bool cuts_a_block(const recipe::Recipe& recipe, const recipe::ShardedWeight& weight) {
  const recipe::Blocks blocks = recipe::blocks_of(recipe.block, recipe::Direction::row, weight.extent);
  std::vector<std::int32_t> owner(static_cast<std::size_t>(blocks.count()), -1);
  for (std::int32_t rank = 0; rank < std::ssize(weight.owned); ++rank) {
    for (const layout::Range& range : weight.owned[static_cast<std::size_t>(rank)]) {
      for (std::int64_t e = range.lo; e < range.hi; ++e) {
        std::int32_t& first = owner[static_cast<std::size_t>(blocks.of(e))];
        if (first >= 0 && first != rank) return true;
        first = rank;
      }
    }
  }
  return false;
}

std::vector<std::size_t> reached(const QuantisationCase& c, const recipe::ShardedCall& call) {
  const Named named = named_situations(c);
  std::vector<std::size_t> situations{named.recipe, named.family, named.layout};
  const auto any = [&](auto holds) { return std::ranges::any_of(call.weights, holds); };
  using Weight = recipe::ShardedWeight;
  if (any([&](const Weight& w) { return cuts_a_block(*call.recipe, w); })) situations.push_back(kCutBlock);
  if (any([](const Weight& w) {
        return std::ranges::any_of(w.owned, [](const auto& o) { return o.empty(); });
      }))
    situations.push_back(kEmptyPiece);
  if (any([](const Weight& w) { return std::ssize(w.owned) > w.extent.numel(); }))
    situations.push_back(kMoreRanksThanElements);
  if (any([&](const Weight& w) { return w.owned.size() != call.weights[0].owned.size(); }))
    situations.push_back(kExperts);
  if (any([](const Weight& w) {
        return std::ranges::any_of(w.owned, [](const auto& o) { return o.size() > 1; });
      }))
    situations.push_back(kManyRuns);
  if (call.weights.size() > 1 && call.weights_at_once > 0) situations.push_back(kBatches);
  return situations;
}

}  // namespace

const CaseKind& quantisation_kind() {
  return kKind;
}

std::string ShardedQuantisation::json() const {
  return json_of_case(kKind, value_);
}

std::string ShardedQuantisation::describe() const {
  return shardcheck::describe(value_);
}

std::vector<std::unique_ptr<Case>> ShardedQuantisation::smaller() const {
  std::vector<std::unique_ptr<Case>> all;
  if (!value_.fault.empty()) return all;
  const auto with = [&](auto change) {
    QuantisationCase less = value_;
    change(less);
    all.push_back(std::make_unique<ShardedQuantisation>(std::move(less)));
  };
  for (std::size_t i = 0; value_.weights.size() > 1 && i < value_.weights.size(); ++i)
    with([&](QuantisationCase& c) { c.weights.erase(c.weights.begin() + static_cast<std::ptrdiff_t>(i)); });
  if (value_.layout != kCuts) {
    if (auto plain = as_cuts(value_)) all.push_back(std::make_unique<ShardedQuantisation>(std::move(*plain)));
  } else if (value_.world > 1) {
    // One rank less: its piece goes to its neighbour.
    with([](QuantisationCase& c) {
      for (WeightShape& w : c.weights) {
        if (!w.expert || c.expert_world == 0) w.cuts.pop_back();
      }
      --c.world;
    });
  }
  for (std::size_t i = 0; i < value_.weights.size(); ++i) {
    const WeightShape& w = value_.weights[i];
    for (const std::int64_t fewer : {std::int64_t{1}, w.rows / 2, w.rows - 1}) {
      if (fewer > 0 && fewer < w.rows)
        with([&](QuantisationCase& c) { reshape(c.weights[i], fewer, w.columns); });
    }
    for (const std::int64_t fewer : {std::int64_t{1}, w.columns / 2, w.columns - 1}) {
      if (fewer > 0 && fewer < w.columns)
        with([&](QuantisationCase& c) { reshape(c.weights[i], w.rows, fewer); });
    }
  }
  for (std::size_t i = 0; i < value_.weights.size(); ++i) {
    if (value_.weights[i].shard_dim != 0) with([&](QuantisationCase& c) { c.weights[i].shard_dim = 0; });
  }
  if (value_.model_type) with([](QuantisationCase& c) { c.model_type.reset(); });
  if (value_.weights_at_once != 0) with([](QuantisationCase& c) { c.weights_at_once = 0; });
  if (value_.gradient) with([](QuantisationCase& c) { c.gradient = false; });
  if (value_.masters != MasterFamily::log_uniform)
    with([](QuantisationCase& c) { c.masters = MasterFamily::log_uniform; });
  return all;
}

const std::vector<std::string>& quantisation_situations() {
  static const std::vector<std::string> situations = [] {
    std::vector<std::string> all{"a block on several ranks", "a rank without a piece",
                                 "more ranks than elements", "weights of two groups",
                                 "several runs on a rank",   "a case that the layout refuses",
                                 "several batches"};
    for (const recipe::Recipe& each : recipe::recipes()) all.push_back(fmt::format("recipe {}", each.name));
    for (int family = 0; family < kMasterFamilies; ++family)
      all.push_back(fmt::format("masters {}", name_of(static_cast<MasterFamily>(family))));
    all.emplace_back("plain cuts");
    for (const layout::NamedLayout& each : layout::named_layouts())
      all.push_back(fmt::format("pieces of {}", each.name));
    return all;
  }();
  return situations;
}

JudgedCase judge_quantisation(Backend&, const Case& c) {
  const QuantisationCase& value = static_cast<const ShardedQuantisation&>(c).value();
  std::optional<recipe::ShardedCall> call;
  try {
    call = call_of(value);
  } catch (const Error&) {
    return {.findings = {}, .situations = {kRefused}};
  }
  if (value.fault.empty()) return {judge_sharded(*call, nullptr), reached(value, *call)};
  const QuantisationFault& fault = *find_quantisation_fault(value.fault);
  JudgedCase judged{judge_sharded(*call, fault.corrupt), {}};
  // The law that it must break first: others may break with it.
  std::ranges::stable_partition(judged.findings, [&](const Finding& f) { return f.clause == fault.law; });
  return judged;
}

}  // namespace shardcheck
