#include "core/layout/models/named_models.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "core/layout/megatron_fsdp_v1.h"

namespace shardcheck::layout {
namespace {

using Shape = std::vector<std::int64_t>;

/// Collects parameters; `unit` and `prefix` are those of the module that is being listed.
struct Listing {
  std::vector<Parameter> parameters;
  std::optional<std::int32_t> unit;
  std::string prefix;

  void add(std::string_view name, Shape shape) {
    Parameter parameter{.name = prefix + std::string(name), .shape = std::move(shape), .unit = unit};
    parameter.expert = is_expert_name(parameter.name);
    parameters.push_back(std::move(parameter));
  }
  void enter(std::int32_t layer, std::string_view stem) {
    unit = layer;
    prefix = std::string(stem) + std::to_string(layer) + ".";
  }
  void leave() {
    unit.reset();
    prefix.clear();
  }
};

struct LlamaConfig {
  std::int64_t vocabulary, hidden, wide, layers, heads, kv_heads, experts;
};

void add_attention(Listing& list, const LlamaConfig& c) {
  const std::int64_t kv = c.hidden / c.heads * c.kv_heads;
  list.add("self_attn.q_proj.weight", {c.hidden, c.hidden});
  list.add("self_attn.k_proj.weight", {kv, c.hidden});
  list.add("self_attn.v_proj.weight", {kv, c.hidden});
  list.add("self_attn.o_proj.weight", {c.hidden, c.hidden});
}

void add_experts(Listing& list, const LlamaConfig& c) {
  list.add("block_sparse_moe.gate.weight", {c.experts, c.hidden});
  for (std::int64_t e = 0; e < c.experts; ++e) {
    const std::string expert = "block_sparse_moe.experts." + std::to_string(e) + ".";
    list.add(expert + "w1.weight", {c.wide, c.hidden});
    list.add(expert + "w2.weight", {c.hidden, c.wide});
    list.add(expert + "w3.weight", {c.wide, c.hidden});
  }
}

void add_gated_mlp(Listing& list, const std::string& stem, std::int64_t wide, std::int64_t hidden) {
  list.add(stem + "gate_proj.weight", {wide, hidden});
  list.add(stem + "up_proj.weight", {wide, hidden});
  list.add(stem + "down_proj.weight", {hidden, wide});
}

std::vector<Parameter> llama(const LlamaConfig& c) {
  Listing list;
  list.add("model.embed_tokens.weight", {c.vocabulary, c.hidden});
  for (std::int32_t layer = 0; layer < c.layers; ++layer) {
    list.enter(layer, "model.layers.");
    add_attention(list, c);
    if (c.experts > 0) {
      add_experts(list, c);
    } else {
      add_gated_mlp(list, "mlp.", c.wide, c.hidden);
    }
    list.add("input_layernorm.weight", {c.hidden});
    list.add("post_attention_layernorm.weight", {c.hidden});
  }
  list.leave();
  list.add("model.norm.weight", {c.hidden});
  list.add("lm_head.weight", {c.vocabulary, c.hidden});
  return std::move(list.parameters);
}

std::vector<Parameter> gpt3() {
  constexpr std::int64_t kVocabulary = 50257, kHidden = 12288, kContext = 2048, kLayers = 96;
  Listing list;
  list.add("wte.weight", {kVocabulary, kHidden});
  list.add("wpe.weight", {kContext, kHidden});
  for (std::int32_t layer = 0; layer < kLayers; ++layer) {
    list.enter(layer, "h.");
    list.add("ln_1.weight", {kHidden});
    list.add("ln_1.bias", {kHidden});
    list.add("attn.qkv.weight", {3 * kHidden, kHidden});
    list.add("attn.qkv.bias", {3 * kHidden});
    list.add("attn.proj.weight", {kHidden, kHidden});
    list.add("attn.proj.bias", {kHidden});
    list.add("ln_2.weight", {kHidden});
    list.add("ln_2.bias", {kHidden});
    list.add("mlp.fc1.weight", {4 * kHidden, kHidden});
    list.add("mlp.fc1.bias", {4 * kHidden});
    list.add("mlp.fc2.weight", {kHidden, 4 * kHidden});
    list.add("mlp.fc2.bias", {kHidden});
  }
  list.leave();
  list.add("ln_f.weight", {kHidden});
  list.add("ln_f.bias", {kHidden});
  return std::move(list.parameters);
}

constexpr std::int64_t kDeepSeekVocabulary = 129280, kDeepSeekHidden = 7168;
constexpr std::int32_t kDeepSeekLayers = 61, kDeepSeekDenseLayers = 3;

void add_latent_attention(Listing& list) {
  constexpr std::int64_t kHeads = 128, kQueryRank = 1536, kKeyRank = 512, kNope = 128, kRope = 64,
                         kValue = 128;
  list.add("self_attn.q_a_proj.weight", {kQueryRank, kDeepSeekHidden});
  list.add("self_attn.q_a_layernorm.weight", {kQueryRank});
  list.add("self_attn.q_b_proj.weight", {kHeads * (kNope + kRope), kQueryRank});
  list.add("self_attn.kv_a_proj_with_mqa.weight", {kKeyRank + kRope, kDeepSeekHidden});
  list.add("self_attn.kv_a_layernorm.weight", {kKeyRank});
  list.add("self_attn.kv_b_proj.weight", {kHeads * (kNope + kValue), kKeyRank});
  list.add("self_attn.o_proj.weight", {kDeepSeekHidden, kHeads * kValue});
}

void add_deepseek_layer(Listing& list, std::int32_t layer) {
  constexpr std::int64_t kDenseWide = 18432, kExpertWide = 2048, kExperts = 256;
  add_latent_attention(list);
  if (layer < kDeepSeekDenseLayers) {
    add_gated_mlp(list, "mlp.", kDenseWide, kDeepSeekHidden);
  } else {
    list.add("mlp.gate.weight", {kExperts, kDeepSeekHidden});
    list.add("mlp.gate.e_score_correction_bias", {kExperts});
    for (std::int64_t e = 0; e < kExperts; ++e) {
      add_gated_mlp(list, "mlp.experts." + std::to_string(e) + ".", kExpertWide, kDeepSeekHidden);
    }
    add_gated_mlp(list, "mlp.shared_experts.", kExpertWide, kDeepSeekHidden);
  }
  list.add("input_layernorm.weight", {kDeepSeekHidden});
  list.add("post_attention_layernorm.weight", {kDeepSeekHidden});
}

Listing deepseek() {
  Listing list;
  list.parameters.reserve(50'000);
  list.add("model.embed_tokens.weight", {kDeepSeekVocabulary, kDeepSeekHidden});
  for (std::int32_t layer = 0; layer < kDeepSeekLayers; ++layer) {
    list.enter(layer, "model.layers.");
    add_deepseek_layer(list, layer);
  }
  list.leave();
  list.add("model.norm.weight", {kDeepSeekHidden});
  list.add("lm_head.weight", {kDeepSeekVocabulary, kDeepSeekHidden});
  return list;
}

/// With the module that predicts one token further, which has an embedding, a head and a layer of its own.
std::vector<Parameter> deepseek_mtp() {
  Listing list = deepseek();
  list.enter(kDeepSeekLayers, "model.layers.");
  list.add("embed_tokens.weight", {kDeepSeekVocabulary, kDeepSeekHidden});
  list.add("enorm.weight", {kDeepSeekHidden});
  list.add("hnorm.weight", {kDeepSeekHidden});
  list.add("eh_proj.weight", {kDeepSeekHidden, 2 * kDeepSeekHidden});
  add_deepseek_layer(list, kDeepSeekLayers);
  list.add("shared_head.norm.weight", {kDeepSeekHidden});
  list.add("shared_head.head.weight", {kDeepSeekVocabulary, kDeepSeekHidden});
  return std::move(list.parameters);
}

constexpr NamedModel kModels[] = {
    {"llama3-8b", "Llama-3-8B: 32 layers, 291 tensors, 8.03e9 parameters",
     [] {
       return llama({128256, 4096, 14336, 32, 32, 8, 0});
     }},
    {"llama3-70b", "Llama-3-70B: 80 layers, 723 tensors, 70.6e9 parameters",
     [] {
       return llama({128256, 8192, 28672, 80, 64, 8, 0});
     }},
    {"llama3-405b", "Llama-3.1-405B: 126 layers, 1,137 tensors, 405.9e9 parameters",
     [] {
       return llama({128256, 16384, 53248, 126, 128, 8, 0});
     }},
    {"mixtral-8x7b", "Mixtral 8x7B: 32 layers of 8 experts, 995 tensors, 46.7e9 parameters",
     [] {
       return llama({32000, 4096, 14336, 32, 32, 8, 8});
     },
     2},
    {"gpt3-175b", "GPT-3 175B: 96 layers, odd vocabulary, 1,156 tensors, 174.6e9 parameters", gpt3},
    {"deepseek-v3", "DeepSeek-V3: 61 layers, 58 of them with 256 experts, 45,395 tensors, 671.0e9 parameters",
     [] { return deepseek().parameters; }, 8},
    {"deepseek-v3-mtp", "DeepSeek-V3 with its multi-token-prediction layer, 684.5e9 parameters", deepseek_mtp,
     8},
};

constexpr std::string_view kNeverQuantised[] = {"embed", "lm_head", "shared_head", "wte.",
                                                "wpe.",  "norm",    "mlp.gate.",   "block_sparse_moe.gate."};

}  // namespace

std::span<const NamedModel> named_models() {
  return kModels;
}

const NamedModel* find_model(std::string_view name) {
  const auto* found = std::ranges::find(kModels, name, &NamedModel::name);
  return found == std::end(kModels) ? nullptr : found;
}

std::optional<std::int32_t> layer_in(std::string_view name) {
  constexpr std::string_view stems[] = {"layers.", "h.", "blocks.", "layer.", "block."};
  for (const std::string_view stem : stems) {
    for (auto at = name.find(stem); at != std::string_view::npos; at = name.find(stem, at + 1)) {
      if (at > 0 && name[at - 1] != '.') continue;
      std::int32_t layer = 0;
      const char* end = name.data() + name.size();
      const auto [rest, error] = std::from_chars(name.data() + at + stem.size(), end, layer);
      if (error == std::errc{} && layer >= 0 && rest != end && *rest == '.') return layer;
    }
  }
  return std::nullopt;
}

bool is_lookup(const Parameter& parameter) {
  return parameter.name.find("embed_tokens.") != std::string::npos || parameter.name.starts_with("wpe.");
}

bool is_usually_quantised(const Parameter& parameter) {
  if (parameter.shape.size() < 2) return false;
  return std::ranges::none_of(
      kNeverQuantised, [&](std::string_view part) { return parameter.name.find(part) != std::string::npos; });
}

}  // namespace shardcheck::layout
