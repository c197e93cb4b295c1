#include "tools/shardcheck/explain/repro.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/contract/clauses.h"
#include "sim/scenario/json.h"

namespace shardcheck {
namespace {

constexpr std::string_view kTest = R"TEST(// {clause} {title}: {sentence}
// Written by `shardcheck explain --repro`. It fails for as long as the scenario breaks a clause.
//
//   find_package(shardcheck REQUIRED)
//   find_package(GTest REQUIRED)
//   add_executable(repro repro.cpp)
//   target_link_libraries(repro shardcheck::properties shardcheck::backends GTest::gtest_main)
#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "core/numerics/profile.h"
#include "properties/evidence.h"
#include "sim/scenario/json.h"

TEST(Counterexample, Holds{clause}) {{
  using namespace shardcheck;
  const Scenario scenario = scenario_from_json(R"JSON({json})JSON", "repro");
  const auto backend = make_cpu_backend(kIdeal);
  for (const Finding& finding : examine(*backend, scenario, Poison::quiet_nan).findings) {{
    ADD_FAILURE() << finding.clause << ": " << finding.sentence << "\n  op " << finding.op.value << " ("
                  << finding.op_text << "), rank " << finding.rank << ", " << finding.parameter_name
                  << ", element " << finding.element
                  << (finding.has_values ? ", expected " + to_text(finding.expected) + ", actual " +
                                               to_text(finding.actual)
                                         : "");
  }}
}}
)TEST";

/// The sentence on the comment's line, whatever a name in it holds.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return std::iscntrl(c) != 0 || c == '\\'; }, ' ');
  return text;
}

}  // namespace

std::string repro_test(const Scenario& scenario, const Finding& finding) {
  return fmt::format(kTest, fmt::arg("clause", finding.clause),
                     fmt::arg("title", clause(finding.clause).title),
                     fmt::arg("sentence", one_line(finding.sentence)), fmt::arg("json", to_json(scenario)));
}

}  // namespace shardcheck
