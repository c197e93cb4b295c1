#include "properties/layout_laws/laws.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardcheck::laws {
namespace {

using enum Evidence;

constexpr Law kLaws[] = {
    {"L1", "Cover", "The owned ranges of a tensor over its shard ranks partition its elements.", "4.1",
     geometry, "segments of every rank, sorted and merged; enumeration in the tests"},
    {"L2", "No overlap", "Non-empty ranges of distinct tensors are disjoint; empty ranges overlap nothing.",
     "4.1", geometry,
     "places of the flat buffer and of every rank's storage; the original's own check on v2"},
    {"L3", "Bounds and tiling",
     "Buckets tile the buffer, shards tile the bucket, every tensor lies inside one bucket, padding is "
     "counted "
     "where it is.",
     "4.1", geometry, "buckets, shards, offsets and padding counts; ZeRO-3's own bookkeeping"},
    {"L4", "Padding is not data", "Nothing that can be observed depends on the bytes of padding.", "4.1",
     bytes, "two runs with two canaries: norm, amax and gathered tensors agree bit for bit"},
    {"L5", "Padding is inert", "Norms and counts over shards equal those of the logical tensors.", "4.1",
     bytes, "the sum of squares over all shards against the logical tensors, modulo 2^64"},
    {"L6", "Alignment", "Every tensor starts at the declared alignment.", "4.1", geometry,
     "64 elements, 16 bytes, a row or a block, as the layout declares; shard bases are reported, not judged"},
    {"L7", "Row atomicity", "Where a layout exposes views along dim 0, no row is cut.", "4.1", geometry,
     "both ends of every segment"},
    {"L8", "Block atomicity", "Where a layout keeps blocks of rows together, no block is cut.", "4.1",
     geometry, "both ends of every segment"},
    {"L9", "Tensor atomicity", "Where a layout keeps tensors together, each has one non-empty rank.", "4.1",
     geometry, "segments of every tensor"},
    {"L10", "Zero-copy contiguity",
     "After a gather every tensor is one contiguous range, or the declared copy-out map finds each element.",
     "4.1", geometry,
     "the place of both ends of every segment in the gathered buffer; local rows of dtensor-nd"},
    {"L11", "Determinism", "The layout is a pure function of shapes, flags, world and configuration.", "4.1",
     rebuild, "built twice from copies at other addresses; refusals must agree too"},
    {"L12", "Degenerate tensors",
     "A tensor without elements is held by nobody, a scalar is one element, and one rank holds everything.",
     "4.1", geometry, "segments of empty tensors, scalars and worlds of one"},
    {"L13", "Round trip", "Gathering the shards of a tensor gives it back bit for bit.", "4.2", bytes,
     "codes with NaN payloads, -0 and subnormals, moved into shards and gathered; upstream's strided "
     "unshard"},
    {"L14", "Co-location", "All planes of a tensor have the same element range on every rank.", "4.2",
     geometry, "the data plane against scale planes divided by their block, and planes that a case adds"},
    {"L15", "Linearity", "A reduce-scatter gives every rank its shard of the sum.", "4.2", bytes,
     "one flat input a rank, added modulo 2^64, read through the segments"},
    {"L16", "Reshard", "Resharding is sharding after unsharding, and there and back is the identity on data.",
     "4.2", bytes, "between two random layouts; FSDP2's label after resharding to a smaller mesh"},
    {"L17", "World change", "Tensors are bit-equal after a change of the world size.", "4.2", bytes,
     "as L16 with another world; step counts and scalars are not sharded and not judged"},
    {"L18", "Checkpoint", "A checkpoint holds every element once and no padding, and loads under any layout.",
     "4.2", bytes,
     "the index of every case; real files in tests/core/checkpoint and tests/properties/layout_laws"},
    {"L19", "Mesh order",
     "The shard index is the mixed-radix number of the coordinates in the declared order.", "4.2", geometry,
     "every rank of the mesh"},
    {"L20", "TP and DP", "Cuts by several axes are undone in the reverse of their order.", "4.2", geometry,
     "dtensor-nd: every segment against the inverse of its cut; fused tensors are not known to Parameter"},
    {"L21", "Tied", "One storage has one owner set, and copies on two pipeline stages have equal boundaries.",
     "4.2", rebuild, "aliases, and shared embeddings in a model of another stage"},
    {"L22", "Frozen",
     "Frozen tensors are in no gradient buffer and never share a group with trainable ones "
     "where groups ask for it.",
     "4.2", geometry, "slots against requires_grad"},
    {"L23", "Replicas agree", "All replicas of a shard hold the same.", "4.2", geometry,
     "replicated buffers and replicating axes; bit-equality after a step belongs to the executed plan"},
    {"L24", "Metamorphic", "Known changes of a model change its layout in known ways.", "4.2", rebuild,
     "(a) to (e), one a case"},
    {"L25", "Collective symmetry", "Every rank passes the same count, or all know the counts of all.", "4.3",
     geometry, "shard lengths; which parameters have gradients is judged on executed plans (W clauses)"},
    {"L26", "64-bit", "Sizes and offsets equal their 128-bit reference.", "4.3", geometry,
     "recomputed in 128 bits, on models up to 2^40 elements a tensor and beyond"},
    {"L27", "Scale semantics", "The scale of a block depends on all its elements, by global row and column.",
     "4.3", bytes, "two-level amax over fragments against the amax of the whole tensor, three block shapes"},
    {"L28", "Storage lifetime", "Two live buffers share storage only where declared.", "4.3", nothing,
     "a layout has no allocations, streams or frees; the monitor judges them on plans"},
    {"L29", "Balance", "The ranks' real elements differ by at most the declared bound.", "4.3", geometry,
     "per bucket, with the bound of each layout"},
    {"L30", "Waste bound", "Padding is at most the declared bound.", "4.3", geometry,
     "per bucket or buffer, with the bound of each layout; none is known for dtensor-nd and planner R1"},
};

}  // namespace

std::string_view name_of(Evidence evidence) {
  constexpr std::string_view names[] = {"geometry", "bytes", "rebuild", "not judged here"};
  return names[static_cast<int>(evidence)];
}

std::span<const Law> laws() {
  return kLaws;
}

const Law* find_law(std::string_view id) {
  const auto* found = std::ranges::find(kLaws, id, &Law::id);
  return found == std::end(kLaws) ? nullptr : found;
}

std::string to_text(const LawFinding& finding) {
  std::string place = finding.layout;
  if (!finding.parameter.empty()) place += ", parameter " + finding.parameter;
  if (finding.rank >= 0) place += fmt::format(", rank {}", finding.rank);
  if (finding.element >= 0) place += fmt::format(", element {}", finding.element);
  std::string text = fmt::format("{} {}: {}", finding.law, place, finding.sentence);
  if (finding.expected != finding.actual) {
    text += fmt::format(" (expected {}, got {})", finding.expected, finding.actual);
  }
  if (!finding.quirk.empty()) text += fmt::format(" [declared quirk {}]", finding.quirk);
  return text;
}

}  // namespace shardcheck::laws
