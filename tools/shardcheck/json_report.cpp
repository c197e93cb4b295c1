#include "tools/shardcheck/json_report.h"

#include <nlohmann/json.hpp>

#include "sim/scenario/json.h"

namespace shardcheck {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const std::vector<Finding>& findings) {
  ordered_json list = ordered_json::array();
  for (const Finding& finding : findings) list.push_back(ordered_json::parse(to_json(finding)));
  return list;
}

ordered_json json_of(const KeptResult& kept) {
  ordered_json json = {{"file", kept.file}, {"moved_to", nullptr}, {"findings", json_of(kept.findings)}};
  if (!kept.moved_to.empty()) json["moved_to"] = kept.moved_to;
  return json;
}

ordered_json json_of(const PropertyResult& result) {
  const PropertyReport& report = result.report;
  ordered_json json = {{"id", result.property->id},
                       {"clauses", result.property->clauses},
                       {"verdict", name_of(verdict_of(result))},
                       {"cases", report.cases},
                       {"seconds", report.seconds},
                       {"coverage", report.coverage},
                       {"missing", report.missing},
                       {"failure", nullptr},
                       {"findings", ordered_json::array()}};
  if (!report.failure) return json;
  json["failure"] = {{"case", report.failure->number},
                     {"shrinks", report.failure->tries},
                     {"file", result.file},
                     {"scenario", ordered_json::parse(to_json(report.failure->shrunk))}};
  json["findings"] = json_of(report.failure->findings);
  return json;
}

}  // namespace

std::string json_report(const CheckResult& result) {
  ordered_json json = {{"command", result.verb},
                       {"verdict", name_of(verdict_of(result))},
                       {"exit_status", static_cast<int>(exit_of(result))},
                       {"interrupted", result.is_interrupted},
                       {"backend", result.backend.backend},
                       {"against", result.backend.against},
                       {"profile", result.backend.arithmetic()},
                       {"processes", result.backend.processes},
                       {"seed", result.seed},
                       {"seconds", result.seconds},
                       {"cases", cases_of(result)},
                       {"kept", ordered_json::array()},
                       {"properties", ordered_json::array()}};
  for (const KeptResult& kept : result.kept) json["kept"].push_back(json_of(kept));
  for (const PropertyResult& property : result.properties) json["properties"].push_back(json_of(property));
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace shardcheck
