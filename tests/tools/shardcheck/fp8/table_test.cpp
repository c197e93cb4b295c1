// Grids and the words under them, against fp8 1.1.
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

TEST(Fp8Table, E4m3) {
  const CommandRun table = run({"fp8", "table", "e4m3"});
  EXPECT_EQ(table.status, 0) << table.err;
  for (const char* part :
       {"0x00 0 1p-9 1p-8 3p-9", "0x70 128 144 160 176 192 208 224 240 256 288 320 352 384 416 448 NaN",
        "codes from 0x80 on are those above, negated", "0x00, and -0 is 0x80",
        "0x01 to 0x07, steps of 0.001953125", "from 0.015625 (0x08) on", "448 (0x7e)", "0x7f and 0xff"})
    EXPECT_TRUE(holds(table.out, part)) << part << "\n" << table.out;
}

TEST(Fp8Table, NoLineIsWiderThanATerminal) {
  for (const char* format :
       {"e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0", "e2m1", "e3m2", "e2m3", "ue4m3"}) {
    std::istringstream lines(run({"fp8", "table", format}).out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << format << "\n" << line;
  }
}

TEST(Fp8Table, SpecialCodesInWords) {
  EXPECT_TRUE(holds(run({"fp8", "table", "e5m2"}).out, "0x7d to 0x7f and 0xfd to 0xff"));
  EXPECT_TRUE(holds(run({"fp8", "table", "e5m2"}).out, "infinity 0x7c and 0xfc"));
  EXPECT_TRUE(holds(run({"fp8", "table", "e4m3fnuz"}).out, "0x80 only"));
  EXPECT_TRUE(holds(run({"fp8", "table", "e4m3fnuz"}).out, "0x00 only: there is no -0"));
  EXPECT_TRUE(holds(run({"fp8", "table", "e2m1"}).out, "none: policies differ in what a NaN becomes"));
  EXPECT_TRUE(holds(run({"fp8", "table", "e2m1"}).out, "subnormal 0x1, steps of 0.5"));
  EXPECT_TRUE(holds(run({"fp8", "table", "e8m0"}).out, "zero none"));
}

TEST(Fp8Table, WideCellsHaveRowsOfEight) {
  EXPECT_TRUE(holds(run({"fp8", "table", "e8m0"}).out, "0x00 2^-127 2^-126 2^-125"))
      << run({"fp8", "table", "e8m0"}).out;
  EXPECT_TRUE(holds(run({"fp8", "table", "e4m3fnuz"}).out, "0x08 1p-7 9p-10 5p-9 11p-10"));
}

TEST(Fp8Table, AListHasALineACode) {
  const CommandRun list = run({"fp8", "table", "e4m3", "--list"});
  EXPECT_EQ(std::count(list.out.begin(), list.out.end(), '\n'), 257);
  EXPECT_TRUE(holds(list.out, "0xfe 1 1111 110 -448 -0x1.cp+8")) << list.out;
}

TEST(Fp8Table, WideFormatsAreRefusedWithAWayOut) {
  const CommandRun wide = run({"fp8", "table", "bf16"});
  EXPECT_EQ(wide.status, 2);
  EXPECT_TRUE(holds(wide.err, "bf16 has 65,536 codes; `shardcheck fp8 cast --format bf16`")) << wide.err;
  EXPECT_EQ(run({"fp8", "table"}).status, 2);
}

}  // namespace
}  // namespace shardcheck
