// A question to a layout, as the command line asks it, and the layout that answers: model, mesh, layout and
// configuration, with tensor and expert parallelism already taken out of the shapes. Next: kinds.h, which
// folds what is alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/layout/analysis/relaxations.h"
#include "core/layout/ownership.h"
#include "core/layout/registry.h"
#include "tools/shardcheck/layout/mesh_text.h"

namespace shardcheck {

/// What the flags say; empty and negative values stand for the system's own default.
struct LayoutFlags {
  std::string model, layout, mesh, dtype = "bf16", bucket_size;
  std::int64_t world = 0;        ///< ranks, or 0
  std::int64_t rank = -1;        ///< of the mesh, or -1
  std::int64_t zero = 3;         ///< what is sharded: 0 nothing .. 3 parameters too
  std::int64_t block_rows = 32;  ///< b of mfsdp-v2-block-atomic
};

struct Question {
  std::string model;
  const layout::NamedLayout* named = nullptr;
  MeshText mesh;
  std::vector<layout::Parameter> parameters;  ///< of one tensor- and expert-parallel rank
  layout::Configuration configuration;
  std::vector<std::string> notes;  ///< sentences for the user

  std::int32_t ranks() const { return mesh.mesh.ranks(); }
};

/// Reads flags and model. Throws Error(bad_input).
Question ask(const LayoutFlags& flags);

/// The same model on the same mesh under another layout (or another mesh where `mesh` is not empty).
Question ask_instead(const Question& question, const LayoutFlags& flags);

/// Throws as layout::layout_named.
layout::Layout answer(const Question& question);

/// The number of a mesh rank in the group of a buffer.
Rank rank_in(const Question& question, const layout::Buffer& buffer, Rank rank);

/// For core/layout/analysis.
layout::MadeLayout made(const Question& question, const layout::Layout& layout);

/// "llama3-70b under megatron-fsdp-v1 on dp=64".
std::string title_of(const Question& question);

}  // namespace shardcheck
