// Recorded data by file and folder: agreement, disagreement, strangers, damage.
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

namespace fs = std::filesystem;
using Conform = InFolder;

const fs::path kData = SHARDCHECK_TEST_DATA;

TEST_F(Conform, AFolderIsReadWithItsFolders) {
  const CommandRun all =
      run({"conform", (kData / "gemm").string(), (kData / "layouts").string(), "--json", "c.json"});
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_TRUE(holds(all.out, "hopper_gemm.json: recorded GEMMs, 89 cases, 89 agree")) << all.out;
  EXPECT_TRUE(holds(all.out, "fsdp1-flat.jsonl: recorded layouts")) << all.out;
  EXPECT_TRUE(holds(all.out, "not conformance data")) << all.out;
  const auto json = nlohmann::json::parse(content_of("c.json"));
  EXPECT_EQ(json["files"].size(), 14u);
  EXPECT_EQ(json["files"][0]["cases"], 89);
}

TEST_F(Conform, CastsAndRecipesAreReadWhole) {
  const CommandRun all = run({"conform", (kData / "fp8").string(), "--json", "c.json"});
  EXPECT_EQ(all.status, 0) << all.out << all.err;
  EXPECT_TRUE(holds(all.out, "quantize_cases.json: recorded quantisations, 10 cases, 10 agree")) << all.out;
  const auto json = nlohmann::json::parse(content_of("c.json"));
  EXPECT_EQ(json["files"].size(), 11u);
}

TEST_F(Conform, ADisagreementIsNamedByItsCase) {
  std::string lines = content_of(kData / "layouts" / "zero12-flat.jsonl");
  const auto at = lines.find("\"size\":") + 7;
  write("data/changed.jsonl", lines.insert(at, "1"));
  const CommandRun wrong = run({"conform", "data"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_TRUE(holds(wrong.out, "1 disagreement")) << wrong.out;
  EXPECT_TRUE(holds(wrong.out, "output.buffers[0].size: expected 1")) << wrong.out;
}

TEST_F(Conform, WhatIsNotRecordedDataIsNamedAndNoFailureUnlessThereIsNothingElse) {
  write("note.txt", "hello");
  write("other.json", "{}");
  const CommandRun nothing = run({"conform", "."});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_TRUE(holds(nothing.out, "2 files, not conformance data")) << nothing.out;
  EXPECT_TRUE(holds(nothing.err, "no recorded GEMMs or layouts were recognised")) << nothing.err;
  const CommandRun with = run({"conform", ".", (kData / "layouts" / "zero12-flat.jsonl").string()});
  EXPECT_EQ(with.status, 0) << with.err;
}

TEST_F(Conform, DamageIsASentenceAndTheOtherFilesAreStillRead) {
  const std::string lines = content_of(kData / "layouts" / "zero12-flat.jsonl");
  write("a.jsonl", lines.substr(0, lines.find('\n') + 20));
  write("b.jsonl", lines);
  const CommandRun damaged = run({"conform", "."});
  EXPECT_EQ(damaged.status, 2);
  EXPECT_TRUE(holds(damaged.err, "a.jsonl")) << damaged.err;
  EXPECT_TRUE(holds(damaged.out, "b.jsonl: recorded layouts")) << damaged.out;
}

TEST_F(Conform, AMissingNameIsBadInput) {
  EXPECT_EQ(run({"conform"}).status, 2);
  const CommandRun absent = run({"conform", "absent"});
  EXPECT_EQ(absent.status, 2);
  EXPECT_EQ(absent.err, "shardcheck: absent: there is no such file or folder\n");
}

}  // namespace
}  // namespace shardcheck
