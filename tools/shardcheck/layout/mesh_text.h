// The --mesh of a layout: named axes, outermost first, as "dp_replicate=2,dp=64,tp=8". What an axis does is
// said by its name, never guessed from its place (L19). Next: question.h.
#pragma once

#include <cstdint>
#include <string>

#include "core/layout/mesh.h"

namespace shardcheck {

struct MeshText {
  layout::Mesh mesh;        ///< without ep
  std::int32_t expert = 1;  ///< ep: ranks of dp that share the experts out
};

/// Axis names with what they do, for --help.
std::string mesh_grammar();

/// Reads `text`; `world` is the wanted number of ranks, or 0. Throws Error(bad_input) that names `where`, the
/// axis and its value, and for a mesh that does not multiply to the world what would be right.
MeshText mesh_in(const std::string& text, std::int64_t world, const std::string& where);

/// "dp=64,tp=2"; the axes and ep.
std::string to_text(const MeshText& mesh);

}  // namespace shardcheck
