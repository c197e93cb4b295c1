#include "sim/scenario/grouped_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <tuple>

#include "core/error.h"
#include "sim/scenario/loop_events.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

using Place = std::tuple<std::int32_t, std::int32_t, std::int32_t>;

/// Where the parameter has no use.
std::vector<Place> silences_of(const Scenario& s, std::int32_t parameter) {
  std::vector<Place> places;
  for (const Silence& silence : s.silent) {
    if (silence.parameter == parameter) places.emplace_back(silence.step, silence.rank, silence.microbatch);
  }
  std::ranges::sort(places);
  places.erase(std::ranges::unique(places).begin(), places.end());
  return places;
}

const ScenarioParameter& parameter_of(const Scenario& s, std::size_t use) {
  return s.parameters[static_cast<std::size_t>(s.uses[use].parameter)];
}

/// What tells two parameters apart for a layer that holds both, or nothing.
std::string difference(const ScenarioParameter& a, const ScenarioParameter& b) {
  if (a.shape != b.shape) return "shape";
  if (a.groups != b.groups) return "groups";
  if (a.dtype != b.dtype) return "dtype";
  if (a.stage != b.stage) return "stage";
  if (a.expert != b.expert) return "expert";
  if (a.sequence_parallel != b.sequence_parallel) return "sequence_parallel";
  if (a.trainable != b.trainable) return "trainable";
  return a.thaws_at != b.thaws_at ? "thaws_at" : "";
}

}  // namespace

std::vector<GroupedCall> calls_of(const Scenario& s) {
  std::vector<GroupedCall> calls;
  for (std::size_t u = 0; u < s.uses.size(); ++u) {
    if (!s.uses[u].grouped || calls.empty())
      calls.push_back({u, u + 1});
    else
      calls.back().last = u + 1;
  }
  return calls;
}

bool has_grouped_calls(const Scenario& s) {
  return std::ranges::any_of(s.uses, &ScenarioUse::grouped);
}

std::vector<std::int32_t> call_mates(const Scenario& s, std::int32_t parameter) {
  std::vector<std::int32_t> mates = {parameter};
  for (const GroupedCall& call : calls_of(s)) {
    const auto uses = std::span(s.uses).subspan(call.first, call.members());
    if (std::ranges::count(uses, parameter, &ScenarioUse::parameter) == 0) continue;
    for (const ScenarioUse& use : uses) mates.push_back(use.parameter);
  }
  std::ranges::sort(mates);
  mates.erase(std::ranges::unique(mates).begin(), mates.end());
  return mates;
}

std::optional<std::string> refusal_of_call(const Scenario& s, std::size_t use) {
  if (!s.uses[use].grouped) return std::nullopt;
  if (use == 0) return "true, and there is no use before it whose call it could join; leave it out";
  std::size_t first = use - 1;
  while (first > 0 && s.uses[first].grouped) --first;
  const ScenarioParameter &own = parameter_of(s, use), &leader = parameter_of(s, first);
  const Producer producer = s.uses[use].producer;
  if (producer != s.uses[first].producer)
    return fmt::format("true, and \"{}\" is not the producer of the call, which is \"{}\"; use one producer",
                       name_of(producer), name_of(s.uses[first].producer));
  if (producer != Producer::fused && producer != Producer::unfused)
    return fmt::format("true with the producer \"{}\"; a grouped call is \"fused\" or \"unfused\"",
                       name_of(producer));
  if (own.shape.size() != 2)
    return fmt::format("true, and \"{}\" is no matrix; a grouped layer has 2-D weights", own.name);
  if (const std::string what = difference(own, leader); !what.empty())
    return fmt::format("true, and \"{}\" has another {} than \"{}\", the first of its call; give the same",
                       own.name, what, leader.name);
  if (unit_of_use(s, use) != unit_of_use(s, first))
    return fmt::format("true, and the use runs in unit {} and the first of its call in {}; give one unit",
                       unit_of_use(s, use), unit_of_use(s, first));
  for (std::size_t u = first; u < use; ++u) {
    if (s.uses[u].parameter == s.uses[use].parameter)
      return fmt::format("true, and \"{}\" is in this call already; a second use is another call", own.name);
  }
  if (silences_of(s, s.uses[use].parameter) != silences_of(s, s.uses[first].parameter))
    return fmt::format(
        "true, and \"{}\" is silent elsewhere than \"{}\", the first of its call; an expert without tokens "
        "has token_counts of 0",
        own.name, leader.name);
  return std::nullopt;
}

void mend_calls(Scenario& s) {
  for (std::size_t u = 0; u < s.uses.size(); ++u) {
    if (refusal_of_call(s, u)) s.uses[u].grouped = false;
  }
}

void validate_experts(const Scenario& s, const std::string& where) {
  for (std::size_t p = 0; p < s.parameters.size(); ++p) {
    const ScenarioParameter& parameter = s.parameters[p];
    const std::string path = fmt::format("{}: parameters[{}].groups", where, p);
    if (parameter.groups < limits::kGroups.low || parameter.groups > limits::kGroups.high)
      throw bad_input(path, fmt::format("{} is out of range; give {} to {}", parameter.groups,
                                        limits::kGroups.low, limits::kGroups.high));
    if (parameter.groups == 1) continue;
    if (parameter.shape.size() != 2 || parameter.rows() % parameter.groups != 0)
      throw bad_input(path,
                      fmt::format("{} matrices of equal rows do not make up {}; give 2 sizes, the first a "
                                  "multiple of the groups",
                                  parameter.groups, fmt::join(parameter.shape, "x")));
    if (s.fp8)
      throw bad_input(path,
                      fmt::format("{} experts in one FP8 weight are not modelled; give a parameter each",
                                  parameter.groups));
  }
  for (std::size_t u = 0; u < s.uses.size(); ++u) {
    if (const auto refusal = refusal_of_call(s, u))
      throw bad_input(fmt::format("{}: uses[{}].grouped", where, u), *refusal);
  }
}

std::string describe_calls(const Scenario& s) {
  std::string text;
  for (const GroupedCall& call : calls_of(s)) {
    if (call.members() == 1) continue;
    std::vector<std::string_view> names;
    for (std::size_t u = call.first; u < call.last; ++u) names.push_back(parameter_of(s, u).name);
    if (names.size() > 4) names.resize(3);
    const auto more = call.members() - names.size();
    text += fmt::format(" One grouped call: {}{}.", fmt::join(names, ", "),
                        more > 0 ? fmt::format(" and {} more", more) : "");
  }
  return text;
}

}  // namespace shardcheck
