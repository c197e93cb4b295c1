// Models from files: one file, an index over two, and indexes that lie.
#include "core/checkpoint/model_files.h"

#include <gtest/gtest.h>

#include "core/checkpoint/safetensors.h"
#include "tests/core/checkpoint/temp_folder.h"

namespace shardcheck::checkpoint {
namespace {

void write(const TempFolder& folder, const char* name, const std::vector<NewTensor>& tensors,
           std::size_t bytes) {
  SafetensorsWriter writer(folder.path() / name, tensors);
  writer.append(std::vector<std::byte>(bytes));
  writer.finish();
}

class ModelFilesTest : public testing::Test {
 protected:
  ModelFilesTest() {
    write(folder, "one.safetensors", {{"embed", DType::bf16, {3, 2}}, {"norm", DType::f32, {2}}}, 20);
    write(folder, "two.safetensors", {{"head", DType::e4m3, {3, 2}}}, 6);
  }
  std::string refusal(const char* index) const {
    const auto path = folder.file("model.safetensors.index.json", index);
    return sentence_of([&] { read_model_files(path); });
  }
  TempFolder folder;
};

TEST_F(ModelFilesTest, OneFileKeepsTheOrderOfItsData) {
  const ModelFiles model = read_model_files(folder.path() / "one.safetensors");
  ASSERT_EQ(model.parameters.size(), 2u);
  EXPECT_EQ(model.parameters[0].name, "embed");
  EXPECT_EQ(model.parameters[0].shape, (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(model.parameters[1].dtype, DType::f32);
}

TEST_F(ModelFilesTest, AnIndexJoinsFiles) {
  const auto path = folder.file("i.json", R"({"metadata": {"total_size": 26}, "weight_map":
      {"head": "two.safetensors", "embed": "one.safetensors", "norm": "one.safetensors"}})");
  EXPECT_EQ(read_model_files(path).parameters.size(), 3u);
}

TEST_F(ModelFilesTest, IndexesThatLie) {
  EXPECT_NE(refusal(R"({"weight_map": {"embed": "one.safetensors"}})").find("\"norm\": the index"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"weight_map": {"head": "two.safetensors", "gate": "two.safetensors"}})")
                .find("\"gate\": the file two.safetensors does not hold it"),
            std::string::npos);
  EXPECT_NE(
      refusal(R"({"weight_map": {"head": "../two.safetensors"}})").find("not the name of a file beside"),
      std::string::npos);
  EXPECT_NE(refusal(R"({"weight_map": {"head": "three.safetensors"}})").find("cannot read"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"weight_map": []})").find("weight_map"), std::string::npos);
  EXPECT_NE(refusal(R"({})").find("weight_map is missing"), std::string::npos);
}

TEST_F(ModelFilesTest, TypesThatNoPlanHoldsAreLeftOut) {
  const std::string header = R"({"ids":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  const auto path = folder.file("ids.safetensors", bytes + header + std::string(8, 'x'));
  const ModelFiles model = read_model_files(path);
  EXPECT_TRUE(model.parameters.empty());
  EXPECT_EQ(model.left_out, (std::vector<std::string>{"ids"}));
}

}  // namespace
}  // namespace shardcheck::checkpoint
