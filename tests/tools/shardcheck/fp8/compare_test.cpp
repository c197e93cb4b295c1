// Sentences about ranges, and the number of inputs in them.
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

TEST(Fp8Compare, SaturationAgainstNone) {
  const CommandRun compared = run({"fp8", "compare", "nv_saturating", "nv_nosat"});
  EXPECT_EQ(compared.status, 1);
  for (const char* part :
       {"e4m3: nv_saturating and nv_nosat differ on 1,999,634,432 of 4,294,967,296 fp32 inputs",
        "|x| >= 464.00003 (0x43e80001 ..), finite: nv_saturating gives 448 (0x7e), nv_nosat gives NaN (0x7f) "
        "with "
        "the sign of x; 1,999,634,430 inputs",
        "infinity of either sign: nv_saturating gives 448 (0x7e)"})
    EXPECT_TRUE(holds(compared.out, part)) << part << "\n" << compared.out;
}

TEST(Fp8Compare, ASignedNaN) {
  const CommandRun compared = run({"fp8", "compare", "torch_after", "ml_dtypes_saturating"});
  EXPECT_EQ(compared.status, 0) << "E4M3 has one NaN magnitude\n" << compared.out;
  EXPECT_TRUE(holds(compared.out, "give the same code on every fp32 input"));
  const CommandRun e5m2 = run({"fp8", "compare", "torch_after", "ml_dtypes_saturating", "--format", "e5m2"});
  EXPECT_EQ(e5m2.status, 1);
  EXPECT_TRUE(holds(e5m2.out, "NaN: torch_after gives NaN (0x7f), ml_dtypes_saturating gives NaN (0x7e)"))
      << e5m2.out;
  EXPECT_TRUE(holds(run({"fp8", "compare", "nv_nosat", "torch_before"}).out,
                    "-NaN: nv_nosat gives NaN (0x7f), torch_before gives -NaN (0xff); 8,388,607 inputs"));
}

TEST(Fp8Compare, ManyRangesAreCut) {
  const CommandRun compared = run({"fp8", "compare", "rp_sat", "rz_sat", "--format", "e8m0", "--limit", "3"});
  EXPECT_TRUE(holds(compared.out, "and 251 ranges more; --limit 254 writes all")) << compared.out;
}

TEST(Fp8Compare, BadInput) {
  EXPECT_TRUE(holds(run({"fp8", "compare", "ieee"}).err, "two policies are expected, not 1"));
  EXPECT_TRUE(
      holds(run({"fp8", "compare", "ieee", "rp_sat"}).err, "\"rp_sat\" is not a known policy of e4m3"));
}

}  // namespace
}  // namespace shardcheck
