// The laws of shard layouts, L1 to L30, and of products, as clauses of the catalogue. Judged by
// properties/layout_laws and properties/gemm_law.
#include "core/contract/law_clauses.h"

namespace shardcheck {
namespace {

constexpr Clause kLaws[] = {
    {"L1", "Cover", "The owned ranges of a tensor over its shard ranks partition its elements.",
     "layouts 4.1", Observer::cases},
    {"L2", "No overlap", "Non-empty ranges of distinct tensors are disjoint; empty ranges overlap nothing.",
     "layouts 4.1", Observer::cases},
    {"L3", "Bounds and tiling",
     "Buckets tile the buffer, shards tile the bucket, every tensor lies inside one bucket, padding is "
     "counted where it is.",
     "layouts 4.1", Observer::cases},
    {"L4", "Padding is not data", "Nothing that can be observed depends on the bytes of padding.",
     "layouts 4.1", Observer::cases},
    {"L5", "Padding is inert", "Norms and counts over shards equal those of the logical tensors.",
     "layouts 4.1", Observer::cases},
    {"L6", "Alignment", "Every tensor starts at the declared alignment.", "layouts 4.1", Observer::cases},
    {"L7", "Row atomicity", "Where a layout exposes views along dim 0, no row is cut.", "layouts 4.1",
     Observer::cases},
    {"L8", "Block atomicity", "Where a layout keeps blocks of rows together, no block is cut.", "layouts 4.1",
     Observer::cases},
    {"L9", "Tensor atomicity", "Where a layout keeps tensors together, each has one non-empty rank.",
     "layouts 4.1", Observer::cases},
    {"L10", "Zero-copy contiguity",
     "After a gather every tensor is one contiguous range, or the declared copy-out map finds each element.",
     "layouts 4.1", Observer::cases},
    {"L11", "Determinism", "The layout is a pure function of shapes, flags, world and configuration.",
     "layouts 4.1", Observer::cases},
    {"L12", "Degenerate tensors",
     "A tensor without elements is held by nobody, a scalar is one element, and one rank holds everything.",
     "layouts 4.1", Observer::cases},
    {"L13", "Round trip", "Gathering the shards of a tensor gives it back bit for bit.", "layouts 4.2",
     Observer::cases},
    {"L14", "Co-location", "All planes of a tensor have the same element range on every rank.", "layouts 4.2",
     Observer::cases},
    {"L15", "Linearity", "A reduce-scatter gives every rank its shard of the sum.", "layouts 4.2",
     Observer::cases},
    {"L16", "Reshard", "Resharding is sharding after unsharding, and there and back is the identity on data.",
     "layouts 4.2", Observer::cases},
    {"L17", "World change", "Tensors are bit-equal after a change of the world size.", "layouts 4.2",
     Observer::cases},
    {"L18", "Checkpoint", "A checkpoint holds every element once and no padding, and loads under any layout.",
     "layouts 4.2", Observer::cases},
    {"L19", "Mesh order",
     "The shard index is the mixed-radix number of the coordinates in the declared order.", "layouts 4.2",
     Observer::cases},
    {"L20", "TP and DP", "Cuts by several axes are undone in the reverse of their order.", "layouts 4.2",
     Observer::cases},
    {"L21", "Tied", "One storage has one owner set, and copies on two pipeline stages have equal boundaries.",
     "layouts 4.2", Observer::cases},
    {"L22", "Frozen",
     "Frozen tensors are in no gradient buffer and never share a group with trainable ones where groups ask "
     "for it.",
     "layouts 4.2", Observer::cases},
    {"L23", "Replicas agree", "All replicas of a shard hold the same.", "layouts 4.2", Observer::cases},
    {"L24", "Metamorphic", "Known changes of a model change its layout in known ways.", "layouts 4.2",
     Observer::cases},
    {"L25", "Collective symmetry", "Every rank passes the same count, or all know the counts of all.",
     "layouts 4.3", Observer::cases},
    {"L26", "64-bit", "Sizes and offsets equal their 128-bit reference.", "layouts 4.3", Observer::cases},
    {"L27", "Scale semantics", "The scale of a block depends on all its elements, by global row and column.",
     "layouts 4.3", Observer::cases},
    {"L28", "Storage lifetime", "Two live buffers share storage only where declared.", "layouts 4.3",
     Observer::nothing},
    {"L29", "Balance", "The ranks' real elements differ by at most the declared bound.", "layouts 4.3",
     Observer::cases},
    {"L30", "Waste bound", "Padding is at most the declared bound.", "layouts 4.3", Observer::cases},
    {"F66", "Arithmetic profile", "A GEMM equals its arithmetic profile, bit for bit.", "fp8 5.6",
     Observer::cases},
};

}  // namespace

std::span<const Clause> law_clauses() {
  return kLaws;
}

}  // namespace shardcheck
