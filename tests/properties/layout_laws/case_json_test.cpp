// Cases of the layout laws survive their JSON, and bad JSON is a sentence with its path.
#include "properties/layout_laws/case_json.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "properties/layout_laws/random_case.h"
#include "properties/layout_laws/zoo.h"

namespace shardcheck::laws {
namespace {

TEST(CaseJson, RandomCasesComeBackWhole) {
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Case drawn = random_case(7, i);
    const std::string json = to_json(drawn);
    const Case back = case_from_json(json, "case");
    EXPECT_EQ(to_json(back), json) << i;
    EXPECT_EQ(back.asked.parameters, drawn.asked.parameters) << i;
    EXPECT_EQ(back.asked.mesh, drawn.asked.mesh) << i;
    EXPECT_EQ(to_text(back.asked), to_text(drawn.asked)) << i;
    EXPECT_EQ(back.choice, drawn.choice);
    ASSERT_EQ(back.moved_to.has_value(), drawn.moved_to.has_value());
    EXPECT_EQ(to_text(*back.moved_to), to_text(*drawn.moved_to)) << i;
    EXPECT_EQ(judge(back).findings.size(), judge(drawn).findings.size()) << i;
  }
}

TEST(CaseJson, AFaultBringsItsModel) {
  for (const LayoutFault& fault : layout_zoo()) {
    const Case c = case_from_json(to_json({.fault = std::string(fault.id)}), "case");
    EXPECT_EQ(c.fault, fault.id);
    EXPECT_EQ(to_text(c.asked), to_text(fault.model()));
  }
}

std::string refusal(const std::string& json) {
  try {
    case_from_json(json, "a.json");
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.what();
  }
}

TEST(CaseJson, WhatIsWrongIsNamedWithItsPath) {
  const auto with = [](const std::string& fields) {
    return R"({"kind": "layout", "layout": "zero12-flat", "mesh": [{"name": "dp", "size": 2}])" + fields +
           "}";
  };
  EXPECT_EQ(refusal(with("")), "");
  const struct {
    std::string fields, sentence;
  } cases[] = {
      {R"(, "parameters": [{"shape": [2, -1]}])", "a.json.parameters[0].shape[1]: expected a whole number"},
      {R"(, "parameters": [{"shape": [4294967296, 4294967296]}])", "64"},
      {R"(, "parameters": [{"dtype": "fp8"}])", "a.json.parameters[0].dtype: expected one of f32, bf16"},
      {R"(, "parameters": [{"tied_to": 0}])",
       "a.json.parameters[0].tied_to: expected the number of an earlier"},
      {R"(, "parameters": [{"size": 3}])", "\"size\" is no field here"},
      {R"(, "configuration": {"order": [1]})", "a.json.configuration.order: expected every axis once"},
      {R"(, "configuration": {"units": [1]})", "a.json.configuration.units: 1 entries; expected 2 or none"},
      {R"(, "fault": "B99")", "fault: \"B99\" is no fault"},
      {R"(, "fault": "B9")", "\"layout\" is no field here"},
      {R"(, "moved_to": {"layout": "zero3-flat", "mesh": [{"size": 5000}]})",
       "a.json.moved_to.mesh: 5000 ranks"},
  };
  for (const auto& [fields, sentence] : cases)
    EXPECT_NE(refusal(with(fields)).find(sentence), std::string::npos) << refusal(with(fields));
  EXPECT_NE(refusal("[]"), "");
}

}  // namespace
}  // namespace shardcheck::laws
