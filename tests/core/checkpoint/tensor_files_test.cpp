// One file, an index, a folder with an index, a folder of files; and folders that are none of these.
#include "core/checkpoint/tensor_files.h"

#include <gtest/gtest.h>

#include "tests/core/checkpoint/temp_folder.h"

namespace shardcheck::checkpoint {
namespace {

void write(const TempFolder& folder, const char* name, const std::vector<NewTensor>& tensors,
           const std::map<std::string, std::string>& metadata = {}) {
  SafetensorsWriter writer(folder.path() / name, tensors, metadata);
  std::int64_t bytes = 0;
  for (const NewTensor& tensor : tensors) bytes += tensor.shape[0] * bytes_of(tensor.dtype);
  writer.append(std::vector<std::byte>(static_cast<std::size_t>(bytes), std::byte{7}));
  writer.finish();
}

class TensorFilesTest : public testing::Test {
 protected:
  TensorFilesTest() {
    write(folder, "a.safetensors", {{"embed", DType::bf16, {3}}, {"norm", DType::f32, {2}}});
    write(folder, "b.safetensors", {{"head", DType::e4m3, {3}}}, {{"shardcheck.recipe", "te-mxfp8"}});
  }
  std::string refusal() const {
    return sentence_of([&] { TensorFiles files(folder.path()); });
  }
  TempFolder folder;
};

TEST_F(TensorFilesTest, AFolderIsAllOfItsFiles) {
  const TensorFiles files(folder.path());
  ASSERT_EQ(files.tensors().size(), 3u);
  EXPECT_EQ(files.tensors()[0].entry->name, "embed");
  const StoredTensor* head = files.find("head");
  ASSERT_NE(head, nullptr);
  EXPECT_NE(head->where().find("b.safetensors: tensor \"head\""), std::string::npos);
  EXPECT_EQ(files.find("tail"), nullptr);
  EXPECT_EQ(files.metadata("shardcheck.recipe"), "te-mxfp8");
  EXPECT_EQ(files.metadata("absent"), "");
}

TEST_F(TensorFilesTest, AnIndexOfAFolderDecides) {
  folder.file("model.safetensors.index.json", R"({"weight_map": {"head": "b.safetensors"}})");
  EXPECT_EQ(TensorFiles(folder.path()).tensors().size(), 1u);
  folder.file("other.index.json", "{}");
  EXPECT_NE(refusal().find("it holds 2 indexes"), std::string::npos) << refusal();
}

TEST_F(TensorFilesTest, OneNameInTwoFiles) {
  write(folder, "c.safetensors", {{"head", DType::e4m3, {3}}});
  EXPECT_NE(refusal().find("c.safetensors: tensor \"head\": the file"), std::string::npos) << refusal();
}

TEST(TensorFiles, AnEmptyFolderAndAnAbsentFile) {
  const TempFolder folder;
  EXPECT_NE(sentence_of([&] { TensorFiles files(folder.path()); }).find("no *.safetensors file"),
            std::string::npos);
  EXPECT_NE(sentence_of([&] { TensorFiles files(folder.path() / "x.safetensors"); }).find("cannot read"),
            std::string::npos);
}

}  // namespace
}  // namespace shardcheck::checkpoint
