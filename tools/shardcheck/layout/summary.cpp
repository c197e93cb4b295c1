// What lies where: one row a kind of bucket, the first ranks, one rank, one tensor.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/integers.h"
#include "core/layout/analysis/padding.h"
#include "core/layout/mesh_cut.h"
#include "core/layout/sizes.h"
#include "tools/shardcheck/layout/sections.h"
#include "tools/shardcheck/nearest.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

using layout::Buffer;
using layout::Cut;
using layout::Slot;

/// Ranks of a replica that hold part of a tensor, at least: 1 or more than 1.
bool is_cut(const Buffer& buffer, const layout::Bucket& bucket, const Slot& slot) {
  if (slot.numel == 0) return false;
  switch (buffer.cut) {
    case Cut::equal: {
      const std::int64_t shard = (bucket.hi - bucket.lo) / buffer.world;
      return (slot.lo - bucket.lo) / shard != (slot.hi - bucket.lo - 1) / shard;
    }
    case Cut::listed: {
      const auto above = std::ranges::upper_bound(buffer.bounds, slot.lo);
      return *above < slot.hi;
    }
    case Cut::per_parameter: return slot.numel / slot.pieces > (slot.hi - slot.lo) / slot.pieces;
    case Cut::mesh: return layout::mesh_longest(*buffer.mesh) < slot.numel;
    case Cut::replicated:
    case Cut::virtual_floor: return false;
  }
  return false;
}

std::int64_t most_held_of(const Buffer& buffer, std::int32_t bucket) {
  if (buffer.cut == Cut::virtual_floor) return buffer.size;
  if (buffer.cut != Cut::listed) return buffer.shard(Rank{0}, bucket).numel();
  std::int64_t most = 0;
  for (std::size_t r = 1; r < buffer.bounds.size(); ++r)
    most = std::max(most, buffer.bounds[r] - buffer.bounds[r - 1]);
  return most;
}

struct Line {
  std::string tensor, held, offset;
};

/// What a rank holds of a bucket, as far as it is shown.
struct Held {
  std::vector<Line> lines;
  std::int64_t more = 0;  ///< tensors that are not shown
};

/// The segments of one tensor, which a rank holds side by side.
std::string held_text(const layout::Parameter& parameter, std::span<const layout::Segment> segments) {
  const layout::Segment& first = segments.front();
  if (segments.size() == 1) return extent_text(parameter, {first.p_lo, first.p_hi});
  std::int64_t elements = 0;
  for (const layout::Segment& segment : segments) elements += segment.p_hi - segment.p_lo;
  return fmt::format("{} runs, {} elements, from element {}", segments.size(), grouped(elements),
                     grouped(first.p_lo));
}

/// What `rank` of its group holds of a bucket, at most `most` tensors of it.
Held held_by(const Answered& answered, const Kind& kind, Rank rank, std::size_t most) {
  const Place place = kind.places.front();
  const Buffer& buffer = answered.layout.buffers[place.buffer];
  const layout::RankLayout rank_layout = buffer.rank_layout(rank, place.bucket);
  const std::span<const layout::Segment> segments = rank_layout.segs;
  const auto slots = slots_of(answered.layout, place);
  Held held;
  std::size_t slot = 0;  // segments come in the order of the slots
  for (std::size_t i = 0, next = 0; i < segments.size(); i = next) {
    const ParamId param = segments[i].param;
    while (next < segments.size() && segments[next].param == param) ++next;
    while (slots[slot].param != param) ++slot;
    if (held.lines.size() == most) {
      ++held.more;
      continue;
    }
    const std::string name = name_at(answered.question, answered.layout, kind, slot).text();
    held.lines.push_back({std::string(short_name(name)),
                          held_text(answered.question.parameters[param.value], segments.subspan(i, next - i)),
                          grouped(segments[i].off)});
  }
  if (rank_layout.pad_numel > 0 && buffer.cut != Cut::replicated)
    held.lines.push_back({"padding", fmt::format("{} elements", grouped(rank_layout.pad_numel)), ""});
  if (held.lines.empty()) held.lines.push_back({"nothing", "", ""});
  return held;
}

std::string ranks_table(const Answered& answered, const Kind& kind, const Terminal& terminal) {
  constexpr std::int32_t kMostRanks = 4;
  constexpr std::size_t kMostLines = 6;
  const Buffer& buffer = answered.layout.buffers[kind.places.front().buffer];
  Table table({"", "rank", "tensor", ">at", "what it holds"});
  const std::int32_t shown = buffer.world <= kMostRanks + 1 ? buffer.world : kMostRanks;
  for (std::int32_t rank = 0; rank < shown; ++rank) {
    const Held held = held_by(answered, kind, Rank{rank}, kMostLines);
    for (std::size_t i = 0; i < held.lines.size(); ++i) {
      const Line& line = held.lines[i];
      table.row({"", i == 0 ? fmt::format("{}", rank) : "", line.tensor, line.offset, line.held});
    }
    if (held.more > 0) table.row({"", "", fmt::format("and {}", counted(held.more, "more tensor")), "", ""});
  }
  std::string text =
      "\n" + wrap(kind.label + ", rank by rank:", {.width = terminal.width}) + "\n" + table.text(terminal);
  if (shown < buffer.world)
    text += fmt::format("  and {}: --rank N, --tensor NAME or --html FILE\n",
                        counted(buffer.world - shown, "more rank"));
  return text;
}

/// Pieces of a tensor that are equally long, at the same offset, on ranks one after another.
struct Pieces {
  layout::Holding first;
  std::int64_t count = 1;
};

std::vector<Pieces> pieces_of(const layout::Ownership& ownership, ParamId id) {
  std::vector<Pieces> pieces;
  for (std::int64_t e = 0; e < ownership.numel(id);) {
    const layout::Holding held = ownership.at(id, e, 0);
    e = held.p_hi;
    if (!pieces.empty()) {
      const layout::Holding& first = pieces.back().first;
      const bool continues = held.p_hi - held.p_lo == first.p_hi - first.p_lo && held.off == first.off &&
                             held.rank.value == first.rank.value + pieces.back().count;
      pieces.back().count += continues;
      if (continues) continue;
    }
    pieces.push_back({held});
  }
  return pieces;
}

const Kind& largest(const Answered& answered) {
  return *std::ranges::max_element(answered.kinds, {},
                                   [&](const Kind& kind) { return sizes_of(answered, kind).payload; });
}

}  // namespace

Answered answered(Question question) {
  Answered result{std::move(question), {}, {}};
  result.layout = answer(result.question);
  result.kinds = kinds_of(result.question, result.layout);
  return result;
}

std::string share_text(std::int64_t part, std::int64_t whole) {
  if (part == 0 || whole == 0) return "0";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (percent < 0.005) return "< 0.01 %";
  return percent < 10    ? fmt::format("{:.2f} %", percent)
         : percent < 100 ? fmt::format("{:.1f} %", percent)
                         : fmt::format("{:.0f} %", percent);
}

std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  int unit = 0;
  for (; bytes >= 1000 && unit < 5; ++unit) bytes /= 1000;
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  return bytes < 10    ? fmt::format("{:.2f} {}", bytes, units[unit])
         : bytes < 100 ? fmt::format("{:.1f} {}", bytes, units[unit])
                       : fmt::format("{:.0f} {}", bytes, units[unit]);
}

Sizes sizes_of(const Answered& answered, const Kind& kind) {
  const Place place = kind.places.front();
  const Buffer& buffer = answered.layout.buffers[place.buffer];
  const layout::Bucket& bucket = buffer.buckets[place.bucket];
  Sizes sizes;
  for (const Slot& slot : slots_of(answered.layout, place)) {
    ++sizes.tensors;
    sizes.payload += slot.numel;
    sizes.cut += is_cut(buffer, bucket, slot);
  }
  sizes.padded = bucket.hi - bucket.lo;
  const std::int64_t copies = buffer.cut == Cut::mesh ? layout::mesh_replicas(*buffer.mesh) : 1;
  sizes.padding = sizes.padded - copies * sizes.payload;
  sizes.most_held = most_held_of(buffer, place.bucket);
  const std::int64_t count = kind.count();
  return {sizes.tensors * count,
          layout::multiply_sizes(sizes.payload, count),
          layout::multiply_sizes(sizes.padded, count),
          sizes.padding * count,
          sizes.most_held * count,
          sizes.cut * count};
}

Sizes sizes_of(const Answered& answered) {
  Sizes sum;
  for (const Kind& kind : answered.kinds) {
    const Sizes sizes = sizes_of(answered, kind);
    sum.tensors += sizes.tensors;
    sum.payload = layout::add_sizes(sum.payload, sizes.payload);
    sum.padded = layout::add_sizes(sum.padded, sizes.padded);
    sum.padding = layout::add_sizes(sum.padding, sizes.padding);
    sum.most_held = layout::add_sizes(sum.most_held, sizes.most_held);
    sum.cut += sizes.cut;
  }
  return sum;
}

std::int64_t empty_ranks(const layout::Layout& layout, Place place) {
  const Buffer& buffer = layout.buffers[place.buffer];
  const layout::Bucket& bucket = buffer.buckets[place.bucket];
  const auto slots = slots_of(layout, place);
  std::int64_t busy = 0, seen = -1;  // the last shard known to hold something
  for (const Slot& slot : slots) {
    if (slot.numel == 0) continue;
    switch (buffer.cut) {
      case Cut::equal: {
        const std::int64_t shard = (bucket.hi - bucket.lo) / buffer.world;
        const std::int64_t first = std::max(seen + 1, (slot.lo - bucket.lo) / shard);
        const std::int64_t last = (slot.hi - bucket.lo - 1) / shard;
        busy += std::max<std::int64_t>(last - first + 1, 0);
        seen = std::max(seen, last);
        break;
      }
      case Cut::per_parameter:
        busy = std::max(busy, div_ceil(slot.numel / slot.pieces, (slot.hi - slot.lo) / slot.pieces));
        break;
      default: return 0;
    }
  }
  const bool is_known = buffer.cut == Cut::equal || buffer.cut == Cut::per_parameter;
  return is_known && !slots.empty() ? buffer.world - busy : 0;
}

std::string summary_text(const Answered& answered, const Terminal& terminal) {
  constexpr std::size_t kMostKinds = 14;
  const Question& question = answered.question;
  const Sizes all = sizes_of(answered);
  std::string text = fmt::format("{}: {}, {} elements\n", paint(terminal, Tone::strong, title_of(question)),
                                 counted(all.tensors, "tensor"), grouped(all.payload));
  text += wrap(fmt::format("{} (shard-layouts {})", question.named->description, question.named->section),
               {.width = terminal.width}) +
          "\n";
  for (const std::string& note : question.notes) text += wrap(note, {.width = terminal.width}) + "\n";
  Table table(
      {"bucket", ">alike", ">ranks", ">elements each", ">a rank holds", ">padding", ">tensors cut", ">idle"});
  std::vector<const Kind*> kinds;
  for (const Kind& kind : answered.kinds) kinds.push_back(&kind);
  std::ranges::stable_sort(kinds, [&](const Kind* a, const Kind* b) {
    return kinds.size() > kMostKinds && sizes_of(answered, *a).payload > sizes_of(answered, *b).payload;
  });
  for (std::size_t i = 0; i < std::min(kinds.size(), kMostKinds); ++i) {
    const Kind& kind = *kinds[i];
    const Sizes sizes = sizes_of(answered, kind);
    const std::int64_t count = kind.count();
    std::string label = kind.label;
    constexpr std::size_t kWidest = 26;
    if (label.size() > kWidest) label = label.substr(0, kWidest - 3) + "...";
    const Buffer& buffer = answered.layout.buffers[kind.places.front().buffer];
    table.row({label, grouped(count), grouped(buffer.world), grouped(sizes.payload / count),
               grouped(sizes.most_held / count), share_text(sizes.padding, sizes.payload),
               fmt::format("{}/{}", grouped(sizes.cut / count), grouped(sizes.tensors / count)),
               grouped(empty_ranks(answered.layout, kind.places.front()))});
  }
  text += "\n" + table.text(terminal);
  if (kinds.size() > kMostKinds)
    text +=
        fmt::format("and {} smaller; --json lists them\n", counted(std::ssize(kinds) - kMostKinds, "kind"));
  std::int64_t buckets = 0;
  for (const Kind& kind : answered.kinds) buckets += kind.count();
  const std::string sentence = fmt::format(
      "in all: {} padding elements ({} of the payload) in {}; {} of {} tensors are cut; the fullest rank "
      "holds {} "
      "elements; idle ranks hold no tensor of a bucket",
      grouped(all.padding), share_text(all.padding, all.payload), counted(buckets, "bucket"),
      grouped(all.cut), grouped(all.tensors), grouped(all.most_held));
  text += "\n" + wrap(sentence, {.width = terminal.width}) + "\n";
  return text + ranks_table(answered, largest(answered), terminal);
}

std::string rank_text(const Answered& answered, Rank rank, const Terminal& terminal) {
  constexpr std::size_t kMostLines = 24, kWidest = 26;
  Table table({"", "bucket", "tensor", ">at", "what it holds"});
  for (const Kind& kind : answered.kinds) {
    const Buffer& buffer = answered.layout.buffers[kind.places.front().buffer];
    const Held held = held_by(answered, kind, rank_in(answered.question, buffer, rank), kMostLines);
    std::string label = kind.count() > 1 ? fmt::format("{} (x{})", kind.label, kind.count()) : kind.label;
    if (label.size() > kWidest) label = label.substr(0, kWidest - 3) + "...";
    for (const Line& line : held.lines) {
      table.row({"", label, line.tensor, line.offset, line.held});
      label.clear();
    }
    if (held.more > 0)
      table.row(
          {"", "", fmt::format("and {}; --json lists them", counted(held.more, "more tensor")), "", ""});
  }
  return fmt::format("\nrank {} of {}:\n{}", rank.value, to_text(answered.question.mesh),
                     table.text(terminal));
}

std::string tensor_text(const Answered& answered, const std::string& name, const Terminal& terminal) {
  const auto& parameters = answered.question.parameters;
  const auto found = std::ranges::find_if(
      parameters, [&](const layout::Parameter& p) { return p.name == name || short_name(p.name) == name; });
  if (found == parameters.end()) {
    std::vector<std::string> known;
    for (const auto& parameter : parameters) known.emplace_back(short_name(parameter.name));
    throw bad_input("--tensor", unknown_name({name, "tensor of the model", std::move(known), ""}));
  }
  const ParamId id{static_cast<std::int32_t>(found - parameters.begin())};
  const layout::Ownership ownership(answered.layout, parameters);
  std::string text = fmt::format("\n{} ({}): ", found->name, fmt::join(found->shape, " x "));
  if (!ownership.holds(id)) return text + "in no buffer of this layout\n";
  const std::int64_t numel = ownership.numel(id), replicas = ownership.replicas(id);
  text +=
      replicas > 1 ? fmt::format("{} copies; of the first\n", grouped(replicas)) : "the ranks that hold it\n";
  constexpr std::size_t kMostRows = 16;
  Table table({"", ">rank", ">at", "what it holds"});
  const std::vector<Pieces> pieces = pieces_of(ownership, id);
  for (std::size_t i = 0; i < std::min(pieces.size(), kMostRows); ++i) {
    const Pieces& each = pieces[i];
    const std::int64_t length = each.first.p_hi - each.first.p_lo;
    const std::string whole = extent_text(*found, {each.first.p_lo, each.first.p_lo + each.count * length});
    const std::int32_t rank = each.first.rank.value;
    if (each.count == 1) {
      table.row({"", grouped(rank), grouped(each.first.off), whole});
      continue;
    }
    const bool are_rows =
        found->shape.size() > 1 && length % found->row() == 0 && each.first.p_lo % found->row() == 0;
    table.row({"", fmt::format("{}-{}", grouped(rank), grouped(rank + each.count - 1)),
               grouped(each.first.off),
               fmt::format("{}, {} each", whole,
                           are_rows ? counted(length / found->row(), "row") : counted(length, "element"))});
  }
  text += table.text(terminal);
  const auto more = std::ssize(pieces) - static_cast<std::ptrdiff_t>(kMostRows);
  if (more > 0)
    text += fmt::format("  and {}; the last is on rank {}\n", counted(more, "more piece"),
                        grouped(ownership.at(id, numel - 1, 0).rank.value));
  return text;
}

}  // namespace shardcheck
