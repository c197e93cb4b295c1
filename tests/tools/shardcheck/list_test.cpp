// Every subject is a table of everything that is there.
#include "backends/faulty/faults.h"
#include "core/contract/clauses.h"
#include "core/numerics/profile.h"
#include "properties/layout_laws/zoo.h"
#include "properties/property.h"
#include "properties/quantisation_law/zoo.h"
#include "sim/faults/zoo.h"
#include "sim/scenario/examples.h"
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

template <class Range, class Name>
void expect_listed(const std::string& subject, const Range& things, Name name) {
  const CommandRun list = run({"list", subject});
  EXPECT_EQ(list.status, 0);
  for (const auto& thing : things) EXPECT_TRUE(holds(list.out, std::string(name(thing)))) << subject;
}

TEST(List, ShowsEverything) {
  expect_listed("properties", properties(), [](const auto& p) { return p.id; });
  expect_listed("clauses", clauses(), [](const auto& c) { return c.id; });
  expect_listed("faults", zoo(), [](const auto& f) { return f.id; });
  expect_listed("layout-faults", laws::layout_zoo(), [](const auto& f) { return f.title; });
  expect_listed("fp8-faults", quantisation_zoo(), [](const auto& f) { return f.title; });
  expect_listed("fp8-faults",
                std::vector<std::string>{"format/Q07", "cast/Q01", "scale/Q11", "recipe/Q18", "product/Q49"},
                [](const auto& name) { return name; });
  expect_listed("profiles", kProfiles, [](const auto* p) { return p->name; });
  EXPECT_TRUE(holds(run({"list", "profiles"}).out, "published, not measured here"));
  expect_listed("scenarios", example_names(), [](const auto& name) { return name; });
  expect_listed("numeric-faults", list_numeric_faults(), [](const auto& f) { return f.name; });
  expect_listed("protocols", std::vector<std::string>{"te-module", "te-ops", "R1", "R7"},
                [](const auto& name) { return name; });
  expect_listed("backends", std::vector<std::string>{"cpu", "cuda", "faulty:"},
                [](const auto& name) { return name; });
}

TEST(List, WithoutASubjectNamesThem) {
  const CommandRun list = run({"list"});
  EXPECT_EQ(list.status, 0);
  for (const char* subject : {"properties", "clauses", "backends", "faults", "scenarios", "protocols"})
    EXPECT_TRUE(holds(list.out, subject));
  const CommandRun wrong = run({"list", "propertys"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_TRUE(holds(wrong.err, "did you mean \"properties\"?"));
}

}  // namespace
}  // namespace shardcheck
