// The verb as a user calls it: every section, files, and every wrong input a sentence with exit 2.
#include <nlohmann/json.hpp>

#include "core/layout/registry.h"
#include "properties/layout_laws/quirks.h"
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

class Layout : public InFolder {};

std::vector<std::string> asking(std::vector<std::string> more) {
  std::vector<std::string> all = {"layout", "llama3-8b", "--mesh", "dp=64"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST_F(Layout, EveryLayoutAnswersInWidth) {
  for (const auto& named : layout::named_layouts()) {
    const CommandRun answer =
        run(asking({"--layout", std::string(named.name), "--why", "--blocks", "128x128", "--cost"}));
    EXPECT_EQ(answer.status, 0) << named.name << answer.err;
    EXPECT_TRUE(holds(answer.out, "291 tensors, 8,030,261,248 elements")) << named.name;
    std::istringstream lines(answer.out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), 104u) << named.name << ": " << line;
  }
}

TEST_F(Layout, AWorkedTableReadsAsTheSpecificationHasIt) {
  write("m.json", R"([["P0", [97]], ["P1", [103]]])");  // shard-layouts 3.2 a
  const CommandRun ddp =
      run({"layout", "m.json", "--layout", "megatron-ddp", "--mesh", "dp=2", "--rank", "1", "--why"});
  EXPECT_EQ(ddp.status, 0) << ddp.err;
  EXPECT_TRUE(holds(ddp.out, "why padding: 56 of 256 elements"));
  EXPECT_TRUE(holds(ddp.out, "alignment 25"));
  EXPECT_TRUE(holds(ddp.out, "bucket end 31"));
  EXPECT_TRUE(holds(ddp.out, "P0 0 all"));
}

TEST_F(Layout, ATensorIsToldByRuns) {
  const CommandRun answer = run(asking({"--layout", "fsdp2-per-param", "--tensor", "layers.0.mlp.up_proj"}));
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_TRUE(holds(answer.out, "0-63 1,572,864 all, 224 rows each")) << answer.out;
}

TEST_F(Layout, JsonHasEveryPart) {
  const CommandRun answer = run(asking({"--layout", "fsdp1-flat", "--rank", "3", "--why", "--blocks", "1x32",
                                        "--diff", "fsdp2-per-param", "--cost", "--json", "-"}));
  EXPECT_EQ(answer.status, 0) << answer.err;
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json["ranks"], 64);
  EXPECT_EQ(json["elements"], 8'030'261'248);
  EXPECT_EQ(json["padding"], json["padded"].get<std::int64_t>() - 8'030'261'248);
  std::int64_t by_rule = 0;
  for (const auto& [rule, elements] : json["why"]["rules"].items()) by_rule += elements.get<std::int64_t>();
  EXPECT_EQ(by_rule, json["padding"]);
  EXPECT_LE(json["why"]["least"], json["padding"]);
  const std::int64_t moved = json["difference"]["bytes_staying"].get<std::int64_t>() +
                             json["difference"]["bytes_crossing"].get<std::int64_t>();
  EXPECT_EQ(moved, 2 * 8'030'261'248);
  EXPECT_EQ(json["cost"].size(), 12u);
  EXPECT_FALSE(json["rank"]["segments"].empty());
  EXPECT_EQ(json["blocks"]["shape"], "1x32");
}

TEST_F(Layout, ThePageIsOneFileOfBoundedSize) {
  const CommandRun answer = run(
      {"layout", "llama3-70b", "--layout", "megatron-fsdp-v1", "--mesh", "dp=1024", "--html", "page.html"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  const std::string page = content_of("page.html");
  EXPECT_LT(page.size(), 5'000'000u);
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_EQ(page.find("/*DATA*/"), std::string::npos);
  const auto begin = page.find("application/json\">") + 18;
  const auto data = nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  EXPECT_EQ(data["kinds"][0]["ranks"].size(), 1024u);
  std::int64_t elements = 0;
  for (const auto& rank : data["kinds"][0]["ranks"]) {
    for (const auto& segment : rank[1]) elements += segment[4].get<std::int64_t>();
  }
  EXPECT_EQ(elements, data["kinds"][0]["payload"]);
}

TEST_F(Layout, NamesCannotBreakOutOfThePage) {
  write("m.json", R"([["</script><b>", [4]]])");
  const CommandRun answer =
      run({"layout", "m.json", "--layout", "zero12-flat", "--world", "2", "--html", "p.html"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(content_of("p.html").find("</script><b>"), std::string::npos);
}

TEST_F(Layout, ExpertsAndTensorParallelismAreTakenOut) {
  const CommandRun answer =
      run({"layout", "mixtral-8x7b", "--layout", "fsdp2-per-param", "--mesh", "dp=16,ep=4,tp=2"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_TRUE(holds(answer.out, "one of 2 tensor-parallel ranks"));
  EXPECT_TRUE(holds(answer.out, "expert-parallel rank 0; the other 3 ranks lie alike"));
  EXPECT_TRUE(holds(answer.out, "experts"));
}

struct Wrong {
  std::vector<std::string> flags;
  std::string said;
};

TEST_F(Layout, WrongInputIsASentenceAndNothingIsWritten) {
  write("page.html", "old");
  write("short.safetensors", "abc");
  write("index.json", R"({"weight_map": {"w": "missing.safetensors"}})");
  write("odd.json", R"([["w", [100, 100]]])");
  const Wrong table[] = {
      {{"llama3-8b", "--layout", "megatron-ddq", "--mesh", "dp=8"}, "did you mean \"megatron-ddp\""},
      {{"llama3-8b", "--mesh", "dp=8"}, "--layout is missing"},
      {{"llama3-8b", "--layout", "megatron-ddp"}, "how many ranks"},
      {{"llama3-8b", "--layout", "megatron-ddp", "--mesh", "dp=8", "--world", "16"}, "dp=16 would be right"},
      {{"llama3-8b", "--layout", "megatron-ddp", "--mesh", "dp=8", "--rank", "8"}, "its ranks are 0 to 7"},
      {{"llama3-8b", "--layout", "megatron-ddp", "--mesh", "dp=8", "--blocks", "32"}, "is not a block"},
      {{"llama3-8b", "--layout", "megatron-ddp", "--mesh", "dp=8", "--tensor", "nrom"},
       "did you mean \"norm\""},
      {{"llama3-8b", "--layout", "megatron-ddp", "--mesh", "dp=8", "--dtype", "fp9"}, "fp8"},
      {{"llama3-8b", "--layout", "fsdp2-per-param", "--mesh", "dp=8,cp=2"}, "flatten them into one"},
      {{"llama3-8b", "--layout", "megatron-ddp", "--mesh", "dp=8", "--cost", "--storage", "fp3"}, "storage"},
      {{"odd.json", "--layout", "zero12-flat", "--mesh", "dp=8", "--blocks", "1x32"}, "does not divide w"},
      {{"odd.json", "--layout", "mfsdp-v2-block-atomic", "--mesh", "dp=8"},
       "blocks of 32 rows need a multiple"},
      {{"gpt3-175b", "--layout", "zero12-flat", "--mesh", "dp=8,tp=2"}, "50257"},
      {{"short.safetensors", "--layout", "zero12-flat", "--mesh", "dp=8"}, "short.safetensors"},
      {{"index.json", "--layout", "zero12-flat", "--mesh", "dp=8"}, "missing.safetensors"},
      {{"nothing.json", "--layout", "zero12-flat", "--mesh", "dp=8"}, "nothing.json"},
      {{"llama3-8b", "--layout", "zero12-flat", "--mesh", "dp=8", "--json", "no/such/x.json"}, "no folder"},
  };
  for (const Wrong& each : table) {
    std::vector<std::string> arguments = {"layout"};
    arguments.insert(arguments.end(), each.flags.begin(), each.flags.end());
    arguments.insert(arguments.end(), {"--html", "page.html"});
    const CommandRun answer = run(arguments);
    EXPECT_EQ(answer.status, 2) << each.said << answer.out << answer.err;
    EXPECT_TRUE(holds(answer.err, each.said)) << answer.err;
    EXPECT_EQ(content_of("page.html"), "old") << each.said;
  }
}

TEST_F(Layout, QuirksAreListedWithTheirModels) {
  const CommandRun list = run({"list", "quirks", "layouts", "models"});
  EXPECT_EQ(list.status, 0);
  for (const auto& quirk : laws::quirks()) {
    EXPECT_TRUE(holds(list.out, std::string(quirk.condition)));
    EXPECT_TRUE(holds(list.out, to_text(quirk.smallest())));
  }
  EXPECT_TRUE(holds(list.out, "deepseek-v3"));
}

}  // namespace
}  // namespace shardcheck
