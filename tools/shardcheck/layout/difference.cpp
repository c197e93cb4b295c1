// --diff: two layouts side by side and the reshard between them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/shardcheck/layout/sections.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

struct Moved {
  FoldedName name;
  layout::Traffic traffic;
};

/// Tensors whose names differ in numbers only, together, the most crossing bytes first.
std::vector<Moved> folded(const Question& question, const layout::TrafficReport& report) {
  std::map<std::string, Moved> by_pattern;
  for (std::size_t i = 0; i < report.parameters.size(); ++i) {
    const layout::Traffic& traffic = report.parameters[i];
    Moved& moved = by_pattern[pattern_of(question.parameters[i].name)];
    moved.name.add(question.parameters[i].name);
    moved.traffic.copies += traffic.copies;
    moved.traffic.staying += traffic.staying;
    moved.traffic.crossing += traffic.crossing;
  }
  std::vector<Moved> list;
  for (auto& [pattern, moved] : by_pattern) list.push_back(std::move(moved));
  std::ranges::stable_sort(list, std::greater{}, [](const Moved& moved) { return moved.traffic.crossing; });
  return list;
}

void side(Table& table, const Answered& answered) {
  const Sizes sizes = sizes_of(answered);
  std::int64_t buckets = 0;
  for (const Kind& kind : answered.kinds) buckets += kind.count();
  table.row({"", answered.question.named->name, to_text(answered.question.mesh), grouped(buckets),
             grouped(sizes.padding), share_text(sizes.padding, sizes.payload), grouped(sizes.most_held),
             grouped(sizes.cut)});
}

}  // namespace

std::string difference_text(const Answered& from, const Answered& to, const layout::TrafficReport& traffic,
                            const Terminal& terminal) {
  Table sides({"", "layout", "mesh", ">buckets", ">padding", ">of payload", ">a rank holds", ">cut tensors"});
  side(sides, from);
  side(sides, to);
  const std::int64_t moved = traffic.total.crossing + traffic.total.staying;
  std::int64_t most_sent = 0, most_received = 0;
  for (const layout::RankTraffic& rank : traffic.ranks) {
    most_sent = std::max(most_sent, rank.sent);
    most_received = std::max(most_received, rank.received);
  }
  std::string text =
      fmt::format("\n{}\n{}", paint(terminal, Tone::strong, "side by side:"), sides.text(terminal));
  text += fmt::format(
      "\n  a reshard moves {} in {} copies: {} stay on their rank, {} cross to another ({})\n",
      bytes_text(static_cast<double>(moved)), grouped(traffic.total.copies),
      bytes_text(static_cast<double>(traffic.total.staying)),
      bytes_text(static_cast<double>(traffic.total.crossing)), share_text(traffic.total.crossing, moved));
  text +=
      fmt::format("  the busiest rank sends {} and the busiest receives {}\n",
                  bytes_text(static_cast<double>(most_sent)), bytes_text(static_cast<double>(most_received)));
  if (traffic.left_out > 0)
    text +=
        fmt::format("  {} in no buffer of one side and not counted\n", counted(traffic.left_out, "tensor"));
  constexpr std::size_t kMostRows = 10;
  Table table({"", "tensor", ">alike", ">copies each", ">crosses", ">of it"});
  const auto list = folded(from.question, traffic);
  for (std::size_t i = 0; i < std::min(list.size(), kMostRows); ++i) {
    const Moved& each = list[i];
    table.row({"", short_name(each.name.text()), grouped(each.name.count()),
               fmt::format("{:.1f}",
                           static_cast<double>(each.traffic.copies) / static_cast<double>(each.name.count())),
               bytes_text(static_cast<double>(each.traffic.crossing)),
               share_text(each.traffic.crossing, each.traffic.crossing + each.traffic.staying)});
  }
  text += "\n" + table.text(terminal);
  if (list.size() > kMostRows)
    text += fmt::format("  and {}\n", counted(std::ssize(list) - kMostRows, "more name"));
  return text;
}

}  // namespace shardcheck
