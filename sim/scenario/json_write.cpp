#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "core/assert.h"
#include "sim/scenario/json.h"

// to_json of json.h; the reader is json.cpp. What decides the case is always written, the rest only where it
// differs from the default.

namespace shardcheck {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kLineWidth = 120;

std::string name_of_parameter(const Scenario& scenario, std::int32_t parameter) {
  SC_ASSERT(parameter >= 0 && parameter < std::ssize(scenario.parameters), "no such parameter");
  return scenario.parameters[static_cast<std::size_t>(parameter)].name;
}

template <class Value>
void write_unless(ordered_json& object, const char* name, const Value& value, const Value& preset) {
  if (value == preset) return;
  if constexpr (std::is_enum_v<Value>)
    object[name] = name_of(value);
  else
    object[name] = value;
}

ordered_json owner_of(const Scenario& s, const Scenario& preset) {
  ordered_json owner = {{"strategy", name_of(s.strategy)}};
  write_unless(owner, "bucket_size", s.bucket_size, preset.bucket_size);
  write_unless(owner, "overlap", s.overlap, preset.overlap);
  write_unless(owner, "slots", s.slots, preset.slots);
  write_unless(owner, "zeroing", s.zeroing, preset.zeroing);
  write_unless(owner, "staging", s.staging, preset.staging);
  write_unless(owner, "sync", s.sync, preset.sync);
  write_unless(owner, "outer_sync", s.outer_sync, preset.outer_sync);
  write_unless(owner, "reshard", s.reshard, preset.reshard);
  write_unless(owner, "offload", s.offload, preset.offload);
  return owner;
}

ordered_json protocol_of(const Scenario& s, const Scenario& preset) {
  ordered_json protocol = {{"write_mode", name_of(s.write_mode)}};
  write_unless(protocol, "first_microbatch", s.first_microbatch, preset.first_microbatch);
  write_unless(protocol, "execution", s.execution, preset.execution);
  return protocol;
}

ordered_json mesh_of(const Scenario& s, const Scenario& preset) {
  ordered_json mesh = {{"ranks", s.ranks}};
  write_unless(mesh, "tensor", s.tensor, preset.tensor);
  write_unless(mesh, "stages", s.stages, preset.stages);
  write_unless(mesh, "expert_parallel", s.expert_parallel, preset.expert_parallel);
  write_unless(mesh, "gtp", s.gtp, preset.gtp);
  write_unless(mesh, "outer", s.outer, preset.outer);
  write_unless(mesh, "outer_mode", s.outer_mode, preset.outer_mode);
  return mesh;
}

void write_loop(ordered_json& schedule, const LoopEvents& loop) {
  const LoopEvents preset;
  write_unless(schedule, "recompute", loop.recompute.all, false);
  if (!loop.recompute.all) write_unless(schedule, "recompute", loop.recompute.units, preset.recompute.units);
  for (const Abort& abort : loop.aborts) {
    ordered_json written = {{"step", abort.step}};
    write_unless(written, "microbatch", abort.microbatch, -1);
    write_unless(written, "after_uses", abort.after_uses, 0);
    schedule["aborts"].push_back(written);
  }
  write_unless(schedule, "resumes", loop.resumes, preset.resumes);
}

ordered_json schedule_of(const Scenario& s) {
  ordered_json schedule = {{"steps", s.steps}, {"microbatches", s.microbatches}, {"tokens", s.tokens}};
  for (const TokenCount& count : s.token_counts) {
    ordered_json written = ordered_json::object();
    if (count.parameter >= 0) written["parameter"] = name_of_parameter(s, count.parameter);
    write_unless(written, "group", count.group, -1);
    written["rank"] = count.rank;
    written["microbatch"] = count.microbatch;
    written["tokens"] = count.tokens;
    schedule["token_counts"].push_back(written);
  }
  for (const Silence& silence : s.silent) {
    ordered_json written = {{"parameter", name_of_parameter(s, silence.parameter)}};
    write_unless(written, "step", silence.step, -1);
    write_unless(written, "rank", silence.rank, -1);
    write_unless(written, "microbatch", silence.microbatch, -1);
    schedule["silent"].push_back(written);
  }
  write_loop(schedule, s.loop);
  return schedule;
}

ordered_json numerics_of(const Scenario& s, const Scenario& preset) {
  ordered_json numerics = {{"loss", name_of(s.loss)}};
  write_unless(numerics, "scaling", s.scaling, preset.scaling);
  write_unless(numerics, "main_grad", s.main_grad, preset.main_grad);
  write_unless(numerics, "comm", s.comm, preset.comm);
  write_unless(numerics, "clip", s.clip, preset.clip);
  numerics["data"] = name_of(s.data);
  return numerics;
}

/// The recipe is always written: an empty object would be no FP8 life.
ordered_json fp8_of(const Fp8Training& fp8) {
  const Fp8Training preset;
  ordered_json written = {{"recipe", fp8.recipe}};
  write_unless(written, "history", fp8.history, preset.history);
  write_unless(written, "masters", fp8.masters, preset.masters);
  write_unless(written, "transposes", fp8.transposes, preset.transposes);
  write_unless(written, "recompute", fp8.recompute, preset.recompute);
  write_unless(written, "skipped_steps", fp8.skipped_steps, preset.skipped_steps);
  write_unless(written, "evaluations", fp8.evaluations, preset.evaluations);
  write_unless(written, "reload_after", fp8.reload_after, preset.reload_after);
  return written;
}

ordered_json parameters_of(const Scenario& s) {
  const ScenarioParameter preset;
  ordered_json parameters = ordered_json::array();
  for (const ScenarioParameter& p : s.parameters) {
    ordered_json written = {{"name", p.name}, {"shape", p.shape}, {"dtype", name_of(p.dtype)}};
    write_unless(written, "trainable", p.trainable, preset.trainable);
    write_unless(written, "thaws_at", p.thaws_at, preset.thaws_at);
    write_unless(written, "expert", p.expert, preset.expert);
    write_unless(written, "sequence_parallel", p.sequence_parallel, preset.sequence_parallel);
    write_unless(written, "groups", p.groups, preset.groups);
    write_unless(written, "unit", p.unit, preset.unit);
    write_unless(written, "stage", p.stage, preset.stage);
    if (p.tied_to >= 0) written["tied_to"] = name_of_parameter(s, p.tied_to);
    parameters.push_back(written);
  }
  return parameters;
}

ordered_json uses_of(const Scenario& s) {
  ordered_json uses = ordered_json::array();
  for (const ScenarioUse& use : s.uses) {
    ordered_json written = {{"parameter", name_of_parameter(s, use.parameter)},
                            {"producer", name_of(use.producer)}};
    write_unless(written, "unit", use.unit, -1);
    write_unless(written, "grouped", use.grouped, false);
    uses.push_back(written);
  }
  return uses;
}

ordered_json written(const Scenario& s) {
  const Scenario preset;
  ordered_json root = {{"schema", static_cast<int>(Scenario::kSchema)}};
  write_unless(root, "name", s.name, preset.name);
  write_unless(root, "seed", s.seed, preset.seed);
  root["owner"] = owner_of(s, preset);
  root["protocol"] = protocol_of(s, preset);
  root["mesh"] = mesh_of(s, preset);
  root["schedule"] = schedule_of(s);
  root["numerics"] = numerics_of(s, preset);
  if (s.fp8) root["fp8"] = fp8_of(*s.fp8);
  root["parameters"] = parameters_of(s);
  root["uses"] = uses_of(s);
  write_unless(root, "fault", s.fault, preset.fault);
  return root;
}

/// A string, number or truth value. Bytes that are not UTF-8, which no valid scenario has, are replaced.
std::string scalar(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

/// The parts of an object or list: "key": value, or value, rendered by `render`.
template <class Render>
std::vector<std::string> parts_of(const ordered_json& value, Render render) {
  std::vector<std::string> parts;
  for (const auto& [key, part] : value.items())
    parts.push_back(value.is_object() ? scalar(key) + ": " + render(part) : render(part));
  return parts;
}

char opening(const ordered_json& value) {
  return value.is_object() ? '{' : '[';
}
char closing(const ordered_json& value) {
  return value.is_object() ? '}' : ']';
}

std::string on_one_line(const ordered_json& value) {
  if (!value.is_structured()) return scalar(value);
  const std::string inside = fmt::format("{}", fmt::join(parts_of(value, on_one_line), ", "));
  return fmt::format("{}{}{}", opening(value), inside, closing(value));
}

/// On one line where that fits behind `indent` spaces, else a part a line.
std::string laid_out(const ordered_json& value, std::size_t indent) {
  if (const std::string line = on_one_line(value); indent > 0 && indent + line.size() <= kLineWidth)
    return line;
  const std::string margin(indent + 2, ' ');
  const auto parts = parts_of(value, [&](const ordered_json& part) { return laid_out(part, indent + 2); });
  return fmt::format("{}\n{}{}\n{:{}}{}", opening(value), margin, fmt::join(parts, ",\n" + margin), "",
                     indent, closing(value));
}

}  // namespace

std::string to_json(const Scenario& scenario) {
  return laid_out(written(scenario), 0) + "\n";
}

}  // namespace shardcheck
