#include "properties/product_law/product_machine.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/numerics/cast_policy.h"
#include "core/numerics/encode.h"
#include "core/recipe/catalogue.h"
#include "properties/fingerprint/one_op.h"
#include "properties/gemm_law/execute.h"

namespace shardcheck {
namespace {

OpOperand numbers(std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return {DType::f32, {{bytes.begin(), bytes.end()}}};
}

/// One scale, or one amax, of the whole output.
BlockCopy whole(std::int64_t numel) {
  const recipe::Recipe* found = recipe::find_recipe("te-current");
  return {.recipe = static_cast<std::int8_t>(found - recipe::recipes().data()), .rows = 1, .columns = numel};
}

Quantize saturating() {
  const auto found = std::ranges::find(kCastPolicies, "nv_saturating", &NamedCastPolicy::name);
  return {.policy = static_cast<std::int8_t>(found - kCastPolicies.begin())};
}

}  // namespace

ProductMachine::ProductMachine(Backend& backend)
    : backend_(&backend), profile_(profile_named(backend.info().profile)) {}

std::vector<std::byte> ProductMachine::product(const GemmCase& c, const GemmInputs& inputs) const {
  return backend_ == nullptr ? faulty_(c, inputs) : execute_gemm(*backend_, c, inputs);
}

NarrowOutput narrow_by_law(std::span<const float> values, float scale) {
  NarrowOutput output;
  for (const float value : values) {
    const auto scaled = std::bit_cast<std::uint32_t>(value * scale);
    output.codes.push_back(static_cast<std::byte>(encode(format_of(FormatId::e4m3), kNvSaturating, scaled)));
    output.amax = std::fmax(output.amax, std::abs(value));
  }
  return output;
}

NarrowOutput ProductMachine::narrowed(std::span<const float> values, float scale) const {
  if (backend_ == nullptr) return narrow_(values, scale);
  const float nothing[] = {0}, scales[] = {scale};
  const OpOperand amax[] = {numbers(values), numbers(nothing)};
  const OpOperand codes[] = {
      numbers(values), numbers(scales), {DType::e4m3, {std::vector<std::byte>(values.size())}}};
  const OpOperand taken = execute_op(*backend_, TakeAmax{.of = whole(std::ssize(values))}, amax);
  NarrowOutput output{.codes = execute_op(*backend_, saturating(), codes).ranks.front()};
  if (!taken.ranks.front().empty()) std::memcpy(&output.amax, taken.ranks.front().data(), sizeof output.amax);
  return output;
}

}  // namespace shardcheck
