// Where --json goes, and what is wrong with it before a minute of work.
#include "tools/shardcheck/output_file.h"

#include "core/error.h"
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

class OutputFiles : public InFolder {
 protected:
  static std::pair<int, std::string> complaint(const std::string& path) {
    try {
      require_writable({path}, "--json");
    } catch (const Error& error) {
      return {static_cast<int>(error.kind()), error.what()};
    }
    return {0, ""};
  }
};

TEST_F(OutputFiles, AreRefusedEarly) {
  write("file", "");
  EXPECT_EQ(complaint(""), (std::pair<int, std::string>{0, ""}));
  EXPECT_EQ(complaint("-"), (std::pair<int, std::string>{0, ""}));
  EXPECT_EQ(complaint("a.json"), (std::pair<int, std::string>{0, ""}));
  EXPECT_EQ(complaint("no/a.json"),
            (std::pair<int, std::string>{2, "--json no/a.json: there is no folder no; create it first"}));
  EXPECT_EQ(complaint("file/a.json").first, 2);
  EXPECT_EQ(complaint(".").first, 2);
  EXPECT_TRUE(files() == std::vector<std::string>{"file"});
}

TEST_F(OutputFiles, StandardOutputHoldsNothingElse) {
  const CommandRun json = run({"check", "frozen", "--cases", "5", "--json", "-"});
  EXPECT_TRUE(nlohmann::json::accept(json.out)) << json.out;
  EXPECT_TRUE(holds(json.err, "frozen"));
}

}  // namespace
}  // namespace shardcheck
