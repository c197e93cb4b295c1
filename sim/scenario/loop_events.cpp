#include "sim/scenario/loop_events.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

std::int32_t unit_of_use(const Scenario& s, std::size_t position) {
  const ScenarioUse& use = s.uses[position];
  return use.unit >= 0 ? use.unit : s.parameters[static_cast<std::size_t>(use.parameter)].unit;
}

bool is_recomputed(const Scenario& s, std::int32_t unit) {
  const Recomputed& recompute = s.loop.recompute;
  return recompute.all || std::ranges::count(recompute.units, unit) > 0;
}

bool is_resumed_after(const Scenario& s, std::int32_t step) {
  return step + 1 < s.steps && std::ranges::count(s.loop.resumes, step) > 0;
}

namespace {

bool has_use(const Scenario& s, std::int32_t unit) {
  for (std::size_t u = 0; u < s.uses.size(); ++u) {
    if (unit_of_use(s, u) == unit) return true;
  }
  return false;
}

[[noreturn]] void fail(const std::string& where, const std::string& path, const std::string& sentence) {
  throw bad_input(where + ": " + path, sentence);
}

void judge_recompute(const Scenario& s, const std::string& where) {
  const std::vector<std::int32_t>& units = s.loop.recompute.units;
  if (s.loop.recompute.all && !units.empty())
    fail(where, "schedule.recompute", "true stands for all units; give true or a list");
  for (std::size_t i = 0; i < units.size(); ++i) {
    const std::string path = fmt::format("schedule.recompute[{}]", i);
    if (i > 0 && units[i] <= units[i - 1])
      fail(where, path, fmt::format("{} does not follow {}; give ascending units", units[i], units[i - 1]));
    if (!has_use(s, units[i]))
      fail(where, path, fmt::format("no use runs in unit {}; give a unit that has one", units[i]));
  }
}

void judge_step(const Scenario& s, const std::string& where, const std::string& path, std::int32_t step) {
  if (step < 0 || step >= s.steps)
    fail(where, path,
         fmt::format("{} is out of range; the scenario has the steps 0 to {}", step, s.steps - 1));
}

void judge_aborts(const Scenario& s, const std::string& where) {
  const std::vector<Abort>& aborts = s.loop.aborts;
  for (std::size_t i = 0; i < aborts.size(); ++i) {
    const std::string path = fmt::format("schedule.aborts[{}]", i);
    judge_step(s, where, path + ".step", aborts[i].step);
    if (i > 0 && aborts[i].step < aborts[i - 1].step)
      fail(where, path + ".step",
           fmt::format("{} comes after {}; order the aborts by step", aborts[i].step, aborts[i - 1].step));
    if (aborts[i].microbatch < -1 || aborts[i].microbatch >= s.microbatches)
      fail(where, path + ".microbatch",
           fmt::format(
               "{} is out of range; the scenario has the microbatches 0 to {}, and -1 is after the last "
               "backward",
               aborts[i].microbatch, s.microbatches - 1));
    const std::int64_t most = aborts[i].microbatch < 0 ? 0 : std::ssize(s.uses);
    if (aborts[i].after_uses < 0 || aborts[i].after_uses > most)
      fail(where, path + ".after_uses",
           fmt::format("{} is out of range; give 0 to {}{}", aborts[i].after_uses, most,
                       aborts[i].microbatch < 0 ? ", as no backward is under way" : ""));
  }
}

void judge_resumes(const Scenario& s, const std::string& where) {
  const std::vector<std::int32_t>& resumes = s.loop.resumes;
  for (std::size_t i = 0; i < resumes.size(); ++i) {
    const std::string path = fmt::format("schedule.resumes[{}]", i);
    judge_step(s, where, path, resumes[i]);
    if (i > 0 && resumes[i] <= resumes[i - 1])
      fail(where, path,
           fmt::format("{} does not follow {}; give ascending steps", resumes[i], resumes[i - 1]));
  }
}

void judge_thawing(const Scenario& s, const std::string& where) {
  for (std::size_t i = 0; i < s.parameters.size(); ++i) {
    const ScenarioParameter& parameter = s.parameters[i];
    const std::string path = fmt::format("parameters[{}].thaws_at", i);
    if (parameter.thaws_at < 0 || parameter.thaws_at >= s.steps)
      fail(where, path,
           fmt::format(
               "{} is out of range; the scenario has the steps 0 to {}, and 0 is trainable from the begin",
               parameter.thaws_at, s.steps - 1));
    if (parameter.thaws_at > 0 && !parameter.trainable)
      fail(where, path,
           fmt::format("\"{}\" is frozen for good; leave out \"trainable\": false, or thaws_at",
                       parameter.name));
  }
}

}  // namespace

void mend_loop(Scenario& s) {
  LoopEvents& loop = s.loop;
  std::erase_if(loop.recompute.units, [&](std::int32_t unit) { return !has_use(s, unit); });
  std::erase_if(loop.aborts, [&](const Abort& abort) { return abort.step >= s.steps; });
  for (Abort& abort : loop.aborts) {
    abort.microbatch = std::min(abort.microbatch, s.microbatches - 1);
    const auto uses = static_cast<std::int32_t>(s.uses.size());
    abort.after_uses = abort.microbatch < 0 ? 0 : std::min(abort.after_uses, uses);
  }
  std::erase_if(loop.resumes, [&](std::int32_t step) { return step >= s.steps; });
  for (ScenarioParameter& parameter : s.parameters)
    parameter.thaws_at = parameter.trainable ? std::min(parameter.thaws_at, s.steps - 1) : 0;
}

void validate_loop(const Scenario& s, const std::string& where) {
  judge_recompute(s, where);
  judge_aborts(s, where);
  judge_resumes(s, where);
  judge_thawing(s, where);
  const bool thaws = std::ranges::any_of(s.parameters, [](const auto& p) { return p.thaws_at > 0; });
  if (!s.fp8 || (s.loop == LoopEvents{} && !thaws)) return;
  if (thaws)
    fail(where, "fp8",
         "FP8 weights are trained from the first step on; leave thaws_at out, or the fp8 section");
  fail(where, "fp8",
       "FP8 weights have recompute, skipped steps and reloads of their own; say them in the fp8 section, or "
       "leave "
       "it out");
}

std::string describe_loop(const Scenario& s) {
  std::string text;
  const LoopEvents& loop = s.loop;
  if (loop.recompute.all) text += " All units are recomputed in backward.";
  if (!loop.recompute.units.empty())
    text += fmt::format(" Recomputed in backward: unit{} {}.", loop.recompute.units.size() == 1 ? "" : "s",
                        fmt::join(loop.recompute.units, ", "));
  for (const Abort& abort : loop.aborts) {
    text += abort.microbatch < 0
                ? fmt::format(" Step {} is given up after its last backward and run again.", abort.step)
                : fmt::format(
                      " Step {} is given up in the backward of microbatch {}, after {} use{}, and run again.",
                      abort.step, abort.microbatch, abort.after_uses, abort.after_uses == 1 ? "" : "s");
  }
  if (!loop.resumes.empty())
    text += fmt::format(" A fresh process goes on after step{} {}.", loop.resumes.size() == 1 ? "" : "s",
                        fmt::join(loop.resumes, ", "));
  return text;
}

}  // namespace shardcheck
