#include "properties/audit/audit_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/error.h"
#include "sim/scenario/grouped_calls.h"
#include "sim/scenario/json.h"
#include "sim/scenario/json_text.h"

namespace shardcheck {
namespace {

using nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr std::string_view kStrategyNames[] = {"optim_grads_params", "optim_grads", "optim", "no_shard"};

std::string_view zeroing_name(bool zeroes) {
  return zeroes ? "zero" : "none";
}

ordered_json json_of(const AuditAdapter& a) {
  const AuditAdapter preset;
  ordered_json json = {{"name", a.name}};
  const auto write = [&](const char* name, const auto& value, const auto& usual, const auto& shown) {
    if (value != usual) json[name] = shown;
  };
  write("sync", a.sync, preset.sync, name_of(a.sync));
  write("all_reduce", a.all_reduce, preset.all_reduce, name_of(a.all_reduce));
  write("zero_grad", a.zeroes_gradients, false, zeroing_name(a.zeroes_gradients));
  write("reshard", a.reshards, true, a.reshards);
  write("find_unused", a.finds_unused, false, a.finds_unused);
  write("bucket_view", a.bucket_view, false, a.bucket_view);
  write("small_buckets", a.small_buckets, false, a.small_buckets);
  write("overlap", a.overlap, false, a.overlap);
  write("loss_division", a.loss_division, preset.loss_division, name_of(a.loss_division));
  write("strategy", a.strategy, preset.strategy, a.strategy);
  write("replicas", a.replicas, 1, a.replicas);
  return json;
}

/// An object of the text, with its place in sentences.
class Fields {
 public:
  Fields(const ordered_json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) throw bad_input(where_, "is no object");
  }
  void expect(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, value] : object_.items()) {
      if (std::ranges::find(known, key) == known.end())
        throw bad_input(where_,
                        fmt::format("unknown field \"{}\"; known are {}", key, fmt::join(known, ", ")));
    }
  }
  const ordered_json* find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  const ordered_json& at(const char* name) const {
    if (const ordered_json* found = find(name)) return *found;
    throw bad_input(where_, fmt::format("the field \"{}\" is missing", name));
  }
  [[noreturn]] void fail(const char* name, const std::string& sentence) const {
    throw bad_input(where_ + "." + name, sentence);
  }
  void read(const char* name, bool& to) const {
    const ordered_json* found = find(name);
    if (found == nullptr) return;
    if (!found->is_boolean()) fail(name, "is not true or false");
    to = found->get<bool>();
  }
  void read(const char* name, std::string& to) const {
    const ordered_json* found = find(name);
    if (found == nullptr) return;
    if (!found->is_string()) fail(name, "is not a text in quotes");
    to = found->get<std::string>();
  }
  std::int64_t integer(const char* name, std::int64_t preset, std::int64_t high) const {
    const ordered_json* found = find(name);
    if (found == nullptr) return preset;
    if (!found->is_number_integer() || *found < 1 || *found > high)
      fail(name, fmt::format("is not a whole number from 1 to {}", high));
    return found->get<std::int64_t>();
  }
  /// The position of the text among the known ones; the first when the field is missing.
  std::size_t one_of(const char* name, std::initializer_list<std::string_view> known) const {
    std::string text(*known.begin());
    read(name, text);
    const auto found = std::ranges::find(known, text);
    if (found == known.end())
      fail(name, fmt::format("\"{}\" is unknown; known are {}", text, fmt::join(known, ", ")));
    return static_cast<std::size_t>(found - known.begin());
  }

 private:
  const ordered_json& object_;
  std::string where_;
};

AuditAdapter adapter_from(const Fields& fields, std::int32_t ranks) {
  fields.expect({"name", "sync", "all_reduce", "zero_grad", "reshard", "find_unused", "bucket_view",
                 "small_buckets", "overlap", "loss_division", "strategy", "replicas"});
  AuditAdapter a;
  fields.at("name");
  fields.read("name", a.name);
  a.sync = static_cast<SyncOn>(fields.one_of("sync", {"last", "every"}));
  a.all_reduce = static_cast<SyncOn>(fields.one_of("all_reduce", {"last", "every"}));
  a.zeroes_gradients = fields.one_of("zero_grad", {"none", "zero"}) == 1;
  fields.read("reshard", a.reshards);
  fields.read("find_unused", a.finds_unused);
  fields.read("bucket_view", a.bucket_view);
  fields.read("small_buckets", a.small_buckets);
  fields.read("overlap", a.overlap);
  a.loss_division = static_cast<LossDivision>(fields.one_of("loss_division", {"none", "accumulation"}));
  a.strategy = kStrategyNames[fields.one_of(
      "strategy", {kStrategyNames[0], kStrategyNames[1], kStrategyNames[2], kStrategyNames[3]})];
  a.replicas = static_cast<std::int32_t>(fields.integer("replicas", 1, ranks));
  if (ranks % a.replicas != 0)
    fields.fail("replicas", fmt::format("{} does not divide the {} ranks", a.replicas, ranks));
  return a;
}

}  // namespace

std::string_view name_of(SyncOn sync) {
  return sync == SyncOn::last ? "last" : "every";
}

std::string_view name_of(LossDivision division) {
  return division == LossDivision::none ? "none" : "accumulation";
}

std::string to_json(const AuditCase& audited) {
  ordered_json json = {{"schema", kSchema},
                       {"scenario", ordered_json::parse(to_json(audited.scenario))},
                       {"adapter", json_of(audited.adapter)}};
  if (audited.probing) json["probing"] = true;
  return json.dump(1) + "\n";
}

AuditCase audit_case_from_json(const std::string& text, const std::string& where) {
  check_json_text(text, where);
  ordered_json json;
  try {
    json = ordered_json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw bad_input(where, fmt::format("this is not JSON: {}", error.what()));
  }
  const Fields fields(json, where);
  const ordered_json& schema = fields.at("schema");
  if (schema != kSchema)
    fields.fail("schema", fmt::format("version {} is unknown; this shardcheck reads version {}",
                                      schema.dump().substr(0, 20), kSchema));
  fields.expect({"schema", "scenario", "adapter", "probing"});
  AuditCase audited;
  audited.scenario = scenario_from_json(fields.at("scenario").dump(), where + ": scenario");
  const std::string reason = inexpressible(audited.scenario);
  if (!reason.empty()) fields.fail("scenario", reason);
  audited.adapter = adapter_from(Fields(fields.at("adapter"), where + ": adapter"), audited.scenario.ranks);
  fields.read("probing", audited.probing);
  return audited;
}

std::string inexpressible(const Scenario& s) {
  if (s.data != DataMode::provenance)
    return "numerics.data must be \"provenance\", or nothing can be decoded";
  if (s.loss != Loss::mean) return "numerics.loss must be \"mean\": frameworks average over the ranks";
  if (s.outer != 1) return "mesh.outer must be 1: the outer axis of a framework is adapter.replicas";
  if (s.sync != Scenario{}.sync || s.outer_sync != Scenario{}.outer_sync || !s.zeroing)
    return "switches of the owner stand in the adapter: sync, all_reduce, zero_grad";
  if (s.offload) return "owner.offload must be false: no adapter moves gradients to the host";
  if (s.loop != LoopEvents{})
    return "schedule.recompute, aborts and resumes must be left out: the probe's loop goes straight on";
  if (s.stages != 1) return "mesh.stages must be 1: the probe has no pipeline";
  if (s.clip != 0) return "numerics.clip must be 0: the probe does not clip";
  if (s.fp8) return "fp8 must be left out: no adapter has FP8 weights";
  if (s.expert_parallel != 1) return "mesh.expert_parallel must be 1: no adapter has experts";
  if (s.gtp != 1) return "mesh.gtp must be 1: no adapter has distributed weights";
  if (!s.fault.empty()) return "fault must be empty: the framework is what is tested";
  for (const ScenarioParameter& p : s.parameters) {
    if (p.expert) return fmt::format("parameter {} is an expert, and no adapter has experts", p.name);
    if (p.thaws_at != 0)
      return fmt::format("parameter {}: thaws_at must be 0, the probe thaws nothing", p.name);
    if (p.groups != 1)
      return fmt::format("parameter {} holds several experts, and no adapter has them", p.name);
    if (p.numel() == 0) return fmt::format("parameter {} has no elements", p.name);
  }
  if (has_grouped_calls(s) || std::ranges::any_of(s.token_counts, [](auto& c) { return c.parameter >= 0; }))
    return "uses must not be grouped, nor tokens be routed to a parameter: no adapter has experts";
  const auto writes = [&](const ScenarioUse& use) {
    return use.producer == Producer::assigned || !is_unfused(use.producer, s.write_mode);
  };
  if (std::ranges::any_of(s.uses, writes))
    return "uses must be \"unfused\" (or the write mode R7): torch.autograd writes no main_grad";
  return "";
}

std::string describe(const AuditAdapter& adapter) {
  std::vector<std::string> parts = {adapter.name};
  const ordered_json json = json_of(adapter);
  for (const auto& [key, value] : json.items()) {
    if (key != "name")
      parts.push_back(fmt::format("{} {}", key, value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

namespace {

std::string times_text(std::int64_t times) {
  constexpr std::string_view words[] = {"unused", "used once", "used twice"};
  return times < 3 ? std::string(words[times]) : fmt::format("used {} times", times);
}

std::string counted_text(std::int64_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

/// "w1 in step 0 on rank 1 in microbatch 1".
std::string silence_text(const Scenario& s, const Silence& silence) {
  std::string text = s.parameters[static_cast<std::size_t>(silence.parameter)].name;
  if (silence.step >= 0) text += fmt::format(" in step {}", silence.step);
  if (silence.rank >= 0) text += fmt::format(" on rank {}", silence.rank);
  if (silence.microbatch >= 0) text += fmt::format(" in microbatch {}", silence.microbatch);
  return text;
}

}  // namespace

std::string describe(const AuditCase& audited) {
  const Scenario& s = audited.scenario;
  std::string text = fmt::format("{} of {} on {}; weights", counted_text(s.steps, "step", "steps"),
                                 counted_text(s.microbatches, "microbatch", "microbatches"),
                                 counted_text(s.ranks, "rank", "ranks"));
  for (std::int32_t i = 0; i < std::ssize(s.parameters); ++i) {
    const ScenarioParameter& p = s.parameters[static_cast<std::size_t>(i)];
    text += fmt::format("{} {} ({} {}, {}, {}{})", i == 0 ? "" : ",", p.name, fmt::join(p.shape, "x"),
                        name_of(p.dtype), p.unit == 0 ? "root" : fmt::format("unit {}", p.unit),
                        times_text(std::ranges::count(s.uses, i, &ScenarioUse::parameter)),
                        p.trainable ? "" : ", frozen");
  }
  text += fmt::format("; gradients {}, wire {}", name_of(s.main_grad), name_of(s.comm));
  std::vector<std::string> silent;
  for (const Silence& silence : s.silent) silent.push_back(silence_text(s, silence));
  if (!silent.empty()) text += fmt::format("; silent: {}", fmt::join(silent, ", "));
  for (const TokenCount& count : s.token_counts)
    text += fmt::format("; {} on rank {} in microbatch {}", counted_text(count.tokens, "token", "tokens"),
                        count.rank, count.microbatch);
  return text;
}

}  // namespace shardcheck
