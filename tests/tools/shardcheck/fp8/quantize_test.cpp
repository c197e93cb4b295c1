// What quantize writes, what it leaves as it is and says so, and what it refuses without a trace.
#include "core/checkpoint/tensor_files.h"
#include "tests/tools/shardcheck/command_run.h"
#include "tests/tools/shardcheck/fp8/checkpoint_files.h"

namespace shardcheck {
namespace {

using Fp8Quantize = InFolder;

TEST_F(Fp8Quantize, WritesCodesScalesAndTheRest) {
  const CommandRun made = run(
      {"fp8", "quantize", write_bf16_checkpoint(), "--recipe", "te-block-128x128", "--out", "q.safetensors"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_TRUE(holds(made.out, "quantised 2 tensors, 196,608 elements, row copies")) << made.out;
  EXPECT_TRUE(holds(made.out, "copied as it is attention.weight: its 192 rows are no multiple of 128"));
  EXPECT_TRUE(holds(made.out, "copied as it is norm.weight: it has 1 dimension; recipes take matrices"));
  const checkpoint::TensorFiles files("q.safetensors");
  EXPECT_EQ(files.tensors().size(), 6u);
  EXPECT_EQ(files.find("mlp.down.weight")->entry->type.name, "F8_E4M3");
  EXPECT_EQ(files.find("mlp.down.weight_scale_inv")->entry->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(files.metadata("shardcheck.recipe"), "te-block-128x128");
  EXPECT_EQ(bytes_of_tensor("q.safetensors", "norm.weight"),
            bytes_of_tensor("bf16.safetensors", "norm.weight"));
}

TEST_F(Fp8Quantize, BothCopiesOfChosenTensors) {
  const CommandRun made =
      run({"fp8", "quantize", write_bf16_checkpoint(), "--recipe", "te-mxfp8", "--out", "q.safetensors",
           "--direction", "both", "--tensor", "mlp.*", "--scales", "padded"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_TRUE(holds(made.out, "attention.weight and 1 more: it was not chosen") ||
              holds(made.out, "attention.weight: it was not chosen"))
      << made.out;
  const checkpoint::TensorFiles files("q.safetensors");
  EXPECT_EQ(files.find("mlp.up.weight_columnwise_scale")->entry->shape, (std::vector<std::int64_t>{12, 256}));
  EXPECT_EQ(files.find("mlp.up.weight_scale")->entry->type.name, "U8");
}

TEST_F(Fp8Quantize, BadInputIsOneSentenceAndLeavesNothing) {
  const std::string file = write_bf16_checkpoint();
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{file, "--recipe", "mxfp9", "--out", "x"}, "\"mxfp9\" is not a known recipe"},
      {{file, "--recipe", "mxfp9", "--out", "x"}, "te-block-128x128"},
      {{file, "--recipe", "te-delayed", "--out", "x"}, "comes from the amaxes of earlier training steps"},
      {{file, "--out", "x"}, "--recipe NAME is missing"},
      {{file, "--recipe", "te-mxfp8"}, "--out FILE is missing"},
      {{file, "--recipe", "te-mxfp8", "--out", "absent/x"}, "there is no folder absent"},
      {{file, "--recipe", "te-mxfp8", "--out", file}, "it is the file that is read"},
      {{"absent", "--recipe", "te-mxfp8", "--out", "x"}, "absent: cannot read"},
      {{file, "--recipe", "te-mxfp8", "--out", "x", "--direction", "up"},
       "--direction: \"up\" is not a known value"},
      {{file, "--recipe", "te-mxfp8", "--out", "x", "--tensor", "mpl.*"}, "\"mpl.*\" is not a known tensor"},
      {{file, "--recipe", "te-block-128x128", "--out", "x", "--tensor", "attention.weight"},
       "does not take it: its 192 rows are no multiple of 128"},
      {{file, "--recipe", "te-block-128x128", "--out", "x", "--tensor", "att*"},
       "takes none of its chosen tensors"},
      {{file, "--recipe", "te-block-128x128", "--out", "x", "--strict"}, "does not take it: its 192 rows"}};
  for (const auto& [arguments, sentence] : wrong) {
    std::vector<std::string> all = {"fp8", "quantize"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const CommandRun made = run(all);
    EXPECT_EQ(made.status, 2) << sentence;
    EXPECT_TRUE(holds(made.err, sentence)) << made.err;
  }
  EXPECT_EQ(files(), std::vector<std::string>{file});
}

TEST_F(Fp8Quantize, ANaNIsRefusedUnlessTheRecipeShallDecide) {
  const std::string file = write_bf16_checkpoint();
  overwrite(file, "mlp.up.weight", 2 * (3 * 256 + 7), {0xc0, 0x7f});
  const CommandRun refused = run({"fp8", "quantize", file, "--recipe", "te-mxfp8", "--out", "q"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_TRUE(holds(refused.err, "tensor \"mlp.up.weight\": element (3, 7) is nan")) << refused.err;
  EXPECT_EQ(files(), std::vector<std::string>{file});
  EXPECT_EQ(
      run({"fp8", "quantize", file, "--recipe", "te-mxfp8", "--out", "q", "--nonfinite", "recipe"}).status,
      0);
}

TEST_F(Fp8Quantize, ATruncatedFileIsNamed) {
  const std::string whole = content_of(write_bf16_checkpoint());
  write("short.safetensors", whole.substr(0, whole.size() - 1));
  const CommandRun made = run({"fp8", "quantize", "short.safetensors", "--recipe", "te-mxfp8", "--out", "q"});
  EXPECT_EQ(made.status, 2);
  EXPECT_TRUE(holds(made.err, "short.safetensors: tensor \"norm.weight\": data_offsets")) << made.err;
}

TEST_F(Fp8Quantize, AnInterruptLeavesNothing) {
  interrupt_flag() = true;
  const CommandRun made =
      run({"fp8", "quantize", write_bf16_checkpoint(), "--recipe", "te-mxfp8", "--out", "q.safetensors"});
  EXPECT_EQ(made.status, 130);
  EXPECT_EQ(files(), std::vector<std::string>{"bf16.safetensors"});
}

}  // namespace
}  // namespace shardcheck
