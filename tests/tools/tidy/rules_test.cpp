// Each rule is seen to fail on a sample that breaks it, and to pass on its nearest neighbour that does not.
#include "tools/tidy/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

namespace shardcheck::tidy {
namespace {

struct Sample {
  std::string_view rule;
  SourceFile bad, good;  ///< in `bad` it is the last line that breaks the rule
};

SourceFile file(std::string path, std::vector<std::string> lines = {}) {
  return {std::move(path), std::move(lines)};
}

SourceFile including(std::string path, const std::string& target) {
  return file(std::move(path), {"// A comment.", "#include " + target});
}

// Forbidden words and paths stand in two pieces, so that this file passes on the checkout.
std::vector<Sample> samples() {
  return {
      {"room_arrows", including("core/a.h", "\"sim/b.h\""), including("sim/a.h", "\"core/b.h\"")},
      {"room_arrows", including("backends/a.h", "\"sim/b.h\""), including("backends/a.h", "\"core/b.h\"")},
      {"room_arrows", including("sim/a.h", "\"backends/b.h\""), including("tools/a.h", "\"backends/b.h\"")},
      {"room_arrows", including("properties/a.h", "\"backends/b.h\""),
       including("properties/a.h", "\"sim/b.h\"")},
      {"room_arrows", including("sim/a.h", "<tools/b.h>"), including("sim/a.h", "<fmt/format.h>")},
      {"rooted_includes", including("core/a/b.h", "\"../../sim/c.h\""),
       including("core/a/b.h", "\"core/a/c.h\"")},
      {"rooted_includes", including("core/a.h", "\"b.h\""), including("core/a.h", "<vector>")},
      {"eigen_in_cpu", including("core/a.cpp", "<Eigen/Core>"),
       including("backends/cpu/a.cpp", "<Eigen/Core>")},
      {"cuda_in_cuda", including("backends/cpu/a.cpp", "<cuda_runtime.h>"),
       including("backends/cuda/a.cu", "<cuda_runtime.h>")},
      {"cuda_in_cuda", including("tools/a.cpp", "<nccl.h>"),
       including("backends/cuda/a.cpp", "<cublasLt.h>")},
      {"rapidcheck_in_properties", including("sim/a.cpp", "<rapidcheck.h>"),
       including("properties/generate/a.cpp", "<rapidcheck.h>")},
      {"json_in_sources", including("core/a.h", "<nlohmann/json.hpp>"),
       including("core/a.cpp", "<nlohmann/json.hpp>")},
      {"line_length", file("core/a.h", {"", std::string(121, 'x')}),
       file("core/a.h", {std::string(120, 'x')})},
      {"using_namespace", file("core/a.h", {"", "using namespace std;"}),
       file("core/a.cpp", {"using namespace std;"})},
      {"no_tolerance",
       file("tests/a.cpp", {"",
                            "  EXPECT_"
                            "NEAR(a, b, 1e-6);"}),
       file("tests/a.cpp", {"  EXPECT_EQ(a, b);  // no rt"
                            "ol here"})},
      {"no_tolerance",
       file("core/a.h", {"double at"
                         "ol = 0;"}),
       file("core/a.h", {"double at"
                         "oll = 0;"})},
      {"no_tolerance",
       file("tests/a.cpp", {"ASSERT_"
                            "FLOAT_EQ(a, b);"}),
       file("tests/a.cpp", {"ASSERT_EQ(a, b);"})},
      {"no_machine_paths",
       file("sim/a.cpp", {"",
                          "open(\"/tmp"
                          "/x\");"}),
       file("sim/a.cpp", {"open(\"a/tmp"
                          "/x\");",
                          "open(\"/tmp"
                          "/\");",
                          "${x}/tmp"
                          "/x"})},
      {"no_machine_paths",
       file("tools/script", {"cd /home"
                             "/someone"}),
       file("README.md", {"cd /home"
                          "/someone"})},
      {"file_length", file("core/a.h", std::vector<std::string>(501)),
       file("core/a.h", std::vector<std::string>(500))},
      {"header_beside_source", file("core/a/b.cpp"), file("tools/shardcheck/main.cpp")},
      {"no_dead_files", file("core/a/b.cpp"), file("core/a/b.h")},
      {"telling_names", file("core/plan_utils.h"), file("core/utility.h")},
      {"telling_names", file("sim/common/a.h"), file("sim/commons/a.h")},
  };
}

const Rule& rule_named(std::string_view name) {
  return *std::ranges::find_if(rules(), [&](const Rule& rule) { return rule.name == name; });
}

Tree tree_of(SourceFile only) {
  return {.files = {std::move(only)}, .top_entries = {}};
}

TEST(Rules, FindTheBadSampleAndPassItsNeighbour) {
  for (const Sample& sample : samples()) {
    const Rule& rule = rule_named(sample.rule);
    const Offences offences = rule.find(tree_of(sample.bad));
    ASSERT_EQ(offences.size(), 1u) << rule.name << " in " << sample.bad.path;
    EXPECT_EQ(offences[0].path, sample.bad.path);
    const bool whole_file = offences[0].line == 0;
    EXPECT_TRUE(whole_file || offences[0].line == std::ssize(sample.bad.lines)) << rule.name;
    EXPECT_TRUE(rule.find(tree_of(sample.good)).empty()) << rule.name << " in " << sample.good.path;
  }
}

TEST(Rules, EachHasASampleOrATestOfItsOwn) {
  const auto all = samples();
  for (const Rule& rule : rules()) {
    const bool sampled =
        std::ranges::any_of(all, [&](const Sample& sample) { return sample.rule == rule.name; });
    EXPECT_TRUE(sampled || rule.name == "top_folder") << rule.name;
  }
}

TEST(Rules, TopFolderNamesTheStranger) {
  const Rule& rule = rule_named("top_folder");
  const Tree tree{.files = {}, .top_entries = {"README.md", "core", "notes.txt"}};
  const Offences offences = rule.find(tree);
  ASSERT_EQ(offences.size(), 1u);
  EXPECT_EQ(offences[0].path, "notes.txt");
}

TEST(Rules, AnyHeaderOfTheFolderWillDo) {
  const Tree tree{.files = {file("core/plan/describe.cpp"), file("core/plan/plan.h")}, .top_entries = {}};
  EXPECT_TRUE(rule_named("header_beside_source").find(tree).empty());
}

TEST(Rules, ASourceIsListedByItsFolderOrByOneAbove) {
  const auto dead = [](SourceFile cmake) {
    const Tree tree{.files = {std::move(cmake), file("core/a/b.cpp")}, .top_entries = {}};
    return rule_named("no_dead_files").find(tree).size();
  };
  EXPECT_EQ(dead(file("core/a/CMakeLists.txt", {"target_sources(x PRIVATE b.cpp)"})), 0u);
  EXPECT_EQ(dead(file("core/a/CMakeLists.txt", {"target_sources(x PRIVATE ${folder}/b.cpp)"})), 0u);
  EXPECT_EQ(dead(file("core/CMakeLists.txt", {"target_sources(x PRIVATE", "  a/b.cpp", ")"})), 0u);
  EXPECT_EQ(dead(file("core/a/CMakeLists.txt", {"target_sources(x PRIVATE bb.cpp)  # b.cpp"})), 1u);
  EXPECT_EQ(dead(file("core/CMakeLists.txt", {"target_sources(x PRIVATE b.cpp)"})), 1u);
}

TEST(Rules, LengthCountsCharactersAndNotBytes) {
  std::string line;
  for (int i = 0; i < 120; ++i) line += "é";
  EXPECT_TRUE(rule_named("line_length").find(tree_of(file("core/a.h", {line}))).empty());
}

TEST(Rules, AnOffenceReadsAsFileLineSentence) {
  const Rule rule{"name", "the sentence", nullptr};
  EXPECT_EQ(describe(rule, {"core/a.h", 3, "text"}), "core/a.h:3: the sentence: text");
  EXPECT_EQ(describe(rule, {"core/a.h", 0, ""}), "core/a.h: the sentence");
}

}  // namespace
}  // namespace shardcheck::tidy
