#include "properties/generate/shrinks.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/error.h"
#include "properties/generate/complexity.h"
#include "properties/generate/room.h"
#include "properties/generate/soundness.h"
#include "sim/scenario/grouped_calls.h"
#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

bool is_valid(const Scenario& s) {
  try {
    validate(s, "shrink");
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Mends what a smaller mesh, schedule or list of uses left behind.
void repair(Scenario& s) {
  for (Silence& silence : s.silent) {
    silence.step = std::min(silence.step, s.steps - 1);
    silence.rank = std::min(silence.rank, s.ranks - 1);
    silence.microbatch = std::min(silence.microbatch, s.microbatches - 1);
  }
  for (TokenCount& count : s.token_counts) {
    count.rank = std::min(count.rank, s.ranks - 1);
    count.microbatch = std::min(count.microbatch, s.microbatches - 1);
  }
  std::vector<TokenCount> kept;
  for (const TokenCount& count : s.token_counts) {
    const bool known = std::ranges::any_of(kept, [&](const TokenCount& other) {
      return other.rank == count.rank && other.microbatch == count.microbatch &&
             other.parameter == count.parameter && other.group == count.group;
    });
    if (!known) kept.push_back(count);
  }
  s.token_counts = std::move(kept);
  for (ScenarioParameter& p : s.parameters) {
    p.stage = std::min(p.stage, s.stages - 1);
    if (p.tied_to >= 0 && s.parameters[static_cast<std::size_t>(p.tied_to)].stage == p.stage) p.tied_to = -1;
    p.sequence_parallel &= s.tensor > 1;
    if (p.tied_to < 0) continue;
    const ScenarioParameter& other = s.parameters[static_cast<std::size_t>(p.tied_to)];
    p.shape = other.shape;
    p.dtype = other.dtype;
    p.thaws_at = other.thaws_at;
    p.groups = other.groups;
  }
  std::erase_if(s.token_counts, [&](const TokenCount& count) {
    return count.parameter >= 0 &&
           count.group >= s.parameters[static_cast<std::size_t>(count.parameter)].groups;
  });
  s.expert_parallel = std::gcd(s.expert_parallel, s.ranks);
  s.gtp = std::gcd(s.gtp, s.ranks);
  s.outer = allows_outer(s.strategy) ? std::gcd(s.outer, s.ranks / s.expert_parallel) : 1;
  if (s.outer == 1 || s.strategy == Strategy::fsdp2 || !has_leases(s.strategy))
    s.outer_mode = OuterMode::replicate;
  if (s.strategy != Strategy::fsdp2) s.sync = Sync::every;
  if (s.strategy != Strategy::fsdp2 || s.outer == 1) s.outer_sync = Sync::last;
  if (!has_reshard(s)) s.reshard = Reshard::after_forward;
  s.offload &= allows_offload(s.strategy);
  mend_loop(s);
  mend_calls(s);
  const bool fuses = std::ranges::count(s.uses, Producer::fused, &ScenarioUse::producer) > 0;
  if (!fuses || s.write_mode == WriteMode::r7) s.execution = Execution::eager;
  if (s.write_mode != WriteMode::te_module) s.first_microbatch = FirstMicrobatch::none;
  if (s.write_mode == WriteMode::r4 && has_leases(s.strategy)) s.write_mode = WriteMode::r5;
  s.staging &= allows_staging(s);
}

/// What the FP8 section says of steps and owners that are gone.
void repair_fp8(Scenario& s) {
  if (!s.fp8) return;
  const auto is_gone = [&](std::int32_t step) { return step >= s.steps; };
  std::erase_if(s.fp8->skipped_steps, is_gone);
  std::erase_if(s.fp8->evaluations, is_gone);
  s.fp8->reload_after = std::min(s.fp8->reload_after, s.steps - 1);
  if (s.fp8->recipe != "te-delayed") s.fp8->history = Fp8Training{}.history;
}

/// Collects candidates: a copy of the source, changed, mended, and kept when it is valid and simpler.
class Candidates {
 public:
  explicit Candidates(const Scenario& source)
      : source_(source), complexity_(complexity_of(source)), sound_(is_sound(source)) {}

  template <class Change>
  void try_change(Change change) {
    Scenario s = source_;
    change(s);
    repair(s);
    repair_fp8(s);
    // Without any use there is no contribution left that a sentence could name.
    if (s.uses.empty() && !source_.uses.empty()) return;
    if (complexity_of(s) >= complexity_ || !is_valid(s) || (sound_ && !is_sound(s))) return;
    if (std::ranges::find(found_, s) == found_.end()) found_.push_back(std::move(s));
  }
  /// The field takes each of these values.
  template <class Field, class Value>
  void try_values(Field Scenario::*field, std::initializer_list<Value> values) {
    for (const Value value : values) {
      if (value >= 1 && value < static_cast<Value>(source_.*field))
        try_change([&](Scenario& s) { s.*field = static_cast<Field>(value); });
    }
  }
  template <class Field>
  void try_value(Field Scenario::*field, Field value) {
    if (source_.*field != value) try_change([&](Scenario& s) { s.*field = value; });
  }
  /// Each element of the list is left out.
  template <class Item>
  void try_without(std::vector<Item> Scenario::*list) {
    for (std::size_t i = 0; i < (source_.*list).size(); ++i) {
      try_change([&](Scenario& s) { (s.*list).erase((s.*list).begin() + static_cast<std::ptrdiff_t>(i)); });
    }
  }

  std::vector<Scenario> take() { return std::move(found_); }

 private:
  const Scenario& source_;
  Complexity complexity_;
  bool sound_;
  std::vector<Scenario> found_;
};

void drop_parameter(Scenario& s, std::int32_t parameter) {
  s.parameters.erase(s.parameters.begin() + parameter);
  std::erase_if(s.uses, [&](const ScenarioUse& use) { return use.parameter == parameter; });
  std::erase_if(s.silent, [&](const Silence& silence) { return silence.parameter == parameter; });
  std::erase_if(s.token_counts, [&](const TokenCount& count) { return count.parameter == parameter; });
  for (TokenCount& count : s.token_counts) count.parameter -= count.parameter > parameter;
  for (ScenarioParameter& p : s.parameters) {
    if (p.tied_to == parameter) p.tied_to = -1;
    p.tied_to -= p.tied_to > parameter;
  }
  for (ScenarioUse& use : s.uses) use.parameter -= use.parameter > parameter;
  for (Silence& silence : s.silent) silence.parameter -= silence.parameter > parameter;
}

/// All members of a call are silent together.
void drop_silence_of_call(Scenario& s, Silence silence) {
  for (const std::int32_t mate : call_mates(s, silence.parameter)) {
    silence.parameter = mate;
    std::erase(s.silent, silence);
  }
}

void try_extent(Candidates& to, const Scenario& s) {
  to.try_values(&Scenario::steps, {1, 2, s.steps / 2, s.steps - 1});
  to.try_values(&Scenario::microbatches, {1, 2, s.microbatches / 2, s.microbatches - 1});
  to.try_values(&Scenario::ranks, {1, 2, s.ranks / 2, s.ranks - 1});
  to.try_values(&Scenario::tensor, {1, 2});
  to.try_values(&Scenario::stages, {1, 2});
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p)
    to.try_change([&](Scenario& c) { drop_parameter(c, p); });
  to.try_without(&Scenario::uses);
  to.try_without(&Scenario::silent);
  if (has_grouped_calls(s)) {
    for (std::size_t i = 0; i < s.silent.size(); ++i)
      to.try_change([&](Scenario& c) { drop_silence_of_call(c, s.silent[i]); });
  }
  to.try_without(&Scenario::token_counts);
  to.try_values(&Scenario::tokens, {std::int64_t{1}});
  for (std::size_t i = 0; i < s.token_counts.size(); ++i)
    to.try_change([&](Scenario& c) { c.token_counts[i].tokens = 1; });
}

void try_protocol(Candidates& to, const Scenario& s) {
  to.try_value(&Scenario::write_mode, WriteMode::r5);
  to.try_value(&Scenario::write_mode, WriteMode::r7);  // where autograd holds every gradient
  to.try_value(&Scenario::first_microbatch, FirstMicrobatch::none);
  to.try_value(&Scenario::execution, Execution::eager);
  for (int strategy = 0; strategy < static_cast<int>(s.strategy); ++strategy)
    to.try_value(&Scenario::strategy, static_cast<Strategy>(strategy));
  to.try_value(&Scenario::bucket_size, std::int64_t{0});
  to.try_value(&Scenario::overlap, false);
  to.try_value(&Scenario::slots, 2);
  to.try_value(&Scenario::zeroing, true);
  to.try_value(&Scenario::staging, false);
  to.try_value(&Scenario::expert_parallel, 1);
  to.try_value(&Scenario::gtp, 1);
  to.try_values(&Scenario::gtp, {2});
  to.try_value(&Scenario::outer, 1);
  to.try_value(&Scenario::outer_mode, OuterMode::replicate);
  to.try_value(&Scenario::sync, Sync::every);
  to.try_value(&Scenario::outer_sync, Sync::last);
  to.try_value(&Scenario::reshard, Reshard::after_forward);
  to.try_value(&Scenario::offload, false);
}

void try_numerics(Candidates& to) {
  to.try_value(&Scenario::clip, 0);
  to.try_value(&Scenario::loss, Loss::mean);
  to.try_value(&Scenario::scaling, Scaling::before);
  to.try_value(&Scenario::main_grad, DType::f32);
  to.try_value(&Scenario::comm, DType::f32);
  to.try_value(&Scenario::data, DataMode::provenance);
  to.try_change([](Scenario& c) {
    c.data = DataMode::provenance;
    make_room(c, 0);
  });
}

/// Smaller shapes: one element, two by two, a row, a column, halves, one less; a matrix for a vector, and
/// an element where there was none.
void try_shape(Candidates& to, const Scenario& s, std::size_t parameter) {
  const auto& shape = s.parameters[parameter].shape;
  const bool is_shared = is_distributed(s, static_cast<std::int32_t>(parameter));
  const std::int64_t groups = is_shared ? s.gtp : s.parameters[parameter].groups;  // rows are a multiple
  const std::vector<std::int32_t> mates = call_mates(s, static_cast<std::int32_t>(parameter));
  const auto reshape = [&](const std::vector<std::int64_t>& to_shape) {
    to.try_change([&](Scenario& c) {
      for (const std::int32_t mate : mates) c.parameters[static_cast<std::size_t>(mate)].shape = to_shape;
    });
  };
  if (s.parameters[parameter].numel() == 0) {
    std::vector<std::int64_t> some = shape;
    for (std::int64_t& side : some) side = std::max<std::int64_t>(side, &side == &some.front() ? groups : 1);
    reshape(some);
  }
  const auto offer = [&](std::vector<std::int64_t> smaller) {
    const bool grows = !std::ranges::equal(smaller, shape, std::ranges::less_equal());
    const bool empties = std::ranges::count(smaller, 0) > std::ranges::count(shape, 0);
    if (grows || empties) return;
    reshape(smaller);
  };
  if (shape.size() == 1) {
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{2}, shape[0] / 2, shape[0] - 1}) offer({n});
    to.try_change([&](Scenario& c) { c.parameters[parameter].shape = {1, shape[0]}; });
    return;
  }
  const std::int64_t rows = shape[0], columns = shape[1];
  const std::int64_t rows_of_group = rows / groups;
  offer({std::min<std::int64_t>(rows, groups), std::min<std::int64_t>(columns, 1)});
  offer({2 * groups, 2});
  offer({groups, columns});
  offer({rows, 1});
  offer({rows_of_group / 2 * groups, columns});
  offer({rows, columns / 2});
  offer({rows - groups, columns});
  offer({rows, columns - 1});
}

void try_parameter(Candidates& to, const Scenario& s, std::size_t p) {
  const ScenarioParameter& parameter = s.parameters[p];
  const auto set = [&]<class Field>(Field ScenarioParameter::*field, Field value) {
    if (parameter.*field == value) return;
    to.try_change([&](Scenario& c) { c.parameters[p].*field = value; });
    const std::vector<std::int32_t> mates = call_mates(s, static_cast<std::int32_t>(p));
    if (mates.size() == 1) return;
    to.try_change([&](Scenario& c) {
      for (const std::int32_t mate : mates) c.parameters[static_cast<std::size_t>(mate)].*field = value;
    });
  };
  set(&ScenarioParameter::expert, false);
  set(&ScenarioParameter::sequence_parallel, false);
  set(&ScenarioParameter::trainable, true);
  set(&ScenarioParameter::dtype, DType::bf16);
  set(&ScenarioParameter::unit, 0);
  set(&ScenarioParameter::tied_to, -1);
  set(&ScenarioParameter::stage, 0);
  for (const std::int32_t groups : {1, 2}) {
    if (groups >= parameter.groups) continue;
    to.try_change([&](Scenario& c) {  // fewer experts of the same shape
      for (const std::int32_t mate : call_mates(s, static_cast<std::int32_t>(p))) {
        ScenarioParameter& fewer = c.parameters[static_cast<std::size_t>(mate)];
        fewer.shape[0] = fewer.rows_of_group() * groups;
        fewer.groups = groups;
      }
    });
  }
  if (parameter.name != generic_name(p))
    to.try_change([&](Scenario& c) { c.parameters[p].name = generic_name(p); });
}

void try_use(Candidates& to, const Scenario& s, std::size_t u) {
  if (s.uses[u].unit != -1) to.try_change([&](Scenario& c) { c.uses[u].unit = -1; });
  if (s.uses[u].grouped) to.try_change([&](Scenario& c) { c.uses[u].grouped = false; });
  const bool vector = s.parameters[static_cast<std::size_t>(s.uses[u].parameter)].shape.size() == 1;
  if (!vector && s.uses[u].producer != Producer::fused)
    to.try_change([&](Scenario& c) {
      for (ScenarioUse& use : c.uses) {  // of a distributed weight, all
        if (use.parameter == s.uses[u].parameter && use.producer == Producer::distributed)
          use.producer = Producer::fused;
      }
      for (const GroupedCall& call : calls_of(s)) {
        if (u < call.first || u >= call.last) continue;
        for (std::size_t member = call.first; member < call.last; ++member)
          c.uses[member].producer = Producer::fused;
      }
    });
}

/// Without the FP8 life, with less of it, with a plainer recipe.
void try_fp8(Candidates& to, const Scenario& s) {
  if (!s.fp8) return;
  to.try_change([](Scenario& c) { c.fp8.reset(); });
  const auto set = [&]<class Field>(Field Fp8Training::*field) {
    to.try_change([&](Scenario& c) { (*c.fp8).*field = Fp8Training{}.*field; });
  };
  set(&Fp8Training::reload_after);
  set(&Fp8Training::evaluations);
  set(&Fp8Training::skipped_steps);
  set(&Fp8Training::recompute);
  set(&Fp8Training::transposes);
  set(&Fp8Training::masters);
  for (std::size_t i = 0; i < s.fp8->evaluations.size(); ++i)
    to.try_change([&](Scenario& c) {
      c.fp8->evaluations.erase(c.fp8->evaluations.begin() + static_cast<std::ptrdiff_t>(i));
    });
  for (std::size_t i = 0; i < s.fp8->skipped_steps.size(); ++i)
    to.try_change([&](Scenario& c) {
      c.fp8->skipped_steps.erase(c.fp8->skipped_steps.begin() + static_cast<std::ptrdiff_t>(i));
    });
  if (s.fp8->reload_after > 0) to.try_change([](Scenario& c) { c.fp8->reload_after = 0; });
  if (s.fp8->recipe == "te-delayed") to.try_change([](Scenario& c) { c.fp8->history = 1; });
  to.try_change([](Scenario& c) { c.fp8->recipe = "te-current-pow2"; });
}

/// Without recomputation, aborts, resumes and thawing, each for itself, and with plainer ones.
void try_loop(Candidates& to, const Scenario& s) {
  to.try_change([](Scenario& c) { c.loop = {}; });
  to.try_change([](Scenario& c) { c.loop.recompute = {}; });
  to.try_change([](Scenario& c) { c.loop.recompute = {.all = true, .units = {}}; });
  to.try_change([](Scenario& c) { c.loop.resumes.clear(); });
  for (std::size_t i = 0; i < s.loop.aborts.size(); ++i) {
    to.try_change(
        [&](Scenario& c) { c.loop.aborts.erase(c.loop.aborts.begin() + static_cast<std::ptrdiff_t>(i)); });
    to.try_change([&](Scenario& c) { c.loop.aborts[i].after_uses = 0; });
    to.try_change([&](Scenario& c) { --c.loop.aborts[i].after_uses; });
    to.try_change(
        [&](Scenario& c) { c.loop.aborts[i].microbatch = std::min(c.loop.aborts[i].microbatch, 0); });
  }
  for (std::size_t p = 0; p < s.parameters.size(); ++p) {
    for (const std::int32_t at : {0, 1}) {
      to.try_change([&](Scenario& c) {
        for (const std::int32_t mate : call_mates(s, static_cast<std::int32_t>(p))) {
          std::int32_t& thaws_at = c.parameters[static_cast<std::size_t>(mate)].thaws_at;
          thaws_at = std::min(thaws_at, at);
        }
      });
    }
  }
}

/// All of one kind at once, which takes many single steps off a search that is nearly done.
void try_plain(Candidates& to) {
  to.try_change([](Scenario& c) {
    for (ScenarioParameter& p : c.parameters) p.dtype = DType::bf16;
    for (std::size_t p = 0; p < c.parameters.size(); ++p) c.parameters[p].name = generic_name(p);
    c.seed = 1;
    c.name.clear();
  });
}

}  // namespace

std::vector<Scenario> shrinks(const Scenario& s) {
  Candidates to(s);
  try_extent(to, s);
  for (std::size_t p = 0; p < s.parameters.size(); ++p) try_shape(to, s, p);
  try_fp8(to, s);
  try_loop(to, s);
  try_protocol(to, s);
  try_numerics(to);
  try_plain(to);
  for (std::size_t p = 0; p < s.parameters.size(); ++p) try_parameter(to, s, p);
  for (std::size_t u = 0; u < s.uses.size(); ++u) try_use(to, s, u);
  to.try_value(&Scenario::seed, std::uint64_t{1});
  to.try_value(&Scenario::name, std::string{});
  return to.take();
}

}  // namespace shardcheck
