#include "core/contract/finding.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace shardcheck {
namespace {

std::string hex_of(const Sighting& sighting) {
  return fmt::format("0x{:0{}x}", sighting.bits, 2 * bytes_of(sighting.dtype));
}

std::string number_of(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "infinity" : "-infinity";
  return fmt::format("{}", value);
}

nlohmann::json json_of(const Sighting& sighting) {
  nlohmann::json number = sighting.value;
  if (!std::isfinite(sighting.value)) number = number_of(sighting.value);
  return {{"number", number}, {"hex", hex_of(sighting)}, {"dtype", std::string(name_of(sighting.dtype))}};
}

}  // namespace

std::string to_text(const Sighting& sighting) {
  return fmt::format("{} ({})", number_of(sighting.value), hex_of(sighting));
}

void name_op(Finding& finding, const Plan& plan, OpIndex op) {
  const Op& named = plan.ops[static_cast<std::size_t>(op.value)];
  finding.op = op;
  finding.op_text = describe(plan, named);
  finding.stream = name_of(named.stream);
  finding.step = named.why.step;
  finding.microbatch = named.why.microbatch;
}

std::string to_json(const Finding& finding) {
  nlohmann::json json = {{"clause", finding.clause},
                         {"sentence", finding.sentence},
                         {"op", finding.op_text},
                         {"op_index", finding.op.value},
                         {"stream", finding.stream},
                         {"rank", finding.rank},
                         {"step", finding.step},
                         {"microbatch", finding.microbatch},
                         {"parameter", finding.parameter_name},
                         {"element", finding.element},
                         {"provenance", finding.provenance},
                         {"history", finding.history},
                         {"reproduce", finding.reproduce}};
  json["expected"] = finding.has_values ? json_of(finding.expected) : nlohmann::json();
  json["actual"] = finding.has_values ? json_of(finding.actual) : nlohmann::json();
  return json.dump();
}

}  // namespace shardcheck
