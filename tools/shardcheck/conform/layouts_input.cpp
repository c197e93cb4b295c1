#include "tools/shardcheck/conform/layouts_input.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"

namespace shardcheck::conform {

using nlohmann::json;

Field::Field(const json& value, std::string where, std::string path)
    : value_(&value), where_(std::move(where)), path_(std::move(path)) {}

void Field::reject(const std::string& expected) const {
  throw bad_input(where_, fmt::format("{} is {}; expected {}", path_.empty() ? "the line" : path_,
                                      value_->is_primitive() && !value_->is_string()
                                          ? value_->dump()
                                          : fmt::format("a value of type {}", value_->type_name()),
                                      expected));
}

Field Field::at(const std::string& name) const {
  if (!value_->is_object()) reject("an object");
  const auto member = value_->find(name);
  const std::string path = path_.empty() ? name : path_ + "." + name;
  if (member == value_->end()) throw bad_input(where_, fmt::format("field {} is missing", path));
  return Field(*member, where_, path);
}

std::optional<Field> Field::find(const std::string& name) const {
  if (!value_->is_object()) reject("an object");
  const auto member = value_->find(name);
  if (member == value_->end() || member->is_null()) return std::nullopt;
  return at(name);
}

std::vector<Field> Field::list() const {
  if (!value_->is_array()) reject("an array");
  std::vector<Field> elements;
  for (std::size_t i = 0; i < value_->size(); ++i) {
    elements.emplace_back((*value_)[i], where_, fmt::format("{}[{}]", path_, i));
  }
  return elements;
}

std::int64_t Field::integer(std::int64_t least) const {
  const std::string expected = fmt::format("an integer of at least {} in 64 bits", least);
  if (!value_->is_number_integer()) reject(expected);
  if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > std::uint64_t{INT64_MAX})
    reject(expected);
  const auto number = value_->get<std::int64_t>();
  if (number < least) reject(expected);
  return number;
}

std::int32_t Field::small_integer(std::int32_t least) const {
  const std::int64_t number = integer(least);
  // A digest walks every rank; far more ranks than any job has would only hang.
  if (number > 1'000'000) reject(fmt::format("an integer from {} to 1000000", least));
  return static_cast<std::int32_t>(number);
}

std::vector<std::int64_t> Field::integers(std::int64_t least) const {
  std::vector<std::int64_t> numbers;
  for (const Field& element : list()) numbers.push_back(element.integer(least));
  return numbers;
}

bool Field::boolean() const {
  if (!value_->is_boolean()) reject("true or false");
  return value_->get<bool>();
}

std::string Field::text() const {
  if (!value_->is_string()) reject("a string");
  return value_->get<std::string>();
}

DType Field::dtype() const {
  const std::string name = text();
  if (name == "fp32") return DType::f32;
  if (name == "bf16") return DType::bf16;
  if (name == "fp16") return DType::f16;
  if (name == "fp8") return DType::e4m3;
  reject("fp32, bf16, fp16 or fp8");
}

std::string recorded_name(DType type) {
  switch (type) {
    case DType::f32: return "fp32";
    case DType::f16: return "fp16";
    case DType::u8: return "uint8";
    default: return std::string(name_of(type));
  }
}

namespace {

layout::Quantized quantized_of(const Field& field) {
  const std::string name = field.text();
  if (name == "fp8") return layout::Quantized::fp8;
  if (name == "nvfp4") return layout::Quantized::nvfp4;
  field.reject("fp8 or nvfp4");
}

bool flag(const Field& object, const std::string& name) {
  const auto member = object.find(name);
  return member && member->boolean();
}

layout::Parameter read_parameter(const Field& field, std::int32_t position) {
  layout::Parameter parameter;
  parameter.name = field.at("name").text();
  parameter.shape = field.at("shape").integers(0);
  parameter.dtype = field.at("dtype").dtype();
  parameter.requires_grad = field.at("requires_grad").boolean();
  parameter.expert = flag(field, "expert");
  parameter.shared_embedding = flag(field, "shared_embedding");
  parameter.layerwise = flag(field, "layerwise");
  if (const auto quantized = field.find("quantized")) parameter.quantized = quantized_of(*quantized);
  if (const auto unit = field.find("unit")) parameter.unit = unit->small_integer(0);
  if (const auto tied = field.find("tied_to")) {
    const std::int32_t target = tied->small_integer(0);
    if (target >= position) tied->reject("the index of an earlier parameter");
    parameter.tied_to = ParamId{target};
  }
  if (const auto dim = field.find("shard_dim")) parameter.shard_dim = dim->small_integer(0);
  if (const auto group = field.find("group")) parameter.group = group->small_integer(0);
  if (const auto rows = field.find("block_rows")) parameter.block_rows = rows->integer(1);
  if (flag(field, "is_gtp_weight_remat")) parameter.remat_factor = field.at("gtp_remat_size").integer(1);
  return parameter;
}

}  // namespace

RecordedLayout read_recorded_layout(const json& line, const std::string& where) {
  const Field root(line, where, "");
  const Field output = root.at("output");
  if (!output.value().is_object()) output.reject("an object");
  const Field config = root.at("config");
  if (!config.value().is_object()) config.reject("an object");
  RecordedLayout recorded{.id = root.at("id").text(),
                          .layout = root.at("layout").text(),
                          .world = root.at("world").small_integer(1),
                          .config = config,
                          .output = output};
  if (const auto mesh = root.find("mesh")) {
    std::int64_t ranks = 1;
    for (const Field& axis : mesh->list()) {
      recorded.mesh.push_back(axis.small_integer(1));
      ranks *= recorded.mesh.back();
      if (ranks > recorded.world) break;
    }
    if (ranks != recorded.world)
      mesh->reject(fmt::format("axes whose product is the world, {}", recorded.world));
  }
  for (const Field& parameter : root.at("params").list()) {
    recorded.params.push_back(read_parameter(parameter, static_cast<std::int32_t>(recorded.params.size())));
  }
  return recorded;
}

}  // namespace shardcheck::conform
