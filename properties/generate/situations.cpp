#include "properties/generate/situations.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/recipe/catalogue.h"
#include "properties/generate/fp8_situations.h"
#include "sim/scenario/grouped_calls.h"

namespace shardcheck {
namespace {

struct Counted {
  std::int32_t all = 0, fused = 0, unfused = 0;
};

Counted count_uses(const Scenario& s, std::int32_t parameter) {
  Counted counted;
  for (const ScenarioUse& use : s.uses) {
    if (use.parameter != parameter) continue;
    ++counted.all;
    counted.fused += use.producer == Producer::fused;
    counted.unfused += use.producer == Producer::unfused;
  }
  return counted;
}

/// True when a trainable parameter with elements is like that.
bool any_parameter(const Scenario& s, auto condition) {
  for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
    const ScenarioParameter& parameter = s.parameters[static_cast<std::size_t>(p)];
    if (parameter.trainable && parameter.numel() > 0 && condition(p, parameter)) return true;
  }
  return false;
}

/// The same, for its uses.
bool any_uses(const Scenario& s, auto condition) {
  return any_parameter(s,
                       [&](std::int32_t p, const ScenarioParameter&) { return condition(count_uses(s, p)); });
}

bool is_used_in_step(const Scenario& s, std::int32_t parameter, std::int32_t step) {
  for (std::int32_t rank = 0; rank < s.ranks; ++rank) {
    for (std::int32_t m = 0; m < s.microbatches; ++m) {
      if (is_used(s, parameter, step, rank, m)) return true;
    }
  }
  return false;
}

bool is_unused(const Scenario& s, std::int32_t parameter) {
  if (count_uses(s, parameter).all == 0) return true;
  for (std::int32_t step = 0; step < s.steps; ++step) {
    if (is_used_in_step(s, parameter, step)) return false;
  }
  return true;
}

/// Used in a step, and in a later one by nobody.
bool falls_silent(const Scenario& s, std::int32_t parameter) {
  if (s.silent.empty() || count_uses(s, parameter).all == 0) return false;
  bool was_used = false;
  for (std::int32_t step = 0; step < s.steps; ++step) {
    const bool used = is_used_in_step(s, parameter, step);
    if (was_used && !used) return true;
    was_used |= used;
  }
  return false;
}

/// In one microbatch some ranks use it and others do not.
bool is_silent_on_some_ranks(const Scenario& s, std::int32_t parameter) {
  if (s.silent.empty() || s.ranks == 1 || count_uses(s, parameter).all == 0) return false;
  for (std::int32_t step = 0; step < s.steps; ++step) {
    for (std::int32_t m = 0; m < s.microbatches; ++m) {
      std::int32_t users = 0;
      for (std::int32_t rank = 0; rank < s.ranks; ++rank) users += is_used(s, parameter, step, rank, m);
      if (users > 0 && users < s.ranks) return true;
    }
  }
  return false;
}

/// A rank of the group owns no element of the parameter.
bool has_empty_shard(const Scenario& s, const Geometry& geometry, std::int32_t parameter) {
  const std::int32_t b = geometry.bucket_of[static_cast<std::size_t>(parameter)];
  if (!shards_gradient(s.strategy) || b < 0) return false;
  const OwnerBucket& bucket = geometry.buckets[static_cast<std::size_t>(b)];
  std::int64_t holders = 0, last = -1;  // slices with an element, ascending with the places of pieces
  for (const Member& member : bucket.members) {
    if (member.parameter != parameter) continue;
    const std::int64_t first = std::max(member.lo / bucket.slice(), last + 1);
    last = std::max(last, (member.hi - 1) / bucket.slice());
    holders += last - first + 1;
  }
  return holders < bucket.group;
}

bool has_uneven_shape(const Scenario& s, const Geometry& geometry, std::int32_t parameter) {
  const std::int32_t b = geometry.bucket_of[static_cast<std::size_t>(parameter)];
  const std::int32_t group = b < 0 ? 1 : geometry.buckets[static_cast<std::size_t>(b)].group;
  return s.parameters[static_cast<std::size_t>(parameter)].numel() % group != 0;
}

/// A piece begins inside a block of the rows, so that two ranks share its scale.
bool has_cut_block(const Scenario& s, const Geometry& geometry, std::int32_t parameter) {
  if (!has_fp8_weight(s, parameter) || !shards_gradient(s.strategy)) return false;
  const auto p = static_cast<std::size_t>(parameter);
  const OwnerBucket& bucket = geometry.buckets[static_cast<std::size_t>(geometry.bucket_of[p])];
  const recipe::BlockShape block = recipe::find_recipe(s.fp8->recipe)->block;
  const auto is_inside_a_block = [&](std::int64_t element) {
    const std::int64_t columns = s.parameters[p].columns();
    const bool inside_row = block.along == 0 || element % columns % block.along != 0;
    const bool inside_rows =
        block.across != 1 && (block.across == 0 || element / columns % block.across != 0);
    return inside_row || inside_rows;
  };
  for (const Member& member : geometry.pieces_of[p]) {
    if (member.first > 0 && is_inside_a_block(member.first)) return true;
    for (std::int64_t cut = bucket.slice(); cut < bucket.numel(); cut += bucket.slice()) {
      const bool cuts = cut > member.lo && cut < member.hi;
      if (cuts && is_inside_a_block(member.first + cut - member.lo)) return true;
    }
  }
  return false;
}

/// Given up in a backward, or after the last one.
bool has_abort(const Scenario& s, bool in_backward) {
  return std::ranges::any_of(s.loop.aborts,
                             [&](const Abort& a) { return (a.microbatch >= 0) == in_backward; });
}

/// Given up between two uses of a backward whose destinations are leases.
bool has_abort_of_lease(const Scenario& s) {
  return has_leases(s.strategy) && std::ranges::any_of(s.loop.aborts, [&](const Abort& a) {
           return a.after_uses > 0 && a.after_uses < std::ssize(s.uses);
         });
}

bool is_recomputed_at_all(const Scenario& s) {
  for (std::size_t u = 0; u < s.uses.size(); ++u) {
    if (is_recomputed(s, unit_of_use(s, u))) return true;
  }
  return false;
}

/// A count of no tokens is like that.
bool has_empty(const Scenario& s, auto condition) {
  return std::ranges::any_of(s.token_counts,
                             [&](const TokenCount& c) { return c.tokens == 0 && condition(c); });
}

bool has_narrow_type(DType type) {
  return type != DType::f32;
}

std::vector<Situation> make_table() {
  using enum Focus;
  using S = const Scenario&;
  using G = const Geometry&;
  using P = const ScenarioParameter&;
  return {
      {"group of one", [](S s, G) { return s.ranks == 1; }, {leases, persistent, group_of_one}},
      {"expert group of one",
       [](S s, G) {
         return s.ranks > 1 && s.expert_parallel == s.ranks &&
                any_parameter(s, [](std::int32_t, P p) { return p.expert; });
       },
       {group_of_one}},
      {"ranks not a power of two",
       [](S s, G) { return !std::has_single_bit(static_cast<unsigned>(s.ranks)); },
       {scaling, leases, persistent}},
      {"empty shard",
       [](S s, G g) { return any_parameter(s, [&](std::int32_t p, P) { return has_empty_shard(s, g, p); }); },
       {leases, persistent, silence}},
      {"uneven shape",
       [](S s, G g) {
         return any_parameter(s, [&](std::int32_t p, P) { return has_uneven_shape(s, g, p); });
       },
       {leases, persistent}},
      {"bias",
       [](S s, G) { return any_parameter(s, [](std::int32_t, P p) { return p.shape.size() == 1; }); },
       {mixed_uses}},
      {"frozen",
       [](S s, G) { return std::ranges::any_of(s.parameters, [](P p) { return !p.trainable; }); },
       {frozen}},
      {"unused parameter",
       [](S s, G) { return any_parameter(s, [&](std::int32_t p, P) { return is_unused(s, p); }); },
       {silence, leases, persistent}},
      {"silent microbatch on one rank",
       [](S s, G) {
         return any_parameter(s, [&](std::int32_t p, P) { return is_silent_on_some_ranks(s, p); });
       },
       {silence, leases, persistent}},
      {"silent step",
       [](S s, G) { return any_parameter(s, [&](std::int32_t p, P) { return falls_silent(s, p); }); },
       {silence, persistent}},
      {"tied weight",
       [](S s, G) { return any_uses(s, [](Counted u) { return u.all > 1; }); },
       {repeated_uses, mixed_uses, today, leases, persistent}},
      {"fused and unfused uses",
       [](S s, G) { return any_uses(s, [](Counted u) { return u.fused > 0 && u.unfused > 0; }); },
       {mixed_uses, repeated_uses, today}},
      {"repeated layer with three uses",
       [](S s, G) { return any_uses(s, [](Counted u) { return u.fused >= 3; }); },
       {repeated_uses}},
      {"empty microbatch",
       [](S s, G) {
         return s.tokens == 0 || has_empty(s, [](const TokenCount& c) { return c.parameter < 0; });
       },
       {empty_microbatches, scaling}},
      {"grouped call", [](S s, G) { return has_grouped_calls(s); }, {leases, persistent, today}},
      {"expert without tokens in a grouped call",
       [](S s, G) {
         return has_empty(s, [&](const TokenCount& c) {
           return c.parameter >= 0 && call_mates(s, c.parameter).size() > 1;
         });
       },
       {empty_microbatches}},
      {"several experts in one weight",
       [](S s, G) { return any_parameter(s, [](std::int32_t, P p) { return p.groups > 1; }); },
       {leases, persistent}},
      {"one of several experts in a weight without tokens",
       [](S s, G) { return has_empty(s, [](const TokenCount& c) { return c.group >= 0; }); },
       {empty_microbatches}},
      {"three steps", [](S s, G) { return s.steps >= 3; }, {persistent, leases, silence, overlap}},
      {"several buckets", [](S, G g) { return g.buckets.size() > 1; }, {overlap, persistent, leases, frozen}},
      {"lease reuse",
       [](S s, G g) {
         return has_leases(s.strategy) && g.buckets.size() > static_cast<std::size_t>(s.slots);
       },
       {leases, overlap}},
      {"delayed", [](S s, G) { return s.execution == Execution::delayed; }, {today, leases, repeated_uses}},
      {"graph", [](S s, G) { return s.execution == Execution::graph; }, {today, leases, repeated_uses}},
      {"today's protocol", [](S s, G) { return s.write_mode <= WriteMode::te_ops; }, {today}},
      {"narrow wire", [](S s, G) { return has_narrow_type(s.comm); }, {scaling, leases, persistent}},
      {"narrow main_grad",
       [](S s, G) { return has_narrow_type(s.main_grad); },
       {scaling, leases, persistent}},
      {"owner without fused producers",
       [](S s, G) { return is_unfused_only(s.strategy); },
       {leases, silence, scaling, overlap}},
      {"weights staged in gradients", [](S s, G) { return s.staging; }, {persistent}},
      {"hybrid mesh",
       [](S s, G) { return s.outer > 1 && s.outer_mode == OuterMode::replicate; },
       {leases, scaling, overlap}},
      {"hybrid mesh that shares shards",
       [](S s, G) { return s.outer_mode == OuterMode::shard; },
       {leases, overlap}},
      {"outer reduction in every microbatch",
       [](S s, G) { return s.outer_sync == Sync::every && s.microbatches > 1; },
       {leases}},
      {"microbatches summed unsharded",
       [](S s, G) { return s.sync == Sync::last && s.microbatches > 1; },
       {leases}},
      {"gradients moved to the host", [](S s, G) { return s.offload; }, {leases, overlap, scaling}},
      {"FP8 weight without a piece on a rank",
       [](S s, G g) {
         return s.fp8 && any_parameter(s, [&](std::int32_t p, P) {
                  return has_fp8_weight(s, p) && has_empty_shard(s, g, p);
                });
       },
       {fp8}},
      {"FP8 block cut by a piece",
       [](S s, G g) { return any_parameter(s, [&](std::int32_t p, P) { return has_cut_block(s, g, p); }); },
       {fp8}},
      {"FP8 expert weight",
       [](S s, G) {
         return s.expert_parallel > 1 && any_parameter(s, [&](std::int32_t p, P parameter) {
                  return parameter.expert && has_fp8_weight(s, p);
                });
       },
       {fp8}},
      {"pipeline stages", [](S s, G) { return s.stages > 1; }, {pipeline}},
      {"weight tied across stages",
       [](S s, G) { return any_parameter(s, [](std::int32_t, P p) { return p.tied_to >= 0; }); },
       {pipeline}},
      {"tensor-parallel ranks", [](S s, G) { return s.tensor > 1; }, {pipeline}},
      {"copies on tensor-parallel ranks",
       [](S s, G) { return any_parameter(s, [](std::int32_t, P p) { return p.sequence_parallel; }); },
       {pipeline}},
      {"deferred gradient",
       [](S s, G) { return std::ranges::count(s.uses, Producer::deferred, &ScenarioUse::producer) > 0; },
       {pipeline}},
      {"assigned gradient",
       [](S s, G) { return std::ranges::count(s.uses, Producer::assigned, &ScenarioUse::producer) > 0; },
       {pipeline}},
      {"distributed weight",
       [](S s, G) { return any_parameter(s, [&](std::int32_t p, P) { return is_distributed(s, p); }); },
       {overlap, persistent, silence, scaling}},
      {"distributed weight shared by some of the ranks",
       [](S s, G) { return has_distributed(s) && s.gtp > 1 && s.gtp < s.ranks; },
       {persistent}},
      {"distributed weight shared by all ranks",
       [](S s, G) { return has_distributed(s) && s.gtp > 1 && s.gtp == s.ranks; },
       {persistent}},
      {"parameter without a hook",
       [](S s, G) { return any_parameter(s, [&](std::int32_t p, P) { return !has_hook(s, p); }); },
       {overlap, leases, persistent}},
      {"fused use without a flag beside others",
       [](S s, G) {
         return any_parameter(s, [&](std::int32_t p, P) {
           return has_hook(s, p) && std::ranges::count(s.uses, ScenarioUse{p, Producer::unflagged, -1}) > 0;
         });
       },
       {mixed_uses}},
      {"products added to param.grad",
       [](S s, G) { return any_parameter(s, [&](std::int32_t p, P) { return has_chain(s, p); }); },
       {leases, persistent, repeated_uses}},
      {"products added to param.grad beside other gradients",
       [](S s, G) {
         return any_parameter(
             s, [&](std::int32_t p, P) { return has_chain(s, p) && count_uses(s, p).unfused > 0; });
       },
       {mixed_uses}},
      {"clipping", [](S s, G) { return s.clip > 0; }, {pipeline, scaling}},
      {"recomputed unit", [](S s, G) { return is_recomputed_at_all(s); }, {recompute}},
      {"abort in backward", [](S s, G) { return has_abort(s, true); }, {interrupted}},
      {"abort between the uses of leases", [](S s, G) { return has_abort_of_lease(s); }, {interrupted}},
      {"abort after the last backward", [](S s, G) { return has_abort(s, false); }, {interrupted}},
      {"resumed process",
       [](S s, G) {
         return std::ranges::any_of(s.loop.resumes, [&](std::int32_t t) { return is_resumed_after(s, t); });
       },
       {interrupted}},
      {"thawing parameter",
       [](S s, G) {
         return any_parameter(
             s, [&](std::int32_t p, P parameter) { return parameter.thaws_at > 0 && !is_unused(s, p); });
       },
       {frozen}},
      {"reduced in every microbatch",
       [](S s, G) { return s.strategy == Strategy::fsdp2 && s.sync == Sync::every && s.microbatches > 1; },
       {sync}},
      {"reduced in the last microbatch",
       [](S s, G) { return s.sync == Sync::last && s.microbatches > 1; },
       {sync}},
      {"reductions not overlapped", [](S s, G) { return !s.overlap; }, {sync}},
      {"per-token loss", [](S s, G) { return s.loss == Loss::per_token; }, {scaling, empty_microbatches}},
      {"average in the collective",
       [](S s, G) { return s.loss == Loss::mean && s.scaling == Scaling::in_collective; },
       {scaling, group_of_one}},
  };
}

}  // namespace

const std::vector<Situation>& situations() {
  static const std::vector<Situation> table = [] {
    std::vector<Situation> all = make_table();
    for (Situation& each : fp8_situations()) all.push_back(std::move(each));
    return all;
  }();
  return table;
}

bool is_required(const Situation& situation, Focus focus) {
  // What only FP8 weights can reach is not asked of properties that have none.
  const bool is_of_fp8 = situation.required_by == std::vector{Focus::fp8};
  return (focus == Focus::any && !is_of_fp8) ||
         std::ranges::find(situation.required_by, focus) != situation.required_by.end();
}

}  // namespace shardcheck
