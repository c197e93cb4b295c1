// --blocks: which quantisation blocks lie on several ranks, and who must agree on an amax.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/layout/models/named_models.h"
#include "tools/shardcheck/layout/sections.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

using layout::BlockShape;
using layout::Parameter;

/// MX formats have no short blocks; 128 x 128 recipes do.
void require_divisible(const Parameter& parameter, BlockShape shape) {
  const bool is_mx = shape.rows == 1 || shape.columns == 1;
  if (!is_mx) return;
  const std::int64_t rows = parameter.shape[parameter.shape.size() - 2], columns = parameter.shape.back();
  const bool divides = rows % shape.rows == 0 && columns % shape.columns == 0;
  if (divides) return;
  throw bad_input("--blocks",
                  fmt::format("{}x{} does not divide {} ({} x {}); its last blocks would be short, which "
                              "scaled formats do not have",
                              shape.rows, shape.columns, parameter.name, grouped(rows), grouped(columns)));
}

std::string ranks_text(const std::vector<Rank>& ranks) {
  std::vector<std::int32_t> numbers;
  for (const Rank rank : ranks) numbers.push_back(rank.value);
  const bool is_run = numbers.back() - numbers.front() + 1 == std::ssize(numbers);
  if (is_run && numbers.size() > 2) return fmt::format("{}-{}", numbers.front(), numbers.back());
  if (numbers.size() > 4)
    return fmt::format("{}, {}, .. {} ({})", numbers[0], numbers[1], numbers.back(), numbers.size());
  return fmt::format("{}", fmt::join(numbers, ", "));
}

}  // namespace

std::vector<StraddleRow> straddles_of(const Answered& answered, BlockShape shape) {
  constexpr std::size_t kMostGroups = 100'000;
  const auto& parameters = answered.question.parameters;
  const bool any = std::ranges::any_of(parameters, layout::is_usually_quantised);
  const layout::Ownership ownership(answered.layout, parameters);
  std::vector<StraddleRow> rows;
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, std::pair<std::size_t, FoldedName>> alike;
  for (const Kind& kind : answered.kinds) {
    const auto slots = slots_of(answered.layout, kind.places.front());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const ParamId id = slots[i].param;
      const Parameter& parameter = parameters[id.value];
      if (parameter.shape.size() < 2 || (any && !layout::is_usually_quantised(parameter))) continue;
      require_divisible(parameter, shape);
      const layout::Straddling straddling(ownership, parameter, id, shape);
      const layout::Straddle each = straddling.count();
      // Tensors of one bucket that differ in numbers only and are cut as often share a row.
      const auto [found, is_new] = alike.try_emplace(
          {pattern_of(parameter.name), each.blocks, each.straddling}, rows.size(), FoldedName{});
      auto& [index, name] = found->second;
      for (const Place& place : kind.places)
        name.add(parameters[slots_of(answered.layout, place)[i].param.value].name);
      if (is_new) {
        StraddleRow row{"", id, 0, each, {}, 0};
        if (each.straddling > 0) row.groups = straddling.shared(kMostGroups);
        for (const auto& group : row.groups)
          row.most_ranks = std::max(row.most_ranks, std::ssize(group.ranks));
        rows.push_back(std::move(row));
      }
      rows[index].tensor = name.text();
      rows[index].tensors = name.count();
    }
  }
  return rows;
}

std::string blocks_text(const std::vector<StraddleRow>& rows, BlockShape shape, const Terminal& terminal) {
  constexpr std::size_t kMostRows = 16;
  std::int64_t blocks = 0, straddling = 0;
  std::vector<const StraddleRow*> cut;
  for (const StraddleRow& row : rows) {
    blocks += row.each.blocks * row.tensors;
    straddling += row.each.straddling * row.tensors;
    if (row.each.straddling > 0) cut.push_back(&row);
  }
  std::string text = fmt::format("\n{} {} of {} {}x{} blocks lie on more than one rank ({})\n",
                                 paint(terminal, Tone::strong, "blocks:"), grouped(straddling),
                                 grouped(blocks), shape.rows, shape.columns, share_text(straddling, blocks));
  if (cut.empty()) return text + "  every block has one owner: no amax needs a reduction\n";
  std::ranges::stable_sort(cut, std::greater{},
                           [](const StraddleRow* row) { return row->each.straddling * row->tensors; });
  Table table({"", "tensor", ">alike", ">blocks each", ">straddle", ">most ranks", "first (row, column)"});
  for (std::size_t i = 0; i < std::min(cut.size(), kMostRows); ++i) {
    const StraddleRow& row = *cut[i];
    const layout::SharedBlocks& first = row.groups.front();
    const std::string columns =
        first.count == 1 ? fmt::format("{}", first.first.column)
                         : fmt::format("{}-{}", first.first.column, first.first.column + first.count - 1);
    table.row({"", short_name(row.tensor), grouped(row.tensors), grouped(row.each.blocks),
               grouped(row.each.straddling), grouped(row.most_ranks),
               fmt::format("({}, {}): ranks {}", first.first.row, columns, ranks_text(first.ranks))});
  }
  text += table.text(terminal);
  if (cut.size() > kMostRows)
    text += fmt::format("  and {}\n", counted(std::ssize(cut) - kMostRows, "more tensor"));
  return text + "  " +
         wrap("The ranks of a block agree on its amax before any of them quantises; --json lists every set.",
              {.width = terminal.width, .indent = 2}) +
         "\n";
}

}  // namespace shardcheck
