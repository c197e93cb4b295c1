// Lists of names and shapes: what they may hold, and what each wrong one is told.
#include "tools/shardcheck/layout/model_source.h"

#include "core/error.h"
#include "tests/tools/shardcheck/command_run.h"

namespace shardcheck {
namespace {

std::string error_of(const std::string& json) {
  try {
    parse_model_list(json, "m.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.what();
  }
  return "";
}

TEST(ModelSource, AListHasPairsOrObjects) {
  const auto list = parse_model_list(
      R"([["layers.3.w", [4, 5]], {"name": "x.experts.0.w", "shape": [2], "dtype": "f32", "unit": 7}])",
      "m.json");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].unit, 3);
  EXPECT_EQ(list[0].numel(), 20);
  EXPECT_EQ(list[1].dtype, DType::f32);
  EXPECT_EQ(list[1].unit, 7);
  EXPECT_TRUE(list[1].expert);
}

TEST(ModelSource, AWrongListIsToldWhere) {
  EXPECT_TRUE(holds(error_of(R"([["w", [4, -5]]])"), "m.json: [0][1][1] is -5"));
  EXPECT_TRUE(holds(error_of(R"([["w", [4294967296, 4294967296]]])"), "fit 64 bits"));
  EXPECT_TRUE(holds(error_of(R"([["w", [18446744073709551615]]])"), "[0][1][0]"));
  EXPECT_TRUE(holds(error_of(R"([["w", [1]], ["w", [1]]])"), "names are unique"));
  EXPECT_TRUE(holds(error_of(R"([{"name": "w"}])"), "shape is missing"));
  EXPECT_TRUE(holds(error_of(R"([{"name": "w", "shape": [1], "unti": 3}])"), "\"unit\""));
  for (const char* wrong : {"", "[]", "{}", "[1]", "[[]]", "[[\"w\"]]", "[[\"w\", 3]]", "[[\"w\", [1.5]]]"})
    EXPECT_NE(error_of(wrong), "") << wrong;
}

TEST(ModelSource, AnUnknownModelHasNeighbours) {
  try {
    read_model("lama3-70b");
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(holds(error.what(), "did you mean \"llama3-70b\""));
  }
}

}  // namespace
}  // namespace shardcheck
