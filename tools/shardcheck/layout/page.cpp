#include "tools/shardcheck/layout/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/layout/analysis/padding.h"
#include "tools/shardcheck/html_page.h"
#include "tools/shardcheck/layout/page_template.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

using layout::Buffer;
using layout::Cut;
using nlohmann::ordered_json;

/// Segments of one rank as [tensor, p_lo, p_hi, off, length, runs, blocks cut at the end]; runs of one tensor
/// that a rank holds side by side are one.
ordered_json segments_json(const std::vector<layout::Segment>& segments, std::span<const layout::Slot> slots,
                           const std::vector<layout::Straddling>& straddling) {
  ordered_json list = ordered_json::array();
  std::size_t slot = 0;  // segments come in the order of the slots
  for (std::size_t i = 0; i < segments.size();) {
    const layout::Segment& first = segments[i];
    while (slots[slot].param != first.param) ++slot;
    std::int64_t runs = 0, length = 0, end = 0;
    for (; i < segments.size() && segments[i].param == first.param; ++i, ++runs) {
      length += segments[i].p_hi - segments[i].p_lo;
      end = segments[i].p_hi;
    }
    const bool continues = end < slots[slot].numel;
    const std::int64_t cut = continues && runs == 1 ? straddling[slot].cut_at(end) : 0;
    list.push_back({slot, first.p_lo, end, first.off, length, runs, cut});
  }
  return list;
}

ordered_json ranks_json(const Buffer& buffer, Place place, std::span<const layout::Slot> slots,
                        const std::vector<layout::Straddling>& straddling) {
  ordered_json ranks = ordered_json::array();
  const std::int32_t shown = std::min(buffer.world, kMostRanksOnPage);
  for (std::int32_t rank = 0; rank < shown; ++rank) {
    std::vector<layout::Segment> segments;
    buffer.append_segments(Rank{rank}, place.bucket, segments);
    const layout::Range shard = buffer.cut == Cut::virtual_floor ? layout::Range{0, buffer.size}
                                                                 : buffer.shard(Rank{rank}, place.bucket);
    ranks.push_back({shard.numel(), segments_json(segments, slots, straddling)});
  }
  return ranks;
}

ordered_json holes_json(const Answered& answered, Place place) {
  const Buffer& buffer = answered.layout.buffers[place.buffer];
  const Question& q = answered.question;
  const std::int64_t base = buffer.buckets[place.bucket].lo;
  ordered_json holes = ordered_json::array();
  if (buffer.cut != Cut::equal) return holes;
  for (const layout::Hole& hole :
       layout::holes_of(buffer, {q.named->name, q.parameters, q.configuration.block_rows})) {
    if (hole.bucket == place.bucket)
      holes.push_back({hole.lo - base, hole.hi - base, static_cast<int>(hole.rule)});
  }
  return holes;
}

ordered_json kind_json(const Answered& answered, const Kind& kind, const layout::Ownership& ownership,
                       layout::BlockShape shape) {
  const Place place = kind.places.front();
  const Buffer& buffer = answered.layout.buffers[place.buffer];
  const auto slots = slots_of(answered.layout, place);
  const Sizes sizes = sizes_of(answered, kind);
  ordered_json tensors = ordered_json::array();
  std::vector<layout::Straddling> straddling;
  const auto names = names_of(answered.question, answered.layout, kind);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const layout::Parameter& parameter = answered.question.parameters[slots[i].param.value];
    tensors.push_back({short_name(names[i].text()), parameter.shape});
    straddling.emplace_back(ownership, parameter, slots[i].param,
                            parameter.shape.size() > 1 ? shape : layout::BlockShape{1, 1});
  }
  const std::string_view tail = answered.question.named->name == "zero3-flat" ? "rank tail" : "row";
  return {{"label", kind.label},
          {"count", kind.count()},
          {"world", buffer.world},
          {"payload", sizes.payload / kind.count()},
          {"padding", sizes.padding / kind.count()},
          {"tail", tail},
          {"tensors", std::move(tensors)},
          {"holes", holes_json(answered, place)},
          {"ranks", ranks_json(buffer, place, slots, straddling)}};
}

}  // namespace

std::string page_data(const Answered& answered, layout::BlockShape shape) {
  const Question& question = answered.question;
  const Sizes all = sizes_of(answered);
  std::vector<const Kind*> kinds;
  for (const Kind& kind : answered.kinds) kinds.push_back(&kind);
  std::ranges::stable_sort(kinds, std::greater{},
                           [&](const Kind* kind) { return sizes_of(answered, *kind).payload; });
  ordered_json notes = question.notes;
  if (kinds.size() > kMostKindsOnPage) {
    notes.push_back(
        fmt::format("The {} largest of {} kinds of buckets are drawn.", kMostKindsOnPage, kinds.size()));
    kinds.resize(kMostKindsOnPage);
  }
  const auto wide = [&](const Kind* kind) {
    return answered.layout.buffers[kind->places.front().buffer].world > kMostRanksOnPage;
  };
  if (std::ranges::any_of(kinds, wide))
    notes.push_back(fmt::format("The first {} ranks are drawn.", grouped(kMostRanksOnPage)));
  const layout::Ownership ownership(answered.layout, question.parameters);
  ordered_json rules = ordered_json::array();
  for (int rule = 0; rule < layout::kPaddingRules; ++rule)
    rules.push_back(layout::name_of(static_cast<layout::PaddingRule>(rule)));
  ordered_json data = {{"title", title_of(question)},
                       {"what", question.named->description},
                       {"block", fmt::format("{}x{}", shape.rows, shape.columns)},
                       {"tensors", all.tensors},
                       {"payload", all.payload},
                       {"padding", all.padding},
                       {"notes", std::move(notes)},
                       {"rules", std::move(rules)},
                       {"kinds", ordered_json::array()}};
  for (const Kind* kind : kinds) data["kinds"].push_back(kind_json(answered, *kind, ownership, shape));
  return data.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string html_page(const Answered& answered, layout::BlockShape shape) {
  return filled({kPageTemplate, page_data(answered, shape)});
}

}  // namespace shardcheck
