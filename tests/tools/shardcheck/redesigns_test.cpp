// redesigns prints and writes the whole product.
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

using Redesigns = InFolder;

TEST_F(Redesigns, TheReferenceIsSoundInEveryCellAndTodayIsNot) {
  const CommandRun redesigns = run({"redesigns", "--json", "r.json"});
  EXPECT_EQ(redesigns.status, 0) << redesigns.err;
  const auto json = nlohmann::json::parse(content_of("r.json"));
  int wrong_today = 0;
  for (const auto& design : json["designs"]) {
    EXPECT_EQ(design["cells"].size(), 108u) << design["id"];
    for (const auto& cell : design["cells"]) {
      for (const char* field : {"destination", "touched", "uses", "microbatch", "mode", "sound"})
        EXPECT_TRUE(cell.contains(field)) << field;
      if (!cell["applicable"] || cell["sound"]) continue;
      EXPECT_FALSE(design["id"] == "R6" || design["id"] == "R7" || design["id"] == "R8") << cell.dump();
      wrong_today += design["id"] == "te-ops" ? 1 : 0;
    }
  }
  EXPECT_GT(wrong_today, 0);
  for (const char* part : {"R5", "persistent", "temporary", "eager", "delayed", "graph", "ok: sound"})
    EXPECT_TRUE(holds(redesigns.out, part)) << part;
}

}  // namespace
}  // namespace shardcheck
