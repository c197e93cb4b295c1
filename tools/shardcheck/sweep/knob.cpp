#include "tools/shardcheck/sweep/knob.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "core/recipe/catalogue.h"
#include "sim/scenario/json.h"
#include "tools/shardcheck/nearest.h"

namespace shardcheck {
namespace {

using nlohmann::ordered_json;

struct Field {
  std::string name, pointer;
  std::vector<std::string> all;  ///< what "all" means; empty: there is no end of values
};

std::string json_of(std::string_view text) {
  return ordered_json(std::string(text)).dump();
}

template <class Enum>
std::vector<std::string> names(int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back(json_of(name_of(static_cast<Enum>(i))));
  return all;
}

std::vector<std::string> recipe_names() {
  std::vector<std::string> all;
  for (const recipe::Recipe& each : recipe::recipes()) all.push_back(json_of(each.name));
  return all;
}

const std::vector<Field>& fields() {
  static const std::vector<std::string> booleans = {"true", "false"};
  static const std::vector<std::string> types = {json_of("f32"), json_of("bf16"), json_of("f16")};
  static const std::vector<Field> all = {
      {"seed", "/seed", {}},
      {"strategy", "/owner/strategy", names<Strategy>(kStrategies)},
      {"bucket_size", "/owner/bucket_size", {}},
      {"overlap", "/owner/overlap", booleans},
      {"slots", "/owner/slots", {}},
      {"zeroing", "/owner/zeroing", booleans},
      {"staging", "/owner/staging", booleans},
      {"sync", "/owner/sync", names<Sync>(2)},
      {"outer_sync", "/owner/outer_sync", names<Sync>(2)},
      {"reshard", "/owner/reshard", names<Reshard>(3)},
      {"offload", "/owner/offload", booleans},
      {"write_mode", "/protocol/write_mode", names<WriteMode>(kWriteModes)},
      {"first_microbatch", "/protocol/first_microbatch", names<FirstMicrobatch>(3)},
      {"execution", "/protocol/execution", names<Execution>(3)},
      {"ranks", "/mesh/ranks", {}},
      {"tensor", "/mesh/tensor", {}},
      {"stages", "/mesh/stages", {}},
      {"expert_parallel", "/mesh/expert_parallel", {}},
      {"gtp", "/mesh/gtp", {}},
      {"outer", "/mesh/outer", {}},
      {"outer_mode", "/mesh/outer_mode", names<OuterMode>(2)},
      {"steps", "/schedule/steps", {}},
      {"microbatches", "/schedule/microbatches", {}},
      {"tokens", "/schedule/tokens", {}},
      {"loss", "/numerics/loss", names<Loss>(2)},
      {"scaling", "/numerics/scaling", names<Scaling>(3)},
      {"main_grad", "/numerics/main_grad", types},
      {"comm", "/numerics/comm", types},
      {"clip", "/numerics/clip", {}},
      {"data", "/numerics/data", names<DataMode>(2)},
      {"recipe", "/fp8/recipe", recipe_names()},
  };
  return all;
}

/// "/owner/strategy" as "owner.strategy".
std::string path_of(const Field& field) {
  std::string path = field.pointer.substr(1);
  std::ranges::replace(path, '/', '.');
  return path;
}

const Field& field_named(const std::string& name) {
  std::vector<std::string> known;
  for (const Field& field : fields()) {
    if (name == field.name || name == path_of(field)) return field;
    known.push_back(field.name);
  }
  throw bad_input("--vary", unknown_name({name, "field", known, "shardcheck sweep --help"}));
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

constexpr std::int64_t kMostValues = 1000;

std::vector<std::string> values_of(const Field& field, const std::string& text) {
  if (text == "all") {
    if (field.all.empty())
      throw bad_input(
          "--vary", fmt::format("{0}=all: {0} has no list of values; give a range, as {0}=1..4", field.name));
    return field.all;
  }
  const std::size_t dots = text.find("..");
  if (dots != std::string::npos) {
    const auto low = whole(std::string_view(text).substr(0, dots)),
               high = whole(std::string_view(text).substr(dots + 2));
    if (!low || !high || *low > *high || *high - *low >= kMostValues)
      throw bad_input("--vary", fmt::format("{}={}: a range is LOW..HIGH with at most {} values", field.name,
                                            text, kMostValues));
    std::vector<std::string> values;
    for (std::int64_t i = *low; i <= *high; ++i) values.push_back(std::to_string(i));
    return values;
  }
  if (text.empty())
    throw bad_input("--vary", fmt::format("{}=: a value is missing, as {}=1..4", field.name, field.name));
  const bool plain = whole(text).has_value() || text == "true" || text == "false";
  return {plain ? text : json_of(text)};
}

}  // namespace

std::vector<Knob> knobs_of(const std::vector<std::string>& words) {
  std::vector<Knob> knobs;
  const Field* field = nullptr;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos && field == nullptr)
      throw bad_input("--vary", fmt::format("{} names no values; write FIELD=VALUES, as ranks=1..4", word));
    if (equals != std::string::npos) {
      field = &field_named(word.substr(0, equals));
      for (const Knob& knob : knobs) {
        if (knob.pointer == field->pointer)
          throw bad_input("--vary", fmt::format("{} is varied twice", field->name));
      }
      knobs.push_back({word.substr(0, equals), field->pointer, {}});
    }
    for (std::string& value : values_of(*field, equals == std::string::npos ? word : word.substr(equals + 1)))
      knobs.back().values.push_back(std::move(value));
  }
  return knobs;
}

std::vector<Setting> settings_of(const std::vector<Knob>& knobs) {
  constexpr std::size_t kMost = 20000;
  std::vector<Setting> settings = {{}};
  for (const Knob& knob : knobs) {
    std::vector<Setting> longer;
    if (settings.size() * knob.values.size() > kMost)
      throw bad_input("--vary", fmt::format("more than {} combinations; vary less", kMost));
    for (const Setting& setting : settings) {
      for (std::size_t value = 0; value < knob.values.size(); ++value) {
        longer.push_back(setting);
        longer.back().push_back(value);
      }
    }
    settings = std::move(longer);
  }
  return settings;
}

Scenario turned(const Scenario& scenario, const std::vector<Knob>& knobs, const Setting& setting) {
  ordered_json json = ordered_json::parse(to_json(scenario));
  std::string where = "with";
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    const std::string& value = knobs[k].values[setting[k]];
    json[ordered_json::json_pointer(knobs[k].pointer)] = ordered_json::parse(value);
    where += fmt::format("{} {} = {}", k == 0 ? "" : ",", knobs[k].name, shown(value));
  }
  return scenario_from_json(json.dump(), where);
}

std::string shown(const std::string& value) {
  return value.starts_with('"') ? ordered_json::parse(value).get<std::string>() : value;
}

}  // namespace shardcheck
