// Files are written and read back; a hostile header gets a sentence that names tensor and field.
#include "core/checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <array>

#include "core/error.h"
#include "tests/core/checkpoint/temp_folder.h"

namespace shardcheck::checkpoint {
namespace {

std::string with_length(std::uint64_t length, std::string_view rest) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(length >> 8 * i & 0xff));
  return bytes + std::string(rest);
}

std::string file_of(const std::string& header, std::size_t data) {
  return with_length(header.size(), header + std::string(data, 'd'));
}

std::string refusal(const std::string& header, std::int64_t data) {
  return sentence_of([&] { parse_safetensors_header(header, "f", data); });
}

TEST(Safetensors, WrittenAndReadBack) {
  const TempFolder folder;
  const std::vector<NewTensor> tensors{
      {"z", DType::bf16, {2, 2}}, {"a", DType::f32, {1}}, {"empty", DType::u8, {0, 3}}};
  SafetensorsWriter writer(folder.path() / "m.safetensors", tensors);
  std::array<std::byte, 12> data{};
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = std::byte(i + 1);
  writer.append(std::span(data).first(5));
  writer.append(std::span(data).subspan(5));
  writer.finish();

  const SafetensorsFile file(folder.path() / "m.safetensors");
  ASSERT_EQ(file.header().tensors.size(), 3u);
  EXPECT_EQ(file.header().data_start % 8, 0);
  const TensorEntry& a = *file.header().find("a");
  EXPECT_EQ(a.type.dtype, DType::f32);
  EXPECT_EQ(file.header().find("z")->shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(file.header().find("empty")->numel, 0);
  std::array<std::byte, 2> read{};
  file.read(a, 1, read);
  EXPECT_EQ(read, (std::array{std::byte{10}, std::byte{11}}));
}

TEST(Safetensors, MetadataAndTypesOfRealFiles) {
  const auto header = parse_safetensors_header(
      R"({"__metadata__": {"format": "pt"}, "s": {"dtype": "F8_E4M3", "shape": [], "data_offsets": [0, 1]},
          "i": {"dtype": "I64", "shape": [2], "data_offsets": [1, 17]},
          "p": {"dtype": "F4", "shape": [4], "data_offsets": [17, 19]}}  )",
      "f", 19);
  EXPECT_EQ(header.metadata.at("format"), "pt");
  EXPECT_EQ(header.find("s")->numel, 1);
  EXPECT_FALSE(header.find("i")->type.dtype.has_value());
}

struct Hostile {
  const char* what;
  const char* header;
  std::int64_t data;
  const char* sentence;
};

class Header : public testing::TestWithParam<Hostile> {};

TEST_P(Header, IsRefused) {
  EXPECT_NE(refusal(GetParam().header, GetParam().data).find(GetParam().sentence), std::string::npos)
      << refusal(GetParam().header, GetParam().data);
}

constexpr Hostile kHostile[] = {
    {"not_json", "{", 0, "cannot be read at byte"},
    {"not_an_object", "[]", 0, "not an object"},
    {"tensor_not_an_object", R"({"t": 3})", 0, "tensor \"t\""},
    {"field_missing", R"({"t": {"shape": [1], "data_offsets": [0, 4]}})", 4, "the field dtype is missing"},
    {"unknown_dtype", R"({"t": {"dtype": "F12", "shape": [1], "data_offsets": [0, 4]}})", 4,
     "dtype: \"F12\""},
    {"negative_extent", R"({"t": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})", 4,
     "shape: \"-1\""},
    {"fractional_extent", R"({"t": {"dtype": "F32", "shape": [1.5], "data_offsets": [0, 4]}})", 4,
     "shape: \"1.5\""},
    {"huge_extent", R"({"t": {"dtype": "F32", "shape": [18446744073709551615], "data_offsets": [0, 4]}})", 4,
     "shape: \"18446744073709551615\""},
    {"shape_overflows",
     R"({"t": {"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 4]}})", 4,
     "shape: its extents multiply"},
    {"bytes_overflow", R"({"t": {"dtype": "F32", "shape": [4611686018427387904], "data_offsets": [0, 4]}})",
     4, "no whole number of bytes"},
    {"half_a_byte", R"({"t": {"dtype": "F4", "shape": [3], "data_offsets": [0, 2]}})", 2,
     "no whole number of bytes"},
    {"offsets_backwards", R"({"t": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}})", 4,
     "begin 4 is behind end 0"},
    {"offsets_not_a_pair", R"({"t": {"dtype": "F32", "shape": [1], "data_offsets": [0]}})", 4,
     "must be a pair"},
    {"beyond_the_data", R"({"t": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", 3,
     "behind the data"},
    {"wrong_length", R"({"t": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 4]}})", 4,
     "4 bytes, but dtype BF16 and shape [1] make 2"},
    {"overlap",
     R"({"a": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
         "b": {"dtype": "U8", "shape": [2], "data_offsets": [2, 4]}})",
     4, "tensor \"b\": data_offsets: begin 2 lies inside"},
    {"hole", R"({"a": {"dtype": "U8", "shape": [1], "data_offsets": [1, 2]}})", 2, "belong to no tensor"},
    {"data_left_over", R"({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}})", 2, "end at byte 1"},
    {"duplicate_name",
     R"({"a": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]},
         "a": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}})",
     0, "\"a\" occurs twice"},
    {"duplicate_field", R"({"a": {"dtype": "U8", "dtype": "U8", "shape": [0], "data_offsets": [0, 0]}})", 0,
     "\"dtype\" occurs twice"},
    {"deep", R"({"a": {"dtype": [[[[[[0]]]]]]}})", 0, "nests deeper"},
    {"metadata", R"({"__metadata__": {"k": 1}})", 0, "__metadata__: \"k\""},
};

INSTANTIATE_TEST_SUITE_P(Hostile, Header, testing::ValuesIn(kHostile),
                         [](const auto& info) { return std::string(info.param.what); });

TEST(Safetensors, HostileFiles) {
  const TempFolder folder;
  const auto refused = [&](const std::string& bytes) {
    const auto path = folder.file("x.safetensors", bytes);
    return sentence_of([&] { SafetensorsFile file(path); });
  };
  EXPECT_NE(refused("abc").find("3 bytes are no safetensors file"), std::string::npos);
  EXPECT_NE(refused(with_length(100, "{}")).find("but only 2 follow"), std::string::npos);
  EXPECT_NE(refused(with_length(~0ULL, "{}")).find("at most 100000000"), std::string::npos);
  const std::string header = R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_NE(refused(file_of(header, 7)).find("truncated"), std::string::npos);
  EXPECT_EQ(refused(file_of(header, 8)), "");
  EXPECT_NE(sentence_of([&] { SafetensorsFile file(folder.path()); }).find("not a regular file"),
            std::string::npos);
  EXPECT_NE(sentence_of([&] { SafetensorsFile file(folder.path() / "none"); }).find("cannot read"),
            std::string::npos);
}

/// Every prefix and every changed byte of a good header is read or refused with an Error, and nothing else.
TEST(Safetensors, AnyDamageIsReadOrRefused) {
  const std::string good = R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                           R"("u":{"dtype":"U8","shape":[1,3],"data_offsets":[8,11]}})";
  int read = 0, refused = 0;
  const auto attempt = [&](const std::string& header) {
    try {
      parse_safetensors_header(header, "f", 11);
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      ++refused;
    }
  };
  for (std::size_t length = 0; length <= good.size(); ++length) attempt(good.substr(0, length));
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = good;
      damaged[i] = static_cast<char>(byte);
      attempt(damaged);
    }
  }
  EXPECT_GT(read, 100);  // another name is another good file
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace shardcheck::checkpoint
