#include "sim/scenario/fp8.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/recipe/catalogue.h"
#include "sim/scenario/provenance_coding.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/validate.h"

namespace shardcheck {

std::string_view name_of(Masters masters) {
  return masters == Masters::kept_init ? "kept-init" : "from-bytes";
}

std::string_view name_of(Transposes transposes) {
  return transposes == Transposes::discard ? "discard" : "keep";
}

bool has_fp8_weight(const Scenario& s, std::int32_t parameter) {
  const ScenarioParameter& p = s.parameters[static_cast<std::size_t>(parameter)];
  return s.fp8.has_value() && p.trainable && p.shape.size() == 2 && p.numel() > 0;
}

bool is_skipped(const Scenario& s, std::int32_t step) {
  return s.fp8 && std::ranges::count(s.fp8->skipped_steps, step) > 0;
}

float optimizer_rate(const Scenario& s) {
  constexpr float kRate = 0x1p-4f;  // keeps weights of exact data exact
  if (!s.fp8 || s.data != DataMode::provenance) return kRate;
  // The largest power of four of a contribution becomes a change of about 1, the size of a weight.
  std::int32_t digits = 12;
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
    if (const auto coding = has_fp8_weight(s, p) ? provenance_coding(s, p) : std::nullopt)
      digits = std::min(digits, coding->digits);
  }
  return std::ldexp(1.0f, -2 * (digits - 1) + std::ilogb(static_cast<float>(s.ranks)));
}

namespace {

using recipe::Recipe;

[[noreturn]] void fail(const std::string& where, std::string_view field, const std::string& sentence) {
  throw bad_input(fmt::format("{}: fp8.{}", where, field), sentence);
}

/// Why a weight of a sharded owner, or of any, cannot have the recipe; empty when it can.
std::string why_not(const Recipe& named, const Scenario& s) {
  if (named.formula == recipe::ScaleFormula::two_level)
    return "has 4-bit codes under two levels of scales, which no product of this plan takes; use an FP8 "
           "recipe";
  if (named.second_copy == recipe::SecondCopy::requantised_transposed)
    return "quantises rows and columns each for itself and stores columns transposed, so that a shard of one "
           "is "
           "no shard of the other: it is for activations; use te-block-128x128 for weights";
  if (named.amax_nan == recipe::AmaxNan::propagate && shards_gradient(s.strategy))
    return "lets a NaN spoil the amax, and the maximum over ranks drops it, so that ranks would disagree "
           "(F44); "
           "use a te- recipe, or an owner that does not shard";
  return "";
}

std::vector<std::string_view> recipes_of_weights(const Scenario& s) {
  std::vector<std::string_view> names;
  for (const Recipe& named : recipe::recipes()) {
    if (why_not(named, s).empty()) names.push_back(named.name);
  }
  return names;
}

void judge_steps(const std::string& where, std::string_view field, const std::vector<std::int32_t>& steps,
                 std::int32_t count) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string path = fmt::format("{}[{}]", field, i);
    if (steps[i] < 0 || steps[i] >= count)
      fail(where, path,
           fmt::format("{} is out of range; the scenario has the steps 0 to {}", steps[i], count - 1));
    if (i > 0 && steps[i] <= steps[i - 1])
      fail(where, path, fmt::format("{} does not follow {}; give ascending steps", steps[i], steps[i - 1]));
  }
}

void judge_shapes(const Scenario& s, const std::string& where, const Recipe& named) {
  bool any = false;
  for (std::int32_t i = 0; i < std::ssize(s.parameters); ++i) {
    if (!has_fp8_weight(s, i)) continue;
    any = true;
    const ScenarioParameter& p = s.parameters[static_cast<std::size_t>(i)];
    if (p.rows() % named.multiples.rows == 0 && p.columns() % named.multiples.columns == 0) continue;
    throw bad_input(
        fmt::format("{}: parameters[{}].shape", where, i),
        fmt::format("{}x{} is no FP8 weight of {}, which takes multiples of {} rows and {} columns", p.rows(),
                    p.columns(), named.name, named.multiples.rows, named.multiples.columns));
  }
  if (!any)
    fail(where, "recipe",
         "no parameter is a trainable matrix with elements; give one, or leave the fp8 section out");
}

}  // namespace

void validate_fp8(const Scenario& s, const std::string& where) {
  if (!s.fp8) return;
  const Fp8Training& fp8 = *s.fp8;
  if ((is_unfused_only(s.strategy) && s.strategy != Strategy::fsdp2) || s.outer > 1)
    throw bad_input(
        where + ": fp8",
        fmt::format("FP8 weights are simulated under Megatron's DDP and FSDP v1 and under FSDP2, on one "
                    "outer group, and this is {} on {}; leave the section out, or use one of these owners",
                    name_of(s.strategy), s.outer));
  const Recipe* named = recipe::find_recipe(fp8.recipe);
  if (named == nullptr)
    fail(where, "recipe",
         fmt::format("\"{}\" is no recipe; weights here can have {}", fp8.recipe,
                     fmt::join(recipes_of_weights(s), ", ")));
  if (const std::string reason = why_not(*named, s); !reason.empty())
    fail(where, "recipe", fmt::format("{} {}", named->name, reason));
  const bool is_delayed = named->formula == recipe::ScaleFormula::given;
  if (fp8.history < limits::kHistory.low || fp8.history > limits::kHistory.high)
    fail(where, "history",
         fmt::format("{} is out of range; give {} to {}", fp8.history, limits::kHistory.low,
                     limits::kHistory.high));
  if (!is_delayed && fp8.history != Fp8Training{}.history)
    fail(where, "history",
         fmt::format("{} has no history of amaxes; leave the field out, or use te-delayed", named->name));
  if (fp8.transposes == Transposes::keep && !recipe::is_derivable(named->second_copy))
    fail(where, "transposes",
         fmt::format("{} has no transpose that could be kept: its column copy is gathered; use \"discard\"",
                     named->name));
  judge_steps(where, "skipped_steps", fp8.skipped_steps, s.steps);
  judge_steps(where, "evaluations", fp8.evaluations, s.steps);
  if (fp8.reload_after < -1 || fp8.reload_after >= s.steps)
    fail(where, "reload_after",
         fmt::format("{} is out of range; the scenario has the steps 0 to {}, and -1 is never",
                     fp8.reload_after, s.steps - 1));
  judge_shapes(s, where, *named);
}

std::string describe_fp8(const Scenario& s) {
  if (!s.fp8) return "";
  const Fp8Training& fp8 = *s.fp8;
  std::string text = fmt::format(" Weights in FP8 by {}", fp8.recipe);
  const recipe::Recipe* named = recipe::find_recipe(fp8.recipe);
  if (named != nullptr && named->formula == recipe::ScaleFormula::given)
    text += fmt::format(" over {} step{}", fp8.history, fp8.history == 1 ? "" : "s");
  text += fp8.masters == Masters::kept_init ? ", masters from the kept initial value"
                                            : ", masters from dequantised codes";
  if (fp8.transposes == Transposes::keep) text += ", transposes kept";
  if (fp8.recompute) text += ", forward recomputed in backward";
  if (s.reshard == Reshard::after_backward) text += ", kept whole from a forward to its backward";
  if (s.reshard == Reshard::after_step) text += ", kept whole until a step's last backward";
  const auto steps = [](const std::vector<std::int32_t>& list) {
    return fmt::format("{} {}", list.size() == 1 ? "step" : "steps", fmt::join(list, ", "));
  };
  if (!fp8.skipped_steps.empty()) text += fmt::format(", {} skipped", steps(fp8.skipped_steps));
  if (!fp8.evaluations.empty()) text += fmt::format(", an evaluation after {}", steps(fp8.evaluations));
  if (fp8.reload_after >= 0) text += fmt::format(", saved and loaded after step {}", fp8.reload_after);
  return text + ".";
}

}  // namespace shardcheck
