// Certificates over a part of the inputs: what is printed, and what a wrong flag is told.
#include "backends/cuda/cuda_backend.h"
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

TEST(Fp8Certify, ALineAFormatAndPolicy) {
  const CommandRun certified = run({"fp8", "certify", "--inputs", "100000"});
  EXPECT_EQ(certified.status, 0) << certified.out;
  EXPECT_EQ(std::count(certified.out.begin(), certified.out.end(), '\n'), 1 + 10 * 7 + 8 + 1);
  EXPECT_TRUE(holds(certified.out, "held: the CPU's casts, as Cast ops make them, 78 certificates"))
      << certified.out;
}

TEST(Fp8Certify, TheReadableEncoderHasTheSameDigests) {
  const std::vector<std::string> asked = {"fp8", "certify", "e4m3", "e8m0", "bf16", "--inputs", "3000"};
  auto reference = asked;
  reference.insert(reference.end(), {"--backend", "reference"});
  const auto table_of = [](const CommandRun& run) { return run.out.substr(0, run.out.find("held:")); };
  EXPECT_EQ(table_of(run(asked)), table_of(run(reference)));
}

TEST(Fp8Certify, OnePolicy) {
  const CommandRun one = run({"fp8", "certify", "e5m2", "--policy", "ml_dtypes", "--inputs", "10"});
  EXPECT_EQ(std::count(one.out.begin(), one.out.end(), '\n'), 3);
  EXPECT_TRUE(holds(one.out, "e5m2 ml_dtypes 131,082 0")) << one.out;
}

TEST(Fp8Certify, AnInterruptedSweepCertifiesNothing) {
  interrupt_flag() = true;
  const CommandRun stopped = run({"fp8", "certify", "e4m3"});
  interrupt_flag() = false;
  EXPECT_EQ(stopped.status, 130);
  EXPECT_EQ(stopped.out, "");
}

TEST(Fp8Certify, BadInputSaysWhatWouldBeRight) {
  EXPECT_TRUE(holds(run({"fp8", "certify", "e4m4"}).err, "did you mean \"e4m3\""));
  EXPECT_TRUE(holds(run({"fp8", "certify", "e4m3", "--policy", "rp_sat"}).err,
                    "\"rp_sat\" is not a known policy of these formats"));
  EXPECT_TRUE(holds(run({"fp8", "certify", "--backend", "gpu"}).err, "did you mean \"cpu\"?"));
  if (cuda_missing().empty()) return;
  const CommandRun absent = run({"fp8", "certify", "--backend", "cuda"});
  EXPECT_EQ(absent.status, 3);
  EXPECT_TRUE(holds(absent.err, cuda_missing())) << absent.err;
}

}  // namespace
}  // namespace shardcheck
