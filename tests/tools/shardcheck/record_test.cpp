// What is recorded is what conform reads: it agrees with an honest recording and disagrees with a changed bit
// and with another arithmetic.
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

using RecordVerb = InFolder;

TEST_F(RecordVerb, ConformAgreesWithAnHonestRecording) {
  const CommandRun recorded =
      run({"record", "gemm", "--out", "r", "--cases", "60", "--profile", "hopper", "--seed", "3"});
  EXPECT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_EQ(files(), (std::vector<std::string>{"r/gemm.bin", "r/gemm.json"}));
  const CommandRun judged = run({"conform", "r"});
  EXPECT_EQ(judged.status, 0) << judged.out << judged.err;
  EXPECT_TRUE(holds(judged.out, "60 cases, 60 agree")) << judged.out;
}

TEST_F(RecordVerb, ConformNamesAChangedBitAndAnotherArithmetic) {
  run({"record", "gemm", "--out", "r", "--cases", "20", "--profile", "hopper"});
  const auto json = nlohmann::json::parse(content_of("r/gemm.json"));
  std::string data = content_of("r/gemm.bin");
  data[json["cases"][7]["off_d"].get<std::size_t>()] ^= 1;
  write("r/gemm.bin", data);
  const CommandRun judged = run({"conform", "r"});
  EXPECT_EQ(judged.status, 1);
  EXPECT_TRUE(holds(judged.out, "case 7, row 0, column 0")) << judged.out;
  EXPECT_TRUE(holds(judged.out, "1 disagreement")) << judged.out;
  run({"record", "gemm", "--out", "ideal", "--cases", "20"});
  EXPECT_EQ(run({"conform", "ideal"}).status, 1);
}

TEST_F(RecordVerb, AFolderWithFilesIsRefusedAndAnEmptyOneTaken) {
  write("full/note.txt", "mine");
  const CommandRun full = run({"record", "gemm", "--out", "full", "--cases", "1"});
  EXPECT_EQ(full.status, 2);
  EXPECT_TRUE(holds(full.err, "--out full: is not empty")) << full.err;
  EXPECT_EQ(files(), std::vector<std::string>{"full/note.txt"});
  std::filesystem::create_directory("empty");
  EXPECT_EQ(run({"record", "gemm", "--out", "empty/", "--cases", "1"}).status, 0);
  EXPECT_TRUE(std::filesystem::exists("empty/gemm.json"));
  EXPECT_TRUE(holds(run({"record", "gemm", "--out", "no/such"}).err, "there is no folder no"));
  EXPECT_TRUE(holds(run({"record", "gemm"}).err, "--out DIR is missing"));
  EXPECT_TRUE(holds(run({"record", "layout", "--out", "x"}).err, "\"layout\" cannot be recorded"));
}

}  // namespace
}  // namespace shardcheck
