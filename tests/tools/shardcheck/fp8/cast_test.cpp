// What `fp8 cast` says of numbers between two codes, on a midpoint, beyond the largest, and of bad input.
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

TEST(Fp8Cast, ANumberBetweenTwoCodes) {
  const CommandRun cast = run({"fp8", "cast", "0.3"});
  EXPECT_EQ(cast.status, 0) << cast.err;
  for (const char* part :
       {"0.3 to e4m3", "0x3e99999a", "the f32 number nearest to 0.3", "0.28125 (0x29) and 0.3125 (0x2a)",
        "midpoint 0.296875: the number is 104,858 fp32 steps above it", "0.3125 (0x2a): every policy (7)"})
    EXPECT_TRUE(holds(cast.out, part)) << part << "\n" << cast.out;
}

TEST(Fp8Cast, PoliciesThatAgreeShareALine) {
  const CommandRun cast = run({"fp8", "cast", "465"});
  for (const char* part : {"448 (0x7e) is the largest; the grid would go on with 480",
                           "464: the number is 32,768 fp32 steps above it, an overflow",
                           "448 (0x7e): nv_saturating, ml_dtypes_saturating, torch_after",
                           "NaN (0x7f): nv_nosat, ml_dtypes, torch_before, ieee"})
    EXPECT_TRUE(holds(cast.out, part)) << part << "\n" << cast.out;
}

TEST(Fp8Cast, TiesGoToTheEvenCode) {
  EXPECT_TRUE(holds(run({"fp8", "cast", "464"}).out, "just halfway; nearest even takes 448 (0x7e)"));
  EXPECT_TRUE(
      holds(run({"fp8", "cast", "-0.296875"}).out, "just halfway; nearest even takes -0.3125 (0xaa)"));
  const CommandRun overflow = run({"fp8", "cast", "61440", "--format", "e5m2"});
  EXPECT_TRUE(holds(overflow.out, "nearest even goes on: an overflow")) << overflow.out;
  EXPECT_TRUE(holds(overflow.out, "infinity (0x7c)"));
}

TEST(Fp8Cast, NegativeNumbersAreNumbers) {
  const CommandRun cast = run({"fp8", "cast", "-1e-9", "-inf", "--policy", "nv_saturating"});
  EXPECT_EQ(cast.status, 0) << cast.err;
  EXPECT_TRUE(holds(cast.out, "-0 (0x80) and -0.001953125 (0x81)")) << cast.out;
  EXPECT_TRUE(holds(cast.out, "fp32 steps above it")) << cast.out;  // nearer to 0
  EXPECT_TRUE(holds(cast.out, "-448 (0xfe): nv_saturating")) << cast.out;
}

TEST(Fp8Cast, ExactNumbersAndOtherSources) {
  EXPECT_TRUE(holds(run({"fp8", "cast", "448"}).out, "448 (0x7e) is the number itself"));
  const CommandRun bf16 = run({"fp8", "cast", "0.3", "0x3e9a", "--from", "bf16"});
  EXPECT_TRUE(holds(bf16.out, "0.30078125 (0x3e9a0000), the bf16 number nearest to 0.3")) << bf16.out;
  EXPECT_TRUE(holds(bf16.out, "0x3e9a to e4m3 number 0.30078125 (0x3e9a0000) neighbours")) << bf16.out;
}

TEST(Fp8Cast, FormatsWithoutZeroOrSign) {
  const CommandRun power = run({"fp8", "cast", "1e-40", "3", "--format", "e8m0"});
  EXPECT_TRUE(holds(power.out, "none below; 2^-127 (0x00) above")) << power.out;
  EXPECT_TRUE(holds(power.out, "4 (0x81): rp_sat, rp_nosat, half_up_sat, half_up_nosat")) << power.out;
  EXPECT_TRUE(holds(run({"fp8", "cast", "-2", "--format", "ue4m3"}).out, "none: ue4m3 has no sign"));
}

TEST(Fp8Cast, BadInputSaysWhatWouldBeRight) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"fp8", "cast"}, "NUMBER is missing: for example `shardcheck fp8 cast 0.3 448 465`"},
      {{"fp8", "cast", "zero"}, "\"zero\" is not a number: 0.3, -1e-9, 0x1p-9, inf, nan"},
      {{"fp8", "cast", "0x3e99"},
       "\"0x3e99\" has 4 hexadecimal digits; the bits of f32 have 8; --from bf16 or f16 reads 4"},
      {{"fp8", "cast", "1", "--format", "e4m4"},
       "--format: \"e4m4\" is not a known narrow format; did you mean \"e4m3\""},
      {{"fp8", "cast", "1", "--format", "f32"}, "is not a known narrow format"},
      {{"fp8", "cast", "1", "--policy", "nv_sat"},
       "--policy: \"nv_sat\" is not a known policy of e4m3; did you mean"},
      {{"fp8", "cast", "1", "--from", "f64"}, "is not a known source type"}};
  for (const auto& [arguments, sentence] : wrong) {
    const CommandRun cast = run(arguments);
    EXPECT_EQ(cast.status, 2);
    EXPECT_TRUE(holds(cast.err, sentence)) << cast.err;
  }
}

}  // namespace
}  // namespace shardcheck
