// The command on good and on damaged files: its sentences, its JSON, its exit status.
#include "tests/tools/shardcheck/command_run.h"
#include "tests/tools/shardcheck/fp8/checkpoint_files.h"

namespace shardcheck {
namespace {

/// A folder with bf16.safetensors and q.safetensors, its quantisation.
class Fp8Verify : public InFolder {
 protected:
  static void quantise(const std::string& recipe) {
    const CommandRun made =
        run({"fp8", "quantize", write_bf16_checkpoint(), "--recipe", recipe, "--out", "q.safetensors"});
    ASSERT_EQ(made.status, 0) << made.err;
  }
  static CommandRun verified(std::vector<std::string> flags = {"--against", "bf16.safetensors"}) {
    std::vector<std::string> all = {"fp8", "verify", "q.safetensors"};
    all.insert(all.end(), flags.begin(), flags.end());
    return run(all);
  }
};

TEST_F(Fp8Verify, AGoodFileHolds) {
  quantise("te-block-128x128");
  const CommandRun against = verified();
  EXPECT_EQ(against.status, 0) << against.out << against.err;
  EXPECT_TRUE(
      holds(against.out,
            "held: 2 tensors, 12 blocks, 196,608 codes, bit for bit against bf16.safetensors, 2 others "
            "unchanged"))
      << against.out;
  const CommandRun alone = verified({});
  EXPECT_EQ(alone.status, 0);
  EXPECT_TRUE(holds(alone.out, "without --against, codes and scales are held against each other"))
      << alone.out;
}

TEST_F(Fp8Verify, ADamagedByteHasPlaceValuesAndKind) {
  quantise("te-block-128x128");
  const std::uint8_t right = bytes_of_tensor("q.safetensors", "mlp.up.weight")[200 * 256 + 130];
  overwrite("q.safetensors", "mlp.up.weight", 200 * 256 + 130, {static_cast<std::uint8_t>(right ^ 0x10)});
  const CommandRun found = verified();
  EXPECT_EQ(found.status, 1);
  EXPECT_TRUE(holds(found.out,
                    "mlp.up.weight: 384 x 256 e4m3, te-block-128x128: 1 of 6 blocks, 0 scales, 1 code wrong"))
      << found.out;
  EXPECT_TRUE(holds(found.out, "F38 one bit of one code is flipped: damage, not arithmetic: 1 block"));
  EXPECT_TRUE(holds(found.out, "block (1, 1) of 3 x 2: rows 128..255, columns 128..255 [bit 4]"));
  EXPECT_TRUE(holds(found.out, "at element (200, 130)"));
  EXPECT_TRUE(holds(found.out, "BROKEN: 1 of 4 tensors")) << found.out;
}

TEST_F(Fp8Verify, ADoubledScale) {
  quantise("te-block-128x128-fp32");
  auto bytes = bytes_of_tensor("q.safetensors", "mlp.down.weight_scale_inv");
  float scale = 0;
  std::memcpy(&scale, bytes.data() + 4, 4);
  scale *= 2;
  std::memcpy(bytes.data(), &scale, 4);
  overwrite("q.safetensors", "mlp.down.weight_scale_inv", 4, {bytes.begin(), bytes.begin() + 4});
  const CommandRun found = verified();
  EXPECT_EQ(found.status, 1);
  EXPECT_TRUE(holds(found.out, "F20 the codes are right; the stored scale is twice the right one: 1 block"))
      << found.out;
  EXPECT_TRUE(holds(found.out, "block (0, 1) of 2 x 3"));
}

TEST_F(Fp8Verify, AnotherRecipeExplainsEveryTensor) {
  quantise("te-block-1x128");
  const CommandRun found = verified({"--against", "bf16.safetensors", "--recipe", "te-block-1x128-fp32"});
  EXPECT_EQ(found.status, 1);
  EXPECT_TRUE(holds(found.out, "the scale is that of te-block-1x128, and made the codes too")) << found.out;
}

TEST_F(Fp8Verify, TheReportForMachines) {
  quantise("te-mxfp8");
  overwrite("q.safetensors", "mlp.down.weight_scale", 5, {255});
  const CommandRun found = verified({"--against", "bf16.safetensors", "--json", "-"});
  EXPECT_EQ(found.status, 1);
  const auto json = nlohmann::json::parse(found.out);
  EXPECT_EQ(json["verdict"], "broken");
  EXPECT_EQ(json["against"], "bf16.safetensors");
  ASSERT_EQ(json["tensors"].size(), 3u);
  const auto& tensor = json["tensors"][0];
  EXPECT_EQ(tensor["name"], "mlp.down.weight");
  EXPECT_EQ(tensor["broken_blocks"], 1);
  EXPECT_EQ(tensor["kinds"][0]["examples"][0]["block"], (std::vector<int>{0, 5}));
  EXPECT_EQ(tensor["kinds"][0]["examples"][0]["scale"]["bits"], "0xff");
  EXPECT_EQ(json["tensors"][1]["verdict"], "held");
  EXPECT_EQ(json["copies_compared"], 1);
  EXPECT_TRUE(holds(found.err, "BROKEN: 1 of 4 tensors")) << found.err;
}

TEST_F(Fp8Verify, AScaleTensorOfAnotherShape) {
  quantise("te-block-128x128");
  const CommandRun found = verified({"--recipe", "te-mxfp8"});
  EXPECT_EQ(found.status, 1);
  EXPECT_TRUE(
      holds(found.out,
            "F35 its scales mlp.down.weight_scale_inv are F32 of shape [2, 3]; te-mxfp8 has, for 256 x 384 "
            "codes, U8 or F8_E8M0 of shape [256, 12]"))
      << found.out;
}

TEST_F(Fp8Verify, AFolderOfFiles) {
  quantise("te-block-128x128");
  std::filesystem::create_directory("folder");
  std::filesystem::rename("q.safetensors", "folder/q.safetensors");
  const CommandRun found =
      run({"fp8", "verify", "folder", "--against", "bf16.safetensors", "--tensor", "mlp.up*"});
  EXPECT_EQ(found.status, 0) << found.err;
  EXPECT_TRUE(holds(found.out, "held: 1 tensor,")) << found.out;
}

TEST_F(Fp8Verify, BadInputIsOneSentence) {
  quantise("te-block-128x128");
  write("short", content_of("q.safetensors").substr(0, 3000));
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"bf16.safetensors"}, "it holds no quantised tensors"},
      {{"q.safetensors", "--recipe", "block"}, "\"block\" is not a known recipe; did you mean"},
      {{"q.safetensors", "--tensor", "down"},
       "\"down\" is not a known tensor of q.safetensors; did you mean"},
      {{"q.safetensors", "--tensor", "norm.weight"}, "none of the chosen tensors is quantised"},
      {{"q.safetensors", "--against", "q.safetensors"},
       "its type is F8_E4M3; a source of codes is F32, BF16 or F16"},
      {{"q.safetensors", "--json", "absent/x"}, "there is no folder absent"},
      {{"short"}, "is behind the data, which has"},
      {{"absent"}, "absent: cannot read"}};
  for (const auto& [arguments, sentence] : wrong) {
    std::vector<std::string> all = {"fp8", "verify"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const CommandRun found = run(all);
    EXPECT_EQ(found.status, 2) << sentence << found.out;
    EXPECT_TRUE(holds(found.err, sentence)) << found.err;
  }
}

TEST_F(Fp8Verify, AnInterruptIsSaid) {
  quantise("te-mxfp8");
  interrupt_flag() = true;
  EXPECT_EQ(verified().status, 130);
}

}  // namespace
}  // namespace shardcheck
