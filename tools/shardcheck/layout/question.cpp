#include "tools/shardcheck/layout/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/layout/models/model_parallel.h"
#include "core/layout/models/named_models.h"
#include "tools/shardcheck/layout/model_source.h"
#include "tools/shardcheck/nearest.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

using layout::AxisUse;
using layout::Parameter;

const layout::NamedLayout& layout_of(const std::string& name) {
  if (const auto* named = layout::find_layout(name)) return *named;
  std::vector<std::string> known;
  for (const auto& named : layout::named_layouts()) known.emplace_back(named.name);
  throw bad_input("--layout", unknown_name({name, "layout", std::move(known), "shardcheck list layouts"}));
}

MeshText mesh_of(const LayoutFlags& flags) {
  if (!flags.mesh.empty()) return mesh_in(flags.mesh, flags.world, "--mesh");
  if (flags.world == 0)
    throw bad_input("shardcheck layout", "how many ranks? Give --mesh dp=64 or --world 64");
  return mesh_in(fmt::format("dp={}", flags.world), 0, "--world");
}

/// Elements a bucket, or none for one bucket. Megatron's own default grows with the ranks.
std::optional<std::int64_t> bucket_size_of(const std::string& text, std::int64_t shards) {
  if (text == "none") return std::nullopt;
  if (text.empty()) return std::max<std::int64_t>(40'000'000, 1'000'000 * shards);
  std::int64_t size = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc{} || rest != text.data() + text.size() || size < 1)
    throw bad_input("--bucket-size",
                    fmt::format("\"{}\" is neither a number of elements nor the word none", text));
  return size;
}

struct DtypeName {
  std::string_view name;
  DType dtype;
  layout::Quantized quantized;
};
constexpr DtypeName kDtypes[] = {{"bf16", DType::bf16, layout::Quantized::none},
                                 {"f16", DType::f16, layout::Quantized::none},
                                 {"f32", DType::f32, layout::Quantized::none},
                                 {"fp8", DType::bf16, layout::Quantized::fp8},
                                 {"nvfp4", DType::bf16, layout::Quantized::nvfp4}};

/// Files say their dtypes; known models and lists have that of the flag.
void apply_dtype(const std::string& name, std::vector<Parameter>& parameters) {
  const auto* found = std::ranges::find(kDtypes, name, &DtypeName::name);
  if (found == std::end(kDtypes)) {
    std::vector<std::string> known;
    for (const DtypeName& each : kDtypes) known.emplace_back(each.name);
    throw bad_input("--dtype", unknown_name({name, "dtype", std::move(known), ""}));
  }
  for (Parameter& parameter : parameters) {
    if (found->quantized == layout::Quantized::none && parameter.dtype == DType::bf16) {
      parameter.dtype = found->dtype;
    }
    if (layout::is_usually_quantised(parameter)) parameter.quantized = found->quantized;
  }
}

bool knows_expert_groups(const layout::NamedLayout& named) {
  return named.name.starts_with("megatron-");
}

std::int32_t shards_of(const Question& question) {
  return question.mesh.mesh.ranks_along(AxisUse::shard);
}

void settle(Question& question, const LayoutFlags& flags) {
  const std::int32_t shards = shards_of(question);
  layout::Configuration& c = question.configuration;
  c.bucket_size = bucket_size_of(flags.bucket_size, shards);
  c.block_rows = flags.block_rows;
  c.strategy = static_cast<layout::FsdpStrategy>(flags.zero);
  if (question.mesh.expert > 1) c.expert_world = shards / question.mesh.expert;
  // Matrix optimizers take the matrices of layers, and leave embeddings, heads and vectors to Adam.
  const bool layerwise = question.named->name == "megatron-layerwise";
  for (Parameter& p : question.parameters) p.layerwise = layerwise && layout::is_usually_quantised(p);
}

layout::Mesh with_shards(const layout::Mesh& mesh, std::int32_t shards) {
  layout::Mesh result;
  for (const layout::Axis& axis : mesh.axes) {
    if (axis.use != AxisUse::shard) result.axes.push_back(axis);
  }
  result.axes.push_back({"edp", shards, AxisUse::shard});
  return result;
}

/// Buffers of the parameters that are experts, or of those that are not, with the numbers of the model.
void append_part(const Question& question, const layout::Mesh& mesh, bool (*wanted)(const Parameter&),
                 layout::Layout& layout) {
  std::vector<Parameter> part;
  std::vector<ParamId> ids;
  for (std::size_t i = 0; i < question.parameters.size(); ++i) {
    if (!wanted(question.parameters[i])) continue;
    part.push_back(question.parameters[i]);
    ids.push_back(ParamId{static_cast<std::int32_t>(i)});
  }
  if (part.empty()) return;
  layout::Layout made = layout::layout_named(question.named->name, part, mesh, question.configuration);
  for (layout::Buffer& buffer : made.buffers) {
    for (layout::Slot& slot : buffer.slots) slot.param = ids[slot.param.value];
    layout.buffers.push_back(std::move(buffer));
  }
}

}  // namespace

Question ask(const LayoutFlags& flags) {
  Question question{.model = flags.model, .named = &layout_of(flags.layout), .mesh = mesh_of(flags)};
  ModelSource source = read_model(flags.model);
  if (!source.left_out.empty()) {
    question.notes.push_back(fmt::format("{} left out, of a type that is not sharded: {}{}",
                                         counted(std::ssize(source.left_out), "tensor"),
                                         source.left_out.front(), source.left_out.size() > 1 ? ", ..." : ""));
  }
  apply_dtype(flags.dtype, source.parameters);
  const std::int32_t ranks = question.ranks();
  if (flags.rank >= ranks)
    throw bad_input("--rank",
                    fmt::format("{} is outside the mesh; its ranks are 0 to {}", flags.rank, ranks - 1));
  const bool cuts_itself = question.named->name == "dtensor-nd";
  layout::ModelParallel parallel{.tensor = cuts_itself ? 1 : question.mesh.mesh.ranks_along(AxisUse::tensor),
                                 .expert = question.mesh.expert};
  if (flags.rank >= 0) {
    const Rank shard = layout::shard_of(question.mesh.mesh, Rank{static_cast<std::int32_t>(flags.rank)});
    parallel.expert_position = shard.value % question.mesh.expert;
  }
  question.parameters = layout::local_model(source.parameters, parallel);
  settle(question, flags);
  if (parallel.tensor > 1)
    question.notes.push_back(
        fmt::format("Shapes are those of one of {} tensor-parallel ranks.", parallel.tensor));
  if (parallel.expert > 1)
    question.notes.push_back(
        fmt::format("Experts are those of expert-parallel rank {}; the other {} ranks lie alike.",
                    parallel.expert_position, parallel.expert - 1));
  return question;
}

Question ask_instead(const Question& question, const LayoutFlags& flags) {
  Question other = question;
  other.named = &layout_of(flags.layout);
  if (!flags.mesh.empty()) other.mesh = mesh_in(flags.mesh, 0, "--diff-mesh");
  const auto model_ranks = [](const Question& q) {
    return std::pair(q.mesh.mesh.ranks_along(AxisUse::tensor), q.mesh.expert);
  };
  if (model_ranks(other) != model_ranks(question))
    throw bad_input("--diff-mesh", "tp and ep must be those of --mesh: a reshard does not cut tensors anew");
  if ((other.named->name == "dtensor-nd") != (question.named->name == "dtensor-nd") &&
      model_ranks(question).first > 1)
    throw bad_input("--diff",
                    "dtensor-nd cuts along tp itself, the other layout is given shapes already cut; "
                    "compare them without tp");
  settle(other, flags);
  return other;
}

layout::Layout answer(const Question& question) {
  if (question.mesh.expert == 1 || knows_expert_groups(*question.named)) {
    return layout::layout_named(question.named->name, question.parameters, question.mesh.mesh,
                                question.configuration);
  }
  layout::Layout layout;
  append_part(
      question, question.mesh.mesh, [](const Parameter& p) { return !p.expert; }, layout);
  append_part(
      question, with_shards(question.mesh.mesh, shards_of(question) / question.mesh.expert),
      [](const Parameter& p) { return p.expert; }, layout);
  return layout;
}

Rank rank_in(const Question& question, const layout::Buffer& buffer, Rank rank) {
  if (buffer.cut == layout::Cut::mesh) return rank;
  const Rank shard = layout::shard_of(question.mesh.mesh, rank);
  const bool is_expert =
      !buffer.slots.empty() && question.parameters[buffer.slots.front().param.value].expert;
  return is_expert ? Rank{shard.value / question.mesh.expert} : shard;
}

layout::MadeLayout made(const Question& question, const layout::Layout& layout) {
  return {question.named, &layout, question.parameters, &question.configuration};
}

std::string title_of(const Question& question) {
  return fmt::format("{} under {} on {}", question.model, question.named->name, to_text(question.mesh));
}

}  // namespace shardcheck
