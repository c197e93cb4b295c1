#include "tools/shardcheck/layout/model_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/checkpoint/model_files.h"
#include "core/error.h"
#include "core/files.h"
#include "core/layout/megatron_fsdp_v1.h"
#include "core/layout/models/named_models.h"
#include "tools/shardcheck/conform/layouts_input.h"
#include "tools/shardcheck/nearest.h"

namespace shardcheck {
namespace {

using conform::Field;
using layout::Parameter;
using nlohmann::json;
constexpr std::int64_t kLongestList = 100'000'000;

/// What a name says, unless the list says it.
void complete(Parameter& parameter) {
  if (!parameter.unit) parameter.unit = layout::layer_in(parameter.name);
  parameter.expert = parameter.expert || layout::is_expert_name(parameter.name);
}

DType dtype_in(const Field& field) {
  const auto dtype = dtype_named(field.text());
  if (!dtype) field.reject("f32, bf16, f16, e4m3, e5m2 or u8");
  return *dtype;
}

constexpr std::string_view kFields[] = {"name",      "shape",         "dtype",           "unit",
                                        "expert",    "requires_grad", "group",           "shard_dim",
                                        "layerwise", "block_rows",    "shared_embedding"};

void read_flags(const Field& entry, Parameter& parameter) {
  for (const auto& member : entry.value().items()) {
    if (std::ranges::find(kFields, member.key()) != std::end(kFields)) continue;
    std::vector<std::string> known(std::begin(kFields), std::end(kFields));
    entry.reject("an object without " + unknown_name({member.key(), "field", std::move(known), ""}));
  }
  if (const auto f = entry.find("dtype")) parameter.dtype = dtype_in(*f);
  if (const auto f = entry.find("unit")) parameter.unit = f->small_integer(0);
  if (const auto f = entry.find("expert")) parameter.expert = f->boolean();
  if (const auto f = entry.find("requires_grad")) parameter.requires_grad = f->boolean();
  if (const auto f = entry.find("group")) parameter.group = f->small_integer(0);
  if (const auto f = entry.find("shard_dim")) parameter.shard_dim = f->small_integer(0);
  if (const auto f = entry.find("layerwise")) parameter.layerwise = f->boolean();
  if (const auto f = entry.find("block_rows")) parameter.block_rows = f->integer(1);
  if (const auto f = entry.find("shared_embedding")) parameter.shared_embedding = f->boolean();
}

Parameter read_entry(const Field& entry) {
  Parameter parameter;
  if (entry.value().is_array()) {
    const auto pair = entry.list();
    if (pair.size() != 2) entry.reject("[name, shape]");
    parameter.name = pair[0].text();
    parameter.shape = pair[1].integers(0);
  } else {
    parameter.name = entry.at("name").text();
    parameter.shape = entry.at("shape").integers(0);
    read_flags(entry, parameter);
  }
  try {
    parameter.numel();
  } catch (const Error&) {
    entry.reject("a shape whose elements fit 64 bits");
  }
  complete(parameter);
  return parameter;
}

bool is_list(const std::string& path) {
  if (std::filesystem::path(path).extension() != ".json") return false;
  const std::string text = read_text(path, kLongestList);
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '[';
}

[[noreturn]] void unknown(const std::string& model) {
  std::vector<std::string> known;
  for (const auto& named : layout::named_models()) known.emplace_back(named.name);
  throw bad_input("MODEL",
                  unknown_name({model, "model or file", std::move(known), "shardcheck list models"}));
}

}  // namespace

std::vector<Parameter> parse_model_list(const std::string& text, const std::string& where) {
  const json list = json::parse(text, nullptr, false);
  if (list.is_discarded() || !list.is_array() || list.empty())
    throw bad_input(where, "it is no JSON list of names and shapes, such as [[\"w\", [4096, 4096]]]");
  std::vector<Parameter> parameters;
  std::set<std::string> names;
  for (std::size_t i = 0; i < list.size(); ++i) {
    parameters.push_back(read_entry(Field(list[i], where, fmt::format("[{}]", i))));
    if (!names.insert(parameters.back().name).second)
      throw bad_input(where, fmt::format("[{}].name is \"{}\", which an earlier tensor has; names are unique",
                                         i, parameters.back().name));
  }
  return parameters;
}

ModelSource read_model(const std::string& model) {
  if (const auto* named = layout::find_model(model)) return {named->make(), {}};
  std::error_code ignored;
  if (!std::filesystem::exists(model, ignored)) unknown(model);
  if (is_list(model)) return {parse_model_list(read_text(model, kLongestList), model), {}};
  auto files = checkpoint::read_model_files(model);
  if (files.parameters.empty()) throw bad_input(model, "it holds no tensor of a type that is sharded");
  for (Parameter& parameter : files.parameters) complete(parameter);
  return {std::move(files.parameters), std::move(files.left_out)};
}

}  // namespace shardcheck
