// Without a name, the recipe that made the file is found, from the source or from the file alone.
#include "properties/checkpoint_quantisation/choice.h"

#include <gtest/gtest.h>

#include "tests/properties/checkpoint_quantisation/whole_file.h"

namespace shardcheck::verify {
namespace {

std::string chosen(std::string_view made_by, bool with_source) {
  const checkpoint::TempFolder folder;
  const auto in = folder.path() / "in.safetensors", out = folder.path() / "out.safetensors";
  write_source(in, {{"a", {256, 512}}, {"b", {384, 256}}, {"c", {128, 256}}});
  write_codes(in, out, {made_by});
  const checkpoint::TensorFiles files(out), source(in);
  const Contents contents = contents_of(files, [](const std::string&) { return true; });
  const Choice choice(contents.pairs, with_source ? &source : nullptr, {.threads = 2});
  std::string names;
  for (const Pair& pair : contents.pairs) {
    const auto candidate = choice.of(pair);
    const std::string name(candidate ? candidate->recipe->name : "none");
    if (names.empty()) names = name;
    if (names != name) names += ", " + name;
  }
  return names;
}

TEST(Choice, IsTheRecipeThatMadeIt) {
  for (const bool with_source : {true, false}) {
    for (const char* recipe : {"te-block-128x128", "te-block-128x128-fp32", "te-block-1x128", "dg-128x128",
                               "te-mxfp8", "te-current", "te-current-pow2", "ao-rowwise"})
      EXPECT_EQ(chosen(recipe, with_source), recipe) << with_source;
  }
  // With bf16 numbers the floor and the ceiling of an exponent show in the codes.
  EXPECT_EQ(chosen("ao-mxfp8-floor", true), "ao-mxfp8-floor");
  EXPECT_EQ(chosen("te-nvfp4", true), "te-nvfp4");
}

TEST(Choice, WhatExplainsAsMuchIsTold) {
  const checkpoint::TempFolder folder;
  const auto in = folder.path() / "in.safetensors", out = folder.path() / "out.safetensors";
  write_source(in, {{"a", {256, 512}}});
  write_codes(in, out, {"te-mxfp8"});
  const checkpoint::TensorFiles files(out);
  const Contents contents = contents_of(files, [](const std::string&) { return true; });
  const Choice choice(contents.pairs, nullptr, {});
  EXPECT_EQ(choice.equals_of(contents.pairs[0]), std::vector<std::string_view>{"ao-mxfp8-rceil"});
}

}  // namespace
}  // namespace shardcheck::verify
