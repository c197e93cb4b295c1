// --why: padding by rule, the least possible, and what every rule costs.
#include <fmt/format.h>

#include "core/layout/analysis/padding.h"
#include "tools/shardcheck/layout/sections.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

using layout::PaddingRule;

/// Padding by rule, and the kind with the most of each.
struct Attributed {
  layout::PaddingSums sums;
  std::array<const Kind*, layout::kPaddingRules> where{};
};

/// A buffer with one bucket is attributed once for all that are alike.
Attributed attribute(const Answered& answered) {
  const Question& question = answered.question;
  Attributed result;
  std::array<std::int64_t, layout::kPaddingRules> most{};
  const layout::Attributed of{question.named->name, question.parameters, question.configuration.block_rows};
  std::vector<const Kind*> kind_of;  // by buffer and bucket
  for (const Kind& kind : answered.kinds) {
    const Place place = kind.places.front();
    const layout::Buffer& buffer = answered.layout.buffers[place.buffer];
    layout::PaddingSums sums;
    if (buffer.buckets.size() == 1) {
      sums = layout::padding_of(buffer, of);
    } else {
      for (const layout::Hole& hole : layout::holes_of(buffer, of)) {
        if (hole.bucket == place.bucket) sums[hole.rule] += hole.hi - hole.lo;
      }
    }
    for (int rule = 0; rule < layout::kPaddingRules; ++rule) {
      const std::int64_t elements = sums.elements[rule] * kind.count();
      result.sums.elements[rule] += elements;
      if (elements <= most[rule]) continue;
      most[rule] = elements;
      result.where[rule] = &kind;
    }
  }
  return result;
}

}  // namespace

std::string why_text(const Answered& answered, const Terminal& terminal) {
  const Sizes all = sizes_of(answered);
  const Attributed padding = attribute(answered);
  std::string text = fmt::format("\n{} {} of {} elements ({} of the payload)\n",
                                 paint(terminal, Tone::strong, "why padding:"), grouped(all.padding),
                                 grouped(all.padded), share_text(all.padding, all.payload));
  Table rules({"", "rule", ">elements", ">of payload", "most in", "what it asks for"});
  for (int rule = 0; rule < layout::kPaddingRules; ++rule) {
    if (padding.sums.elements[rule] == 0) continue;
    const auto each = static_cast<PaddingRule>(rule);
    std::string where = padding.where[rule]->label;
    if (where.size() > 24) where = where.substr(0, 21) + "...";
    rules.row({"", layout::name_of(each), grouped(padding.sums.elements[rule]),
               share_text(padding.sums.elements[rule], all.payload), where, layout::sentence_of(each)});
  }
  if (all.padding > 0) text += rules.text(terminal);
  const layout::MadeLayout made_layout = made(answered.question, answered.layout);
  const std::int64_t least = layout::least_padding(made_layout);
  text += fmt::format("  least under the same rules, in any order of the tensors: {} ({})\n", grouped(least),
                      share_text(least, all.payload));
  const auto relaxations = layout::relaxations_of(made_layout);
  if (all.padding == 0 || relaxations.empty()) return text;
  Table table({"", "one rule dropped", ">padding left", ">of payload", "what it takes instead"});
  for (const layout::Relaxation& each : relaxations)
    table.row({"", each.rule, grouped(each.padding), share_text(each.padding, all.payload), each.asks});
  text += "\n" + table.text(terminal);
  const layout::Relaxation& best = relaxations.front();
  if (best.padding < all.padding) {
    text += "  " +
            wrap(fmt::format(
                     "cheapest single relaxation: without \"{}\" {} elements fewer are stored and sent; it "
                     "takes {}.",
                     best.rule, grouped(all.padding - best.padding), best.asks),
                 {.width = terminal.width, .indent = 2}) +
            "\n";
  }
  return text;
}

}  // namespace shardcheck
