#include "sim/scenario/json.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/files.h"
#include "tests/sim/scenario/cases.h"

namespace shardcheck {
namespace {

/// The small scenario with the first occurrence of `from` replaced.
std::string edited(const std::string& from, const std::string& to) {
  std::string text = to_json(tests::small_scenario());
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string sentence(const std::string& text) {
  return tests::sentence_of([&] { scenario_from_json(text, "f.json"); });
}

struct Mistake {
  const char *from, *to, *sentence;
};

void expect_sentences(std::initializer_list<Mistake> mistakes) {
  for (const Mistake& mistake : mistakes)
    EXPECT_EQ(sentence(edited(mistake.from, mistake.to)), std::string("f.json") + mistake.sentence);
}

TEST(Json, MissingFieldsHaveTheirDefaults) {
  const Scenario s = scenario_from_json(
      R"({"schema": 1, "owner": {"strategy": "megatron-ddp"},
          "parameters": [{"name": "w", "shape": [2, 4]}], "uses": [{"parameter": "w"}]})",
      "f.json");
  Scenario expected;
  expected.parameters = {{.name = "w", .shape = {2, 4}}};
  expected.uses = {{.parameter = 0}};
  EXPECT_EQ(s, expected);
}

TEST(Json, WrongTypes) {
  expect_sentences({
      {"[2, 2]", "[\"two\", 2]",
       ": parameters[0].shape[0]: \"two\" is not a whole number written in digits; give 0 to "
       "9223372036854775807"},
      {"[2, 2]", "{}", ": parameters[0].shape: an object is not a list"},
      {"\"ranks\": 2", "\"ranks\": null",
       ": mesh.ranks: null is not a whole number written in digits; give 1 to 1024"},
      {"{\"ranks\": 2}", "[1]",
       ": mesh: a list of 1 is not an object with the fields ranks, tensor, stages, expert_parallel, "
       "gtp, outer, outer_mode"},
      {"\"name\": \"w0\"", "\"name\": 7", ": parameters[0].name: 7 is not a text in quotes"},
  });
}

TEST(Json, NumbersThatAreNone) {
  const std::string ranks = ": mesh.ranks: ";
  const std::pair<std::string, std::string> cases[] = {
      {"-1", "-1 is out of range; give 1 to 1024"},
      {"0", "0 is out of range; give 1 to 1024"},
      {"-0", "0 is out of range; give 1 to 1024"},
      {"1025", "1025 is out of range; give 1 to 1024"},
      {"4294967298", "4294967298 is out of range; give 1 to 1024"},
      {"18446744073709551615", "18446744073709551615 is out of range; give 1 to 1024"},
      {"-9223372036854775808", "-9223372036854775808 is out of range; give 1 to 1024"},
      {"99999999999999999999", "1e+20 is not a whole number written in digits; give 1 to 1024"},
      {"2.5", "2.5 is not a whole number written in digits; give 1 to 1024"},
      {"2.0", "2.0 is not a whole number written in digits; give 1 to 1024"},
      {"true", "true is not a whole number written in digits; give 1 to 1024"},
  };
  for (const auto& [number, right] : cases)
    EXPECT_EQ(sentence(edited("\"ranks\": 2", "\"ranks\": " + number)), "f.json" + ranks + right);
}

TEST(Json, SeedsHaveAll64Bits) {
  EXPECT_EQ(scenario_from_json(edited("\"owner\"", "\"seed\": 18446744073709551615, \"owner\""), "").seed,
            UINT64_MAX);
  EXPECT_EQ(sentence(edited("\"owner\"", "\"seed\": -1, \"owner\"")),
            "f.json: seed: -1 is out of range; give 0 to 18446744073709551615");
}

TEST(Json, UnknownFieldsNameTheNearestKnownOne) {
  expect_sentences({
      {"\"microbatches\"", "\"microbatch\"",
       ": schedule: unknown field \"microbatch\"; the nearest known one is \"microbatches\" (known are "
       "steps, "
       "microbatches, tokens, token_counts, silent, recompute, aborts, resumes)"},
      {"\"shape\"", "\"Shape\"",
       ": parameters[0]: unknown field \"Shape\"; the nearest known one is \"shape\" (known are name, shape, "
       "dtype, trainable, thaws_at, expert, sequence_parallel, groups, unit, stage, tied_to)"},
      {"\"owner\"", "\"owners\"",
       ": unknown field \"owners\"; the nearest known one is \"owner\" (known are schema, name, seed, owner, "
       "protocol, mesh, schedule, numerics, fp8, parameters, uses, fault)"},
  });
}

TEST(Json, MissingFields) {
  EXPECT_EQ(sentence("{}"), "f.json: the field \"schema\" is missing");
  EXPECT_EQ(sentence("{\"schema\": 1}"), "f.json: the field \"owner\" is missing");
  expect_sentences({
      {"\"strategy\": \"megatron-ddp\"", "", ": owner: the field \"strategy\" is missing"},
      {", \"shape\": [2, 2]", "", ": parameters[0]: the field \"shape\" is missing"},
      {"\"parameter\": \"w0\", ", "", ": uses[0]: the field \"parameter\" is missing"},
      {"\"tokens\": 1", "\"token_counts\": [{\"rank\": 0, \"microbatch\": 0}]",
       ": schedule.token_counts[0]: the field \"tokens\" is missing"},
  });
}

TEST(Json, UnknownEnumeratorsListTheKnownOnes) {
  expect_sentences({
      {"\"megatron-ddp\"", "\"ddp\"",
       ": owner.strategy: \"ddp\" is unknown; known are megatron-ddp, megatron-ddp-zero1, "
       "megatron-fsdp-v1/no_shard, megatron-fsdp-v1/optim, megatron-fsdp-v1/optim_grads, "
       "megatron-fsdp-v1/optim_grads_params, megatron-fsdp-v2, fsdp2, deepspeed-1, deepspeed-2, deepspeed-3"},
      {"\"R5\"", "\"r5\"",
       ": protocol.write_mode: \"r5\" is unknown; known are te-module, te-ops, R1, R2, R3, R4, R5, R6, R7, "
       "R8"},
      {"\"bf16\"", "\"e4m3\"", ": parameters[0].dtype: \"e4m3\" is unknown; known are f32, bf16, f16"},
      {"\"mean\"", "1", ": numerics.loss: 1 is unknown; known are mean, per_token"},
  });
}

TEST(Json, UnknownSchemasAreRefusedBeforeAnythingElse) {
  EXPECT_EQ(sentence("{\"schema\": 2, \"anything\": 1}"),
            "f.json: schema: version 2 is unknown; this shardcheck reads version 1");
  EXPECT_EQ(sentence("{\"schema\": \"1\"}").find("f.json: schema: \"1\" is not a whole number"), 0u);
}

TEST(Json, UnknownParametersNameTheNearest) {
  expect_sentences({
      {"\"parameter\": \"w0\"", "\"parameter\": \"w9\"",
       ": uses[0].parameter: \"w9\" is no parameter; the nearest is \"w0\""},
      {"\"tokens\": 1", "\"silent\": [{\"parameter\": \"\"}]",
       ": schedule.silent[0].parameter: \"\" is no parameter; the nearest is \"w0\""},
      {"\"parameter\": \"w0\"", "\"parameter\": 0", ": uses[0].parameter: 0 is not a text in quotes"},
  });
}

TEST(Json, DuplicateNamesAndKeys) {
  expect_sentences({
      {"[{\"name\": \"w0\"", "[{\"name\": \"w0\", \"shape\": [1]}, {\"name\": \"w0\"",
       ": parameters[1].name: \"w0\" is the name of parameters[0] too; give another"},
      {"\"dtype\"", "\"shape\": [3, 3], \"dtype\"",
       ": parameters[0].shape: the field stands twice in one object; keep one"},
      {"\"uses\"", "\"parameters\": [], \"uses\"",
       ": parameters: the field stands twice in one object; keep one"},
  });
}

TEST(Json, TextsThatAreNoJson) {
  for (const char* text : {"{", "[1,", "nul", "{\"a\": 1e999}", "{} {}", "{'a': 1}", "{\"a\": \"\n\"}", "]",
                           "{\"a\": \"\\ud800\"}", "// comment\n{}", "NaN", "{\"a\": 1,}"}) {
    const std::string said = sentence(text);
    EXPECT_EQ(said.find("f.json: this is not JSON: "), 0u) << said;
    EXPECT_EQ(said.find("json.exception"), std::string::npos) << said;
  }
  const std::string said = sentence("{\"a\": " + std::string(5000, 'x'));
  EXPECT_NE(said.find("line 1, column"), std::string::npos);
  EXPECT_LT(said.size(), 300u);
}

TEST(Json, ValuesThatAreNoScenario) {
  EXPECT_EQ(sentence("[]").find("f.json: a list of 0 is not an object with the fields schema, name, "), 0u);
  EXPECT_EQ(sentence("null").find("f.json: null is not an object"), 0u);
}

TEST(Json, HostileTextsAreRefusedBeforeTheParserSeesThem) {
  EXPECT_NE(sentence("").find("empty"), std::string::npos);
  EXPECT_NE(sentence(std::string(1 << 20, '[')).find("nest deeper"), std::string::npos);
  EXPECT_NE(sentence(std::string("\x7F"
                                 "ELF\0\0",
                                 6))
                .find("NUL"),
            std::string::npos);
  EXPECT_NE(sentence("{\"\xC0\xAF\": 1}").find("UTF-8"), std::string::npos);
}

TEST(Json, SentencesAreShortAndPrintable) {
  const std::string long_name(1 << 20, 'y');
  for (const std::string& text : {edited("\"schema\"", "\"" + long_name + "\": 1, \"schema\""),
                                  edited("\"w0\", \"producer\"", "\"" + long_name + "\", \"producer\""),
                                  edited("\"R5\"", "\"" + long_name + "\""),
                                  edited("\"w0\", \"shape\"", "\"" + long_name + "\", \"shape\""),
                                  edited("\"R5\"", "\"\\u001b[31m\xC3\xA9\\n\"")}) {
    const std::string said = sentence(text);
    EXPECT_NE(said, "");
    EXPECT_LT(said.size(), 400u);
    for (const char c : said) EXPECT_TRUE(c >= 0x20 && c < 0x7F) << static_cast<int>(c);
  }
}

TEST(Json, EveryPrefixAndEveryChangedByteIsReadOrRefusedInASentence) {
  const std::string text = to_json(tests::unusual_scenario());
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    EXPECT_NE(sentence(text.substr(0, i)), "") << i;
    for (const char c : {'\0', '"', '[', '-', '9', 'e', '\xFF', '\\', '}'}) {
      std::string changed = text;
      changed[i] = c;
      sentence(changed);  // throws nothing but bad_input
    }
  }
}

TEST(Json, ReadsFilesAndSaysWhichOneIsWrong) {
  const std::string path = testing::TempDir() + "shardcheck-json-" + std::to_string(::getpid()) + ".json";
  write_text_atomically(path, to_json(tests::unusual_scenario()));
  EXPECT_EQ(read_scenario(path), tests::unusual_scenario());
  write_text_atomically(path, "{}");
  EXPECT_EQ(tests::sentence_of([&] { read_scenario(path); }), path + ": the field \"schema\" is missing");
  std::filesystem::remove(path);
  EXPECT_NE(tests::sentence_of([&] { read_scenario(path); }).find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace shardcheck
