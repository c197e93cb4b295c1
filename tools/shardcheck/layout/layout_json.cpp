#include "tools/shardcheck/layout/layout_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/layout/analysis/padding.h"

namespace shardcheck {
namespace {

using nlohmann::ordered_json;

ordered_json head_json(const Answered& answered) {
  const Sizes all = sizes_of(answered);
  return {{"layout", answered.question.named->name},
          {"mesh", to_text(answered.question.mesh)},
          {"ranks", answered.question.ranks()},
          {"tensors", all.tensors},
          {"elements", all.payload},
          {"padded", all.padded},
          {"padding", all.padding},
          {"fullest_rank", all.most_held},
          {"cut_tensors", all.cut}};
}

ordered_json kinds_json(const Answered& answered) {
  ordered_json list = ordered_json::array();
  for (const Kind& kind : answered.kinds) {
    const Place place = kind.places.front();
    const auto& buffer = answered.layout.buffers[place.buffer];
    const std::int64_t base = buffer.buckets[place.bucket].lo;
    const Sizes sizes = sizes_of(answered, kind);
    ordered_json tensors = ordered_json::array();
    const auto names = names_of(answered.question, answered.layout, kind);
    std::size_t i = 0;
    for (const layout::Slot& slot : slots_of(answered.layout, place)) {
      tensors.push_back({{"name", names[i++].text()},
                         {"shape", answered.question.parameters[slot.param.value].shape},
                         {"lo", slot.lo - base},
                         {"hi", slot.hi - base}});
    }
    list.push_back({{"label", kind.label},
                    {"alike", kind.count()},
                    {"ranks", buffer.world},
                    {"size", sizes.padded / kind.count()},
                    {"elements", sizes.payload / kind.count()},
                    {"padding", sizes.padding / kind.count()},
                    {"chunk", buffer.chunk},
                    {"empty_ranks", empty_ranks(answered.layout, place)},
                    {"tensors", std::move(tensors)}});
  }
  return list;
}

ordered_json rank_json(const Answered& answered, Rank rank) {
  ordered_json segments = ordered_json::array();
  const auto& buffers = answered.layout.buffers;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    for (std::size_t k = 0; k < buffers[b].buckets.size(); ++k) {
      const Rank own = rank_in(answered.question, buffers[b], rank);
      const auto held = buffers[b].rank_layout(own, static_cast<std::int32_t>(k));
      for (const layout::Segment& segment : held.segs) {
        segments.push_back({{"buffer", b},
                            {"bucket", k},
                            {"tensor", answered.question.parameters[segment.param.value].name},
                            {"lo", segment.p_lo},
                            {"hi", segment.p_hi},
                            {"off", segment.off}});
      }
    }
  }
  return {{"rank", rank.value}, {"segments", std::move(segments)}};
}

ordered_json why_json(const Answered& answered) {
  const Question& q = answered.question;
  layout::PaddingSums sums;
  for (const layout::Buffer& buffer : answered.layout.buffers) {
    const auto each = layout::padding_of(buffer, {q.named->name, q.parameters, q.configuration.block_rows});
    for (int rule = 0; rule < layout::kPaddingRules; ++rule) sums.elements[rule] += each.elements[rule];
  }
  ordered_json rules = ordered_json::object(), relaxations = ordered_json::array();
  for (int rule = 0; rule < layout::kPaddingRules; ++rule)
    rules[std::string(layout::name_of(static_cast<layout::PaddingRule>(rule)))] = sums.elements[rule];
  const auto made_layout = made(q, answered.layout);
  for (const layout::Relaxation& each : layout::relaxations_of(made_layout))
    relaxations.push_back({{"rule", each.rule}, {"instead", each.asks}, {"padding", each.padding}});
  return {{"rules", std::move(rules)},
          {"least", layout::least_padding(made_layout)},
          {"relaxations", std::move(relaxations)}};
}

ordered_json blocks_json(const Answered& answered, const LayoutResult& result) {
  ordered_json rows = ordered_json::array();
  for (const StraddleRow& row : result.straddles) {
    ordered_json groups = ordered_json::array();
    for (const layout::SharedBlocks& group : row.groups) {
      std::vector<std::int32_t> ranks;
      for (const Rank rank : group.ranks) ranks.push_back(rank.value);
      groups.push_back({{"matrix", group.first.matrix},
                        {"row", group.first.row},
                        {"column", group.first.column},
                        {"count", group.count},
                        {"ranks", std::move(ranks)}});
    }
    rows.push_back({{"tensor", row.tensor},
                    {"example", answered.question.parameters[row.example.value].name},
                    {"alike", row.tensors},
                    {"blocks", row.each.blocks},
                    {"straddling", row.each.straddling},
                    {"most_ranks", row.most_ranks},
                    {"shared", std::move(groups)}});
  }
  return {{"shape", fmt::format("{}x{}", result.blocks->rows, result.blocks->columns)},
          {"tensors", std::move(rows)}};
}

ordered_json difference_json(const LayoutResult& result) {
  return {{"to", head_json(*result.other)},
          {"copies", result.traffic->total.copies},
          {"bytes_staying", result.traffic->total.staying},
          {"bytes_crossing", result.traffic->total.crossing},
          {"tensors_left_out", result.traffic->left_out}};
}

}  // namespace

std::string layout_json(const Answered& answered, const LayoutResult& result) {
  ordered_json json = {{"command", "layout"}, {"model", answered.question.model}};
  json.update(head_json(answered));
  json["notes"] = answered.question.notes;
  json["buckets"] = kinds_json(answered);
  if (result.rank) json["rank"] = rank_json(answered, *result.rank);
  if (result.wants_why) json["why"] = why_json(answered);
  if (result.blocks) json["blocks"] = blocks_json(answered, result);
  if (result.other) json["difference"] = difference_json(result);
  for (const Price& price : result.prices)
    json["cost"].push_back({{"strategy", price.strategy},
                            {"weights", price.storage},
                            {"bytes_kept", price.kept},
                            {"bytes_sent", price.sent},
                            {"seconds", price.seconds}});
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace shardcheck
