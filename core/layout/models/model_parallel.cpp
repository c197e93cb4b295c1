#include "core/layout/models/model_parallel.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "core/error.h"

namespace shardcheck::layout {
namespace {

struct Cut {
  std::string_view part;  ///< of a name
  std::int32_t dimension;
};

/// The longer names first where one contains another.
constexpr Cut kCuts[] = {{"q_proj.", 0},
                         {"k_proj.", 0},
                         {"v_proj.", 0},
                         {"gate_proj.", 0},
                         {"up_proj.", 0},
                         {".w1.", 0},
                         {".w3.", 0},
                         {"q_b_proj.", 0},
                         {"kv_b_proj.", 0},
                         {"embed_tokens.", 0},
                         {"lm_head.", 0},
                         {"wte.", 0},
                         {"attn.qkv.", 0},
                         {"mlp.fc1.", 0},
                         {"shared_head.head.", 0},
                         {"o_proj.weight", 1},
                         {"down_proj.", 1},
                         {".w2.", 1},
                         {"attn.proj.weight", 1},
                         {"mlp.fc2.weight", 1}};

void cut(Parameter& parameter, std::int32_t parts) {
  const auto dimension = tensor_parallel_dimension(parameter.name);
  if (!dimension || *dimension >= std::ssize(parameter.shape)) return;
  std::int64_t& extent = parameter.shape[*dimension];
  if (extent % parts != 0) {
    throw bad_input("mesh axis tp", "dimension " + std::to_string(*dimension) + " of " + parameter.name +
                                        " is " + std::to_string(extent) + ", which " + std::to_string(parts) +
                                        " ranks do not divide; use a divisor of it, or a padded model");
  }
  extent /= parts;
}

std::int64_t experts_in(std::span<const Parameter> parameters) {
  std::int64_t most = -1;
  for (const Parameter& parameter : parameters) most = std::max(most, expert_in(parameter.name).value_or(-1));
  return most + 1;
}

}  // namespace

std::optional<std::int32_t> tensor_parallel_dimension(std::string_view name) {
  for (const Cut& cut : kCuts) {
    if (name.find(cut.part) != std::string_view::npos) return cut.dimension;
  }
  return std::nullopt;
}

std::optional<std::int64_t> expert_in(std::string_view name) {
  constexpr std::string_view stem = ".experts.";
  const auto at = name.find(stem);
  if (at == std::string_view::npos) return std::nullopt;
  std::int64_t expert = 0;
  const auto [rest, error] =
      std::from_chars(name.data() + at + stem.size(), name.data() + name.size(), expert);
  return error == std::errc{} ? std::optional(expert) : std::nullopt;
}

std::vector<Parameter> local_model(std::span<const Parameter> parameters, const ModelParallel& parallel) {
  const std::int64_t experts = experts_in(parameters);
  if (parallel.expert > 1 && (experts == 0 || experts % parallel.expert != 0)) {
    throw bad_input("mesh axis ep", std::to_string(parallel.expert) + " ranks do not divide the " +
                                        std::to_string(experts) + " experts of the model" +
                                        (experts == 0 ? "; leave ep out" : "; use a divisor"));
  }
  const std::int64_t kept = experts / parallel.expert;
  std::vector<Parameter> local;
  local.reserve(parameters.size());
  for (const Parameter& parameter : parameters) {
    const std::int64_t expert = parallel.expert > 1 ? expert_in(parameter.name).value_or(-1) : -1;
    if (expert >= 0 && expert / kept != parallel.expert_position) continue;
    local.push_back(parameter);
    if (parallel.tensor > 1) cut(local.back(), parallel.tensor);
  }
  return local;
}

}  // namespace shardcheck::layout
