#include "sim/scenario/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "sim/scenario/json_field.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/validate.h"

// The writer is json_write.cpp.

namespace shardcheck {
namespace {

using namespace json_field;

constexpr int kGradientTypes = 3;
static_assert(static_cast<int>(DType::f16) == kGradientTypes - 1, "f32, bf16 and f16 come first");

/// -1 stands for all.
constexpr limits::Range or_all(limits::Range range) {
  return {-1, range.high};
}
/// Of a list that begins with 0.
constexpr limits::Range index_below(limits::Range count) {
  return {0, count.high - 1};
}

/// The parameters by name; the first of several of one name, which validate() refuses.
class ParameterNames {
 public:
  explicit ParameterNames(const std::vector<ScenarioParameter>& parameters) {
    for (const auto& parameter : parameters) {
      indices_.emplace(parameter.name, static_cast<std::int32_t>(names_.size()));
      names_.push_back(parameter.name);
    }
  }
  std::int32_t index_of(const Field& field) const {
    const std::string name = field.text();
    const auto found = indices_.find(name);
    if (found != indices_.end()) return found->second;
    if (names_.empty()) field.fail(fmt::format("{} is no parameter; there are none", shown(json(name))));
    field.fail(fmt::format("{} is no parameter; the nearest is {}", shown(json(name)),
                           shown(json(nearest(name, names_)))));
  }

 private:
  Names names_;
  std::map<std::string_view, std::int32_t> indices_;
};

void read_owner(const Field& owner, Scenario& to) {
  owner.expect_object({"strategy", "bucket_size", "overlap", "slots", "zeroing", "staging", "sync",
                       "outer_sync", "reshard", "offload"});
  to.strategy = owner.at("strategy").one_of<Strategy>(kStrategies);
  read(owner, "bucket_size", limits::kBucketSize, to.bucket_size);
  read(owner, "overlap", to.overlap);
  read(owner, "slots", limits::kSlots, to.slots);
  read(owner, "zeroing", to.zeroing);
  read(owner, "staging", to.staging);
  read(owner, "sync", 2, to.sync);
  read(owner, "outer_sync", 2, to.outer_sync);
  read(owner, "reshard", 3, to.reshard);
  read(owner, "offload", to.offload);
}

void read_protocol(const Field& protocol, Scenario& to) {
  protocol.expect_object({"write_mode", "first_microbatch", "execution"});
  read(protocol, "write_mode", kWriteModes, to.write_mode);
  read(protocol, "first_microbatch", 3, to.first_microbatch);
  read(protocol, "execution", 3, to.execution);
}

void read_mesh(const Field& mesh, Scenario& to) {
  mesh.expect_object({"ranks", "tensor", "stages", "expert_parallel", "gtp", "outer", "outer_mode"});
  read(mesh, "ranks", limits::kRanks, to.ranks);
  read(mesh, "tensor", limits::kRanks, to.tensor);
  read(mesh, "stages", limits::kRanks, to.stages);
  read(mesh, "expert_parallel", limits::kRanks, to.expert_parallel);
  read(mesh, "gtp", limits::kRanks, to.gtp);
  read(mesh, "outer", limits::kRanks, to.outer);
  read(mesh, "outer_mode", 2, to.outer_mode);
}

void read_numerics(const Field& numerics, Scenario& to) {
  numerics.expect_object({"loss", "scaling", "main_grad", "comm", "clip", "data"});
  read(numerics, "loss", 2, to.loss);
  read(numerics, "scaling", 3, to.scaling);
  read(numerics, "main_grad", kGradientTypes, to.main_grad);
  read(numerics, "comm", kGradientTypes, to.comm);
  read(numerics, "clip", limits::kClip, to.clip);
  read(numerics, "data", 2, to.data);
}

void read_steps(const Field& object, const char* name, std::vector<std::int32_t>& to) {
  const auto list = object.find(name);
  if (!list) return;
  for (const Field& step : list->elements())
    to.push_back(static_cast<std::int32_t>(step.integer(index_below(limits::kSteps))));
}

Fp8Training fp8_from(const Field& fp8) {
  fp8.expect_object({"recipe", "history", "masters", "transposes", "recompute", "skipped_steps",
                     "evaluations", "reload_after"});
  Fp8Training to;
  to.recipe = fp8.at("recipe").text();
  read(fp8, "history", limits::kHistory, to.history);
  read(fp8, "masters", 2, to.masters);
  read(fp8, "transposes", 2, to.transposes);
  read(fp8, "recompute", to.recompute);
  read_steps(fp8, "skipped_steps", to.skipped_steps);
  read_steps(fp8, "evaluations", to.evaluations);
  read(fp8, "reload_after", or_all(index_below(limits::kSteps)), to.reload_after);
  return to;
}

/// The copies of earlier parameters are known by their names.
ScenarioParameter parameter_from(const Field& field, const std::vector<ScenarioParameter>& earlier) {
  field.expect_object({"name", "shape", "dtype", "trainable", "thaws_at", "expert", "sequence_parallel",
                       "groups", "unit", "stage", "tied_to"});
  ScenarioParameter parameter;
  parameter.name = field.at("name").text();
  for (const Field& size : field.at("shape").elements())
    parameter.shape.push_back(size.integer(limits::kSize));
  read(field, "dtype", kGradientTypes, parameter.dtype);
  read(field, "trainable", parameter.trainable);
  read(field, "thaws_at", index_below(limits::kSteps), parameter.thaws_at);
  read(field, "expert", parameter.expert);
  read(field, "sequence_parallel", parameter.sequence_parallel);
  read(field, "groups", limits::kGroups, parameter.groups);
  read(field, "unit", limits::kUnit, parameter.unit);
  read(field, "stage", index_below(limits::kRanks), parameter.stage);
  if (const auto tied = field.find("tied_to")) parameter.tied_to = ParameterNames(earlier).index_of(*tied);
  return parameter;
}

ScenarioUse use_from(const Field& field, const ParameterNames& names) {
  field.expect_object({"parameter", "producer", "unit", "grouped"});
  ScenarioUse use{.parameter = names.index_of(field.at("parameter"))};
  read(field, "producer", kProducers, use.producer);
  read(field, "unit", or_all(limits::kUnit), use.unit);
  read(field, "grouped", use.grouped);
  return use;
}

TokenCount token_count_from(const Field& field, const ParameterNames& names) {
  field.expect_object({"parameter", "group", "rank", "microbatch", "tokens"});
  TokenCount count{.rank = static_cast<std::int32_t>(field.at("rank").integer(index_below(limits::kRanks))),
                   .microbatch = static_cast<std::int32_t>(
                       field.at("microbatch").integer(index_below(limits::kMicrobatches))),
                   .tokens = field.at("tokens").integer(limits::kTokens)};
  if (const auto parameter = field.find("parameter")) count.parameter = names.index_of(*parameter);
  read(field, "group", or_all(index_below(limits::kGroups)), count.group);
  return count;
}

Silence silence_from(const Field& field, const ParameterNames& names) {
  field.expect_object({"parameter", "step", "rank", "microbatch"});
  Silence silence{.parameter = names.index_of(field.at("parameter"))};
  read(field, "step", or_all(index_below(limits::kSteps)), silence.step);
  read(field, "rank", or_all(index_below(limits::kRanks)), silence.rank);
  read(field, "microbatch", or_all(index_below(limits::kMicrobatches)), silence.microbatch);
  return silence;
}

Abort abort_from(const Field& field) {
  field.expect_object({"step", "microbatch", "after_uses"});
  Abort abort{.step = static_cast<std::int32_t>(field.at("step").integer(index_below(limits::kSteps)))};
  read(field, "microbatch", or_all(index_below(limits::kMicrobatches)), abort.microbatch);
  read(field, "after_uses", limits::kUnit, abort.after_uses);
  return abort;
}

void read_loop(const Field& schedule, LoopEvents& to) {
  if (const auto recompute = schedule.find("recompute")) {
    if (recompute->is_truth())
      to.recompute.all = recompute->truth();
    else
      for (const Field& unit : recompute->elements())
        to.recompute.units.push_back(static_cast<std::int32_t>(unit.integer(limits::kUnit)));
  }
  if (const auto aborts = schedule.find("aborts"))
    for (const Field& abort : aborts->elements()) to.aborts.push_back(abort_from(abort));
  read_steps(schedule, "resumes", to.resumes);
}

void read_schedule(const Field& schedule, const ParameterNames& names, Scenario& to) {
  schedule.expect_object(
      {"steps", "microbatches", "tokens", "token_counts", "silent", "recompute", "aborts", "resumes"});
  read(schedule, "steps", limits::kSteps, to.steps);
  read(schedule, "microbatches", limits::kMicrobatches, to.microbatches);
  read(schedule, "tokens", limits::kTokens, to.tokens);
  if (const auto counts = schedule.find("token_counts"))
    for (const Field& count : counts->elements()) to.token_counts.push_back(token_count_from(count, names));
  if (const auto silent = schedule.find("silent"))
    for (const Field& silence : silent->elements()) to.silent.push_back(silence_from(silence, names));
  read_loop(schedule, to.loop);
}

void expect_schema(const Field& root) {
  const Field schema = root.at("schema");
  const limits::Range any{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  const std::int64_t version = schema.integer(any);
  if (version != Scenario::kSchema)
    schema.fail(fmt::format("version {} is unknown; this shardcheck reads version {}", version,
                            static_cast<int>(Scenario::kSchema)));
}

Scenario scenario_from(const Field& root) {
  const Names known = {"schema",   "name",     "seed", "owner",      "protocol", "mesh",
                       "schedule", "numerics", "fp8",  "parameters", "uses",     "fault"};
  if (root.is_object()) expect_schema(root);  // another version has other fields
  root.expect_object(known);
  Scenario scenario;
  read(root, "name", scenario.name);
  if (const auto seed = root.find("seed")) scenario.seed = seed->unsigned_integer();
  read_owner(root.at("owner"), scenario);
  if (const auto protocol = root.find("protocol")) read_protocol(*protocol, scenario);
  if (const auto mesh = root.find("mesh")) read_mesh(*mesh, scenario);
  if (const auto numerics = root.find("numerics")) read_numerics(*numerics, scenario);
  if (const auto fp8 = root.find("fp8")) scenario.fp8 = fp8_from(*fp8);
  for (const Field& field : root.at("parameters").elements())
    scenario.parameters.push_back(parameter_from(field, scenario.parameters));
  const ParameterNames names(scenario.parameters);
  for (const Field& field : root.at("uses").elements()) scenario.uses.push_back(use_from(field, names));
  if (const auto schedule = root.find("schedule")) read_schedule(*schedule, names, scenario);
  read(root, "fault", scenario.fault);
  return scenario;
}

/// Watches the parser, which would keep the last of several values of one key, and knows the path.
class DuplicateKeys {
 public:
  explicit DuplicateKeys(const std::string& where) : where_(where) {}

  void watch(json::parse_event_t event, const json& parsed) {
    using Event = json::parse_event_t;
    if (event == Event::key) return enter(parsed.get<std::string>());
    if (event == Event::object_end || event == Event::array_end) return open_.pop_back();
    if (!open_.empty() && open_.back().is_list) ++open_.back().index;
    if (event == Event::object_start || event == Event::array_start)
      open_.push_back({.is_list = event == Event::array_start});
  }

 private:
  struct Open {
    bool is_list = false;
    std::ptrdiff_t index = -1;  ///< of a list's element
    std::string key;            ///< of an object's field
    std::set<std::string> keys;
  };

  void enter(std::string key) {
    const bool is_new = open_.back().keys.insert(key).second;
    open_.back().key = std::move(key);
    if (!is_new) throw bad_input(where_ + ": " + path(), "the field stands twice in one object; keep one");
  }
  std::string path() const {
    std::string path;
    for (const Open& open : open_) {
      if (open.is_list) path += fmt::format("[{}]", open.index);
      if (!open.is_list) path += (path.empty() ? "" : ".") + shown_key(open.key);
    }
    return path;
  }

  const std::string& where_;
  std::vector<Open> open_;
};

/// The library's sentence without its bracketed code, cut where it quotes a long token.
std::string reason_of(const json::exception& error) {
  std::string text = error.what();
  text = text.substr(std::min(text.find("] ") + 2, text.size()));
  constexpr std::size_t kLongestReason = 200;
  if (text.size() <= kLongestReason) return text;
  return json(text.substr(0, kLongestReason)).dump(-1, ' ', true, json::error_handler_t::ignore) + "...";
}

json parse(const std::string& text, const std::string& where) {
  DuplicateKeys duplicates(where);
  try {
    return json::parse(text, [&](int, json::parse_event_t event, json& parsed) {
      duplicates.watch(event, parsed);
      return true;
    });
  } catch (const json::exception& error) {
    throw bad_input(where, "this is not JSON: " + reason_of(error));
  }
}

}  // namespace

Scenario scenario_from_json(const std::string& text, const std::string& where) {
  check_json_text(text, where);
  const json root = parse(text, where);
  const Scenario scenario = scenario_from(Field(root, "", where));
  validate(scenario, where);
  return scenario;
}

Scenario read_scenario(const std::filesystem::path& path) {
  return scenario_from_json(read_text(path, kMaxJsonBytes), path.string());
}

}  // namespace shardcheck
