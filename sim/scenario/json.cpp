#include "sim/scenario/json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/validate.h"

// The writer is json_write.cpp.

namespace shardcheck {
namespace {

using nlohmann::json;
using Names = std::vector<std::string_view>;

constexpr std::size_t kLongestExcerpt = 60;

/// A value as it stands in a sentence: ASCII only, on one line, short.
std::string shown(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  const std::string text = value.dump(-1, ' ', true);
  return text.size() <= kLongestExcerpt ? text : text.substr(0, kLongestExcerpt) + "...";
}

/// A key as it stands in a path.
std::string shown_key(const std::string& key) {
  const std::string quoted = shown(json(key));
  return quoted.ends_with('"') ? quoted.substr(1, quoted.size() - 2) : quoted.substr(1);
}

/// Insertions, deletions and replacements of a letter that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// The known name that is most like `name`; the first of several. `known` is not empty.
std::string_view nearest(std::string_view name, const Names& known) {
  const std::string_view begin = name.substr(0, limits::kMaxNameBytes);
  return *std::ranges::min_element(
      known, {}, [&](std::string_view candidate) { return edit_distance(begin, candidate); });
}

/// A value of the text, and where it stands.
class Field {
 public:
  Field(const json& value, std::string path, const std::string& where)
      : value_(value), path_(std::move(path)), where_(where) {}

  [[noreturn]] void fail(const std::string& sentence) const {
    throw bad_input(path_.empty() ? where_ : where_ + ": " + path_, sentence);
  }
  [[noreturn]] void fail_type(std::string_view right) const {
    fail(fmt::format("{} is not {}", shown(value_), right));
  }

  bool is_object() const { return value_.is_object(); }

  /// Every field of the object is one of the known ones.
  void expect_object(const Names& known) const {
    if (!value_.is_object()) fail_type(fmt::format("an object with the fields {}", fmt::join(known, ", ")));
    for (const auto& [key, value] : value_.items()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      fail(fmt::format("unknown field {}; the nearest known one is \"{}\" (known are {})", shown(json(key)),
                       nearest(key, known), fmt::join(known, ", ")));
    }
  }

  std::optional<Field> find(const char* name) const {
    const auto found = value_.find(name);
    if (found == value_.end()) return std::nullopt;
    return Field(*found, path_.empty() ? name : path_ + "." + name, where_);
  }
  Field at(const char* name) const {
    if (const auto field = find(name)) return *field;
    fail(fmt::format("the field \"{}\" is missing", name));
  }

  std::vector<Field> elements() const {
    if (!value_.is_array()) fail_type("a list");
    std::vector<Field> fields;
    for (std::size_t i = 0; i < value_.size(); ++i)
      fields.emplace_back(value_[i], fmt::format("{}[{}]", path_, i), where_);
    return fields;
  }

  std::string text() const {
    if (!value_.is_string()) fail_type("a text in quotes");
    return value_.get<std::string>();
  }
  bool truth() const {
    if (!value_.is_boolean()) fail_type("true or false");
    return value_.get<bool>();
  }
  std::int64_t integer(limits::Range range) const {
    expect_whole(fmt::format("{} to {}", range.low, range.high));
    const bool huge = value_.is_number_unsigned() && value_.get<std::uint64_t>() > INT64_MAX;
    if (huge || value_.get<std::int64_t>() < range.low || value_.get<std::int64_t>() > range.high)
      fail(fmt::format("{} is out of range; give {} to {}", shown(value_), range.low, range.high));
    return value_.get<std::int64_t>();
  }
  std::uint64_t unsigned_integer() const {
    const auto right = fmt::format("0 to {}", UINT64_MAX);
    expect_whole(right);
    if (!value_.is_number_unsigned()) fail(fmt::format("{} is out of range; give {}", shown(value_), right));
    return value_.get<std::uint64_t>();
  }
  /// The enumerator of that name, among those whose values are 0 to count - 1.
  template <class Enum>
  Enum one_of(int count) const {
    Names names;
    for (int i = 0; i < count; ++i) names.push_back(name_of(static_cast<Enum>(i)));
    const auto found = value_.is_string() ? std::ranges::find(names, text()) : names.end();
    if (found == names.end())
      fail(fmt::format("{} is unknown; known are {}", shown(value_), fmt::join(names, ", ")));
    return static_cast<Enum>(found - names.begin());
  }

 private:
  void expect_whole(std::string_view right) const {
    // A number without point and exponent that fits no 64 bits becomes a float, too.
    if (!value_.is_number_integer())
      fail_type(fmt::format("a whole number written in digits; give {}", right));
  }

  const json& value_;
  std::string path_;
  const std::string& where_;
};

// A missing field keeps its default.
void read(const Field& object, const char* name, limits::Range range, std::int32_t& to) {
  if (const auto field = object.find(name)) to = static_cast<std::int32_t>(field->integer(range));
}
void read(const Field& object, const char* name, limits::Range range, std::int64_t& to) {
  if (const auto field = object.find(name)) to = field->integer(range);
}
void read(const Field& object, const char* name, bool& to) {
  if (const auto field = object.find(name)) to = field->truth();
}
void read(const Field& object, const char* name, std::string& to) {
  if (const auto field = object.find(name)) to = field->text();
}
template <class Enum>
void read(const Field& object, const char* name, int count, Enum& to) {
  if (const auto field = object.find(name)) to = field->one_of<Enum>(count);
}

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
  owner.expect_object({"strategy", "bucket_size", "overlap", "slots", "zeroing"});
  to.strategy = owner.at("strategy").one_of<Strategy>(kStrategies);
  read(owner, "bucket_size", limits::kBucketSize, to.bucket_size);
  read(owner, "overlap", to.overlap);
  read(owner, "slots", limits::kSlots, to.slots);
  read(owner, "zeroing", to.zeroing);
}

void read_protocol(const Field& protocol, Scenario& to) {
  protocol.expect_object({"write_mode", "first_microbatch", "execution"});
  read(protocol, "write_mode", kWriteModes, to.write_mode);
  read(protocol, "first_microbatch", 3, to.first_microbatch);
  read(protocol, "execution", 3, to.execution);
}

void read_mesh(const Field& mesh, Scenario& to) {
  mesh.expect_object({"ranks", "expert_parallel"});
  read(mesh, "ranks", limits::kRanks, to.ranks);
  read(mesh, "expert_parallel", limits::kRanks, to.expert_parallel);
}

void read_numerics(const Field& numerics, Scenario& to) {
  numerics.expect_object({"loss", "scaling", "main_grad", "comm", "data"});
  read(numerics, "loss", 2, to.loss);
  read(numerics, "scaling", 3, to.scaling);
  read(numerics, "main_grad", kGradientTypes, to.main_grad);
  read(numerics, "comm", kGradientTypes, to.comm);
  read(numerics, "data", 2, to.data);
}

ScenarioParameter parameter_from(const Field& field) {
  field.expect_object({"name", "shape", "dtype", "trainable", "expert", "unit"});
  ScenarioParameter parameter;
  parameter.name = field.at("name").text();
  for (const Field& size : field.at("shape").elements())
    parameter.shape.push_back(size.integer(limits::kSize));
  read(field, "dtype", kGradientTypes, parameter.dtype);
  read(field, "trainable", parameter.trainable);
  read(field, "expert", parameter.expert);
  read(field, "unit", limits::kUnit, parameter.unit);
  return parameter;
}

ScenarioUse use_from(const Field& field, const ParameterNames& names) {
  field.expect_object({"parameter", "producer", "unit"});
  ScenarioUse use{.parameter = names.index_of(field.at("parameter"))};
  read(field, "producer", 3, use.producer);
  read(field, "unit", or_all(limits::kUnit), use.unit);
  return use;
}

TokenCount token_count_from(const Field& field) {
  field.expect_object({"rank", "microbatch", "tokens"});
  return {.rank = static_cast<std::int32_t>(field.at("rank").integer(index_below(limits::kRanks))),
          .microbatch =
              static_cast<std::int32_t>(field.at("microbatch").integer(index_below(limits::kMicrobatches))),
          .tokens = field.at("tokens").integer(limits::kTokens)};
}

Silence silence_from(const Field& field, const ParameterNames& names) {
  field.expect_object({"parameter", "step", "rank", "microbatch"});
  Silence silence{.parameter = names.index_of(field.at("parameter"))};
  read(field, "step", or_all(index_below(limits::kSteps)), silence.step);
  read(field, "rank", or_all(index_below(limits::kRanks)), silence.rank);
  read(field, "microbatch", or_all(index_below(limits::kMicrobatches)), silence.microbatch);
  return silence;
}

void read_schedule(const Field& schedule, const ParameterNames& names, Scenario& to) {
  schedule.expect_object({"steps", "microbatches", "tokens", "token_counts", "silent"});
  read(schedule, "steps", limits::kSteps, to.steps);
  read(schedule, "microbatches", limits::kMicrobatches, to.microbatches);
  read(schedule, "tokens", limits::kTokens, to.tokens);
  if (const auto counts = schedule.find("token_counts"))
    for (const Field& count : counts->elements()) to.token_counts.push_back(token_count_from(count));
  if (const auto silent = schedule.find("silent"))
    for (const Field& silence : silent->elements()) to.silent.push_back(silence_from(silence, names));
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
  const Names known = {"schema",   "name",     "seed",       "owner", "protocol", "mesh",
                       "schedule", "numerics", "parameters", "uses",  "fault"};
  if (root.is_object()) expect_schema(root);  // another version has other fields
  root.expect_object(known);
  Scenario scenario;
  read(root, "name", scenario.name);
  if (const auto seed = root.find("seed")) scenario.seed = seed->unsigned_integer();
  read_owner(root.at("owner"), scenario);
  if (const auto protocol = root.find("protocol")) read_protocol(*protocol, scenario);
  if (const auto mesh = root.find("mesh")) read_mesh(*mesh, scenario);
  if (const auto numerics = root.find("numerics")) read_numerics(*numerics, scenario);
  for (const Field& field : root.at("parameters").elements())
    scenario.parameters.push_back(parameter_from(field));
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
