#include "tools/shardcheck/fingerprint/as_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"

namespace shardcheck {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json json_of(const std::vector<CodeList>& lists) {
  ordered_json all = ordered_json::array();
  for (const CodeList& list : lists)
    all.push_back({{"name", list.name}, {"type", list.type}, {"codes", list.codes}});
  return all;
}

ordered_json json_of(const Fact& fact) {
  ordered_json probes = ordered_json::array();
  for (const Probe& probe : fact.probes)
    probes.push_back(
        {{"op", probe.op}, {"inputs", json_of(probe.inputs)}, {"outputs", json_of(probe.outputs)}});
  ordered_json value = nullptr;
  if (fact.is_observed()) value = fact.value;
  return {{"subject", fact.subject},
          {"name", fact.name},
          {"value", value},
          {"how", fact.how},
          {"probes", probes}};
}

/// Reading, with the place in the file for sentences.
class Reader {
 public:
  Reader(const json& value, std::string place) : value_(value), place_(std::move(place)) {}

  [[noreturn]] void fail(const std::string& sentence) const { throw bad_input(place_, sentence); }

  const json& field(const char* name) const {
    if (!value_.is_object()) fail("is not an object");
    const auto found = value_.find(name);
    if (found == value_.end()) fail(fmt::format("has no field \"{}\"", name));
    return *found;
  }
  std::string text(const char* name) const {
    const json& found = field(name);
    if (!found.is_string()) fail(fmt::format("\"{}\" is no string", name));
    return found.get<std::string>();
  }
  /// Visits every element of a list with a reader of its own.
  template <class Visit>
  void each(const char* name, Visit visit) const {
    const json& list = field(name);
    if (!list.is_array()) fail(fmt::format("\"{}\" is no list", name));
    for (std::size_t i = 0; i < list.size(); ++i)
      visit(Reader(list[i], fmt::format("{}/{}/{}", place_, name, i)));
  }
  std::string as_text() const {
    if (!value_.is_string()) fail("is no string");
    return value_.get<std::string>();
  }

 private:
  const json& value_;
  std::string place_;
};

std::vector<std::string> texts(const Reader& reader, const char* name) {
  std::vector<std::string> all;
  reader.each(name, [&](const Reader& each) { all.push_back(each.as_text()); });
  return all;
}

std::vector<CodeList> code_lists(const Reader& reader, const char* name) {
  std::vector<CodeList> lists;
  reader.each(name, [&](const Reader& each) {
    lists.push_back({each.text("name"), each.text("type"), texts(each, "codes")});
  });
  return lists;
}

Fact read_fact(const Reader& reader) {
  Fact fact{reader.text("subject"), reader.text("name"), "", reader.text("how"), {}};
  if (!reader.field("value").is_null()) {
    fact.value = reader.text("value");
    if (fact.value.empty()) reader.fail("\"value\" is empty; a fact that was not observed has null there");
  }
  reader.each("probes", [&](const Reader& each) {
    fact.probes.push_back({each.text("op"), code_lists(each, "inputs"), code_lists(each, "outputs")});
  });
  return fact;
}

}  // namespace

std::string to_json(const Fingerprint& fingerprint, const std::vector<std::string>& versions) {
  const BackendInfo& machine = fingerprint.machine;
  ordered_json document = {{"schema", kFingerprintSchema},
                           {"machine",
                            {{"backend", machine.name},
                             {"device", machine.device},
                             {"profile", machine.profile},
                             {"fold", machine.fold}}},
                           {"versions", versions},
                           {"computed_by", fingerprint.computed_by},
                           {"facts", ordered_json::array()}};
  for (const Fact& fact : fingerprint.facts) document["facts"].push_back(json_of(fact));
  return document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Fingerprint read_fingerprint(const std::filesystem::path& file) {
  constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;
  const std::string text = read_text(file, kMostBytes);
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded())
    throw bad_input(file.string(), "is not JSON; expected what `shardcheck fingerprint --json` writes");
  const Reader reader(document, file.string());
  const json& schema = reader.field("schema");
  if (schema != kFingerprintSchema)
    reader.fail(
        fmt::format("\"schema\" is not {}, the only one that this version reads", kFingerprintSchema));
  const Reader machine(reader.field("machine"), file.string() + ": /machine");
  Fingerprint fingerprint;
  fingerprint.machine.name = machine.text("backend");
  fingerprint.machine.device = machine.text("device");
  fingerprint.machine.profile = machine.text("profile");
  const json& fold = machine.field("fold");
  if (!fold.is_number_integer()) machine.fail("\"fold\" is no whole number");
  fingerprint.machine.fold = fold.get<std::int32_t>();
  fingerprint.computed_by = texts(reader, "computed_by");
  reader.each("facts", [&](const Reader& each) { fingerprint.facts.push_back(read_fact(each)); });
  return fingerprint;
}

}  // namespace shardcheck
