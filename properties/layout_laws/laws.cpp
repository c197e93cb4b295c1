#include "properties/layout_laws/laws.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardcheck::laws {
namespace {

using enum Evidence;

constexpr Law kLaws[] = {
    {"L1", geometry, "segments of every rank, sorted and merged; enumeration in the tests"},
    {"L2", geometry, "places of the flat buffer and of every rank's storage; the original's own check on v2"},
    {"L3", geometry, "buckets, shards, offsets and padding counts; ZeRO-3's own bookkeeping"},
    {"L4", bytes, "two runs with two canaries: norm, amax and gathered tensors agree bit for bit"},
    {"L5", bytes, "the sum of squares over all shards against the logical tensors, modulo 2^64"},
    {"L6", geometry,
     "64 elements, 16 bytes, a row or a block, as the layout declares; shard bases are reported, not judged"},
    {"L7", geometry, "both ends of every segment"},
    {"L8", geometry, "both ends of every segment"},
    {"L9", geometry, "segments of every tensor"},
    {"L10", geometry,
     "the place of both ends of every segment in the gathered buffer; local rows of dtensor-nd"},
    {"L11", rebuild, "built twice from copies at other addresses; refusals must agree too"},
    {"L12", geometry, "segments of empty tensors, scalars and worlds of one"},
    {"L13", bytes,
     "codes with NaN payloads, -0 and subnormals, moved into shards and gathered; upstream's strided "
     "unshard"},
    {"L14", geometry,
     "the data plane against scale planes divided by their block, and planes that a case adds"},
    {"L15", bytes, "one flat input a rank, added modulo 2^64, read through the segments"},
    {"L16", bytes, "between two random layouts; FSDP2's label after resharding to a smaller mesh"},
    {"L17", bytes, "as L16 with another world; step counts and scalars are not sharded and not judged"},
    {"L18", bytes,
     "the index of every case; real files in tests/core/checkpoint and tests/properties/layout_laws"},
    {"L19", geometry, "every rank of the mesh"},
    {"L20", geometry,
     "dtensor-nd: every segment against the inverse of its cut; fused tensors are not known to Parameter"},
    {"L21", rebuild, "aliases, and shared embeddings in a model of another stage"},
    {"L22", geometry, "slots against requires_grad"},
    {"L23", geometry,
     "replicated buffers and replicating axes; bit-equality after a step belongs to the executed plan"},
    {"L24", rebuild, "(a) to (e), one a case"},
    {"L25", geometry,
     "shard lengths; which parameters have gradients is judged on executed plans (W clauses)"},
    {"L26", geometry, "recomputed in 128 bits, on models up to 2^40 elements a tensor and beyond"},
    {"L27", bytes, "two-level amax over fragments against the amax of the whole tensor, three block shapes"},
    {"L28", nothing, "a layout has no allocations, streams or frees; the monitor judges them on plans"},
    {"L29", geometry, "per bucket, with the bound of each layout"},
    {"L30", geometry,
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
