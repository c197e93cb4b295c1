#include "tools/shardcheck/fp8/verify_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/shardcheck/fp8/values.h"

namespace shardcheck::fp8 {
namespace {

using nlohmann::ordered_json;
using verify::Example;
using verify::TensorReport;

ordered_json code_json(FormatId format, std::uint32_t code) {
  return {{"bits", code_text(format_of(format), code)}, {"value", verify::scale_value(format, code)}};
}

ordered_json example_json(const TensorReport& report, const Example& example, const std::string& detail) {
  const verify::BrokenBlock& broken = example.broken;
  ordered_json json = {{"block", {example.at.rows, example.at.columns}},
                       {"rows", {example.rows.lo, example.rows.hi}},
                       {"columns", {example.columns.lo, example.columns.hi}},
                       {"scale", code_json(report.scale_format, broken.scale)}};
  if (report.has_source) json["expected_scale"] = code_json(report.scale_format, broken.right_scale);
  if (broken.clause == "F23") {
    json["largest"] = code_json(report.elements, broken.largest);
    json["expected_largest"] = {code_json(report.elements, broken.allowed.low),
                                code_json(report.elements, broken.allowed.high)};
  }
  if (broken.element >= 0) {
    json["wrong_codes"] = broken.wrong_codes;
    json["element"] = {broken.element / report.extent.columns, broken.element % report.extent.columns};
    json["code"] = code_json(report.elements, broken.code);
    if (report.has_source) {
      json["expected_code"] = code_json(report.elements, broken.right_code);
      json["source"] = example.source;
    }
  }
  if (!detail.empty()) json["detail"] = detail;
  return json;
}

ordered_json tensor_json(const TensorReport& report) {
  ordered_json problems = ordered_json::array(), kinds = ordered_json::array();
  for (const verify::Problem& problem : report.problems)
    problems.push_back({{"clause", problem.clause}, {"sentence", problem.sentence}});
  for (const verify::Kind& kind : report.explanation.kinds) {
    ordered_json examples = ordered_json::array();
    for (std::size_t i = 0; i < kind.examples.size(); ++i)
      examples.push_back(example_json(report, report.examples[kind.examples[i]], kind.details[i]));
    kinds.push_back({{"clause", kind.clause},
                     {"sentence", kind.sentence},
                     {"blocks", kind.blocks},
                     {"alternatives", kind.alternatives},
                     {"examples", std::move(examples)}});
  }
  return {{"name", report.name},
          {"verdict", !report.is_judged ? "not judged"
                      : report.holds()  ? "held"
                                        : "broken"},
          {"recipe", report.recipe},
          {"codes", format_of(report.elements).name},
          {"shape", {report.extent.rows, report.extent.columns}},
          {"grid", {report.grid.rows, report.grid.columns}},
          {"blocks", report.sweep.blocks},
          {"broken_blocks", report.sweep.broken_blocks},
          {"wrong_scales", report.sweep.wrong_scales},
          {"wrong_codes", report.sweep.wrong_codes},
          {"examined_blocks", report.explanation.examined},
          {"problems", std::move(problems)},
          {"kinds", std::move(kinds)}};
}

}  // namespace

std::string verify_json(const VerifiedFiles& files, const verify::Report& report) {
  ordered_json tensors = ordered_json::array(), copied = ordered_json::array();
  for (const TensorReport& each : report.tensors) tensors.push_back(tensor_json(each));
  for (const TensorReport& each : report.copied)
    copied.push_back({{"name", each.name}, {"sentence", each.problems.front().sentence}});
  const ordered_json json = {
      {"schema", 1},
      {"file", files.file},
      {"against", files.against.empty() ? ordered_json() : ordered_json(files.against)},
      {"verdict", report.holds() ? "held" : "broken"},
      {"tensors", std::move(tensors)},
      {"copies_compared", report.copies},
      {"differing_copies", std::move(copied)}};
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace shardcheck::fp8
