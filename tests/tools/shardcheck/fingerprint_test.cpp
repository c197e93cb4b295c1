// The verb from end to end: what it prints, what --diff says, and what it refuses.
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

using FingerprintVerb = InFolder;

TEST_F(FingerprintVerb, TheProfileComesOutAndAFaultShowsInTheDifference) {
  const CommandRun sound = run({"fingerprint", "--profile", "hopper", "--json", "sound.json"});
  EXPECT_EQ(sound.status, 0) << sound.err;
  for (const char* part :
       {"alignment bits 25", "products a step 16", "promotion interval never", "RN(acc RN(RN(alpha sa) sb))",
        "D = RN16(RN16(z) + C)", "maximum with NaN the largest; a NaN is dropped"})
    EXPECT_TRUE(holds(sound.out, part)) << part;
  const auto json = nlohmann::json::parse(content_of("sound.json"));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["machine"]["profile"], "hopper");
  EXPECT_GT(json["facts"].size(), 300u);

  run({"fingerprint", "--profile", "hopper", "--backend", "faulty:average-after", "--json", "faulty.json"});
  const CommandRun same = run({"fingerprint", "--diff", "sound.json", "sound.json"});
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_TRUE(holds(same.out, "the same:")) << same.out;
  const CommandRun differs = run({"fingerprint", "--diff", "sound.json", "faulty.json"});
  EXPECT_EQ(differs.status, 1);
  EXPECT_TRUE(holds(differs.out,
                    "every addend times RN(1/R), ascending ranks the sum times RN(1/R), ascending ranks"))
      << differs.out;
}

TEST_F(FingerprintVerb, BadFilesAndBadFlagsAreSentences) {
  write("no.json", "{");
  write("other.json", R"({"schema": 7})");
  const CommandRun damaged = run({"fingerprint", "--diff", "no.json", "no.json"});
  EXPECT_EQ(damaged.status, 2);
  EXPECT_TRUE(holds(damaged.err, "no.json: is not JSON")) << damaged.err;
  EXPECT_TRUE(holds(run({"fingerprint", "--diff", "other.json", "no.json"}).err, "\"schema\" is not 1"));
  EXPECT_EQ(run({"fingerprint", "--diff", "absent.json", "no.json"}).status, 2);
  const CommandRun one = run({"fingerprint", "--diff", "no.json"});
  EXPECT_EQ(one.status, 2);
  EXPECT_TRUE(holds(one.err, "--diff compares two files: --diff A.json B.json")) << one.err;
  EXPECT_EQ(run({"fingerprint", "no.json"}).status, 2);
  EXPECT_EQ(run({"fingerprint", "--backend", "abacus"}).status, 2);
}

}  // namespace
}  // namespace shardcheck
