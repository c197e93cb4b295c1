// A black box is named by what it did; where nothing explains it, the pairs say so.
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

using Fp8Infer = InFolder;

TEST_F(Fp8Infer, ThePolicyThatExplains) {
  // Overflow saturates, infinity does not, NaN keeps its sign: torch from 2.12 or ml_dtypes' saturating cast,
  // which are the same in E4M3.
  const std::string file = write("pairs.txt", "43e80001 7e\n# a remark\n7f800000, 7f\n0xffc00000 0xff\n\n");
  const CommandRun inferred = run({"fp8", "infer", file});
  EXPECT_EQ(inferred.status, 0) << inferred.err;
  EXPECT_TRUE(holds(inferred.out, "3 pairs to e4m3 explained by ml_dtypes_saturating torch_after"))
      << inferred.out;
  EXPECT_TRUE(holds(inferred.out, "nothing: ml_dtypes_saturating and torch_after are the same in e4m3"));
  EXPECT_TRUE(holds(inferred.out, "and 6 combinations of parts without a name")) << inferred.out;
}

TEST_F(Fp8Infer, WhatWouldTellThemApart) {
  const CommandRun inferred = run({"fp8", "infer", write("pairs.txt", "3f800000 38\n")});
  EXPECT_EQ(inferred.status, 0);
  EXPECT_TRUE(
      holds(inferred.out,
            "would tell 464.00003 (0x43e80001): nv_saturating gives 448 (0x7e), nv_nosat gives NaN (0x7f)"))
      << inferred.out;
}

TEST_F(Fp8Infer, PartsWithoutAName) {
  const CommandRun inferred =
      run({"fp8", "infer", write("pairs.txt", "3fffffff 3f\n43e80001 7e\n44000000 7e\n")});
  EXPECT_EQ(inferred.status, 0);
  EXPECT_TRUE(holds(inferred.out, "toward zero, finite overflow saturates")) << inferred.out;
  EXPECT_TRUE(holds(inferred.out, "no policy with a name does"));
}

TEST_F(Fp8Infer, TheFewestPairsThatNothingExplains) {
  // One pair saturates, another does not; the rest is innocent.
  const CommandRun inferred =
      run({"fp8", "infer",
           write("pairs.txt", "3f800000 38\n43f00000 7e\n40000000 40\n44000000 7f\n00000000 00\n")});
  EXPECT_EQ(inferred.status, 1);
  EXPECT_TRUE(holds(inferred.out,
                    "explained by no policy because 480 (0x43f00000) became 448 (0x7e) 512 (0x44000000) "
                    "became NaN (0x7f)"))
      << inferred.out;
}

TEST_F(Fp8Infer, AnotherFormatIsNamed) {
  const CommandRun inferred = run({"fp8", "infer", write("pairs.txt", "3f800000 40\n")});
  EXPECT_EQ(inferred.status, 1);
  EXPECT_TRUE(holds(inferred.out, "but e4m3fnuz by nv_saturating explains every pair")) << inferred.out;
}

TEST_F(Fp8Infer, SixteenBitInputs) {
  EXPECT_EQ(run({"fp8", "infer", write("pairs.txt", "3f80 38\n"), "--from", "bf16"}).status, 0);
  EXPECT_EQ(run({"fp8", "infer", write("pairs.txt", "3c00 38\n"), "--from", "f16"}).status, 0);
}

TEST_F(Fp8Infer, BadLinesAreNamed) {
  const std::pair<const char*, const char*> wrong[] = {
      {"3f800000\n", "pairs.txt line 1: two hexadecimal numbers are expected"},
      {"\n3f800000 1ff\n", "pairs.txt line 2: \"1ff\" is not a code of e4m3: two are 0x00 and 0xff"},
      {"3f80 38\n", "\"0x3f80\" has 4 hexadecimal digits"},
      {"3f800000 zz\n", "\"zz\" is not a code of e4m3"},
      {"# nothing\n", "pairs.txt: there is no pair"}};
  for (const auto& [text, sentence] : wrong) {
    const CommandRun inferred = run({"fp8", "infer", write("pairs.txt", text)});
    EXPECT_EQ(inferred.status, 2);
    EXPECT_TRUE(holds(inferred.err, sentence)) << inferred.err;
  }
  EXPECT_TRUE(holds(run({"fp8", "infer", "absent.txt"}).err, "absent.txt: cannot be read"));
}

}  // namespace
}  // namespace shardcheck
