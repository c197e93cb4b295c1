#include "tools/shardcheck/fingerprint/as_json.h"

#include "core/error.h"
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

using FingerprintJson = InFolder;

Fingerprint example() {
  const Probe probe{"GEMM", {{"A", "e4m3", {"0x38", "0x01"}}}, {{"D", "f32", {"0x3f800000"}}}};
  return {{"cpu", "a machine", "hopper", 2},
          {"GPU 0: something"},
          {{"subject", "name", "32", "how", {probe}}, {"subject", "unseen", "", "why", {}}}};
}

TEST_F(FingerprintJson, ComesBackWhole) {
  write("f.json", to_json(example(), {"driver 1"}));
  const Fingerprint read = read_fingerprint("f.json");
  EXPECT_EQ(read.facts, example().facts);
  EXPECT_EQ(read.computed_by, example().computed_by);
  EXPECT_EQ(read.machine.device, "a machine");
  EXPECT_EQ(read.machine.fold, 2);
  const auto json = nlohmann::json::parse(content_of("f.json"));
  EXPECT_TRUE(json["facts"][1]["value"].is_null());
  EXPECT_EQ(json["versions"][0], "driver 1");
}

TEST_F(FingerprintJson, DamageNamesItsPlace) {
  const std::string whole = to_json(example(), {});
  const auto sentence = [&](const std::string& from, const std::string& to) -> std::string {
    write("f.json", replaced(whole, from, to));
    try {
      read_fingerprint("f.json");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(sentence("\"how\": \"how\"", "\"how\": 3"), "f.json/facts/0: \"how\" is no string");
  EXPECT_EQ(sentence("\"fold\": 2", "\"fold\": \"2\""), "f.json: /machine: \"fold\" is no whole number");
  EXPECT_EQ(sentence("\"facts\"", "\"fact\""), "f.json: has no field \"facts\"");
  EXPECT_EQ(sentence("\"0x38\"", "56"), "f.json/facts/0/probes/0/inputs/0/codes/0: is no string");
  EXPECT_EQ(sentence("\"value\": \"32\"", "\"value\": \"\""),
            "f.json/facts/0: \"value\" is empty; a fact that was not observed has null there");
}

}  // namespace
}  // namespace shardcheck
