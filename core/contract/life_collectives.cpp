// The third part of LifeRules: the maximum of amaxes over ranks and the gather of codes (fp8 4.2 steps 4 and
// 8, 4.6, 4.9 E6 and E7).
#include <fmt/format.h>

#include <algorithm>

#include "core/contract/life_rules.h"

namespace shardcheck {
namespace {

/// A tensor of a parameter as one number.
std::int64_t key_of(const Stamp& stamp) {
  return std::int64_t{stamp.parameter} << 32 | stamp.tensor;
}

}  // namespace

/// Every rank of a group passes the same count (F45); where one does not, nothing is moved.
bool LifeRules::has_equal_counts(const Op& op, std::int32_t first, std::int32_t group) {
  for (std::int32_t i = first + 1; i < first + group; ++i) {
    const std::int64_t expected = view(op, 0, first).numel, count = view(op, 0, i).numel;
    if (count == expected) continue;
    breach("F45", {op, i, 0},
           fmt::format("rank {} passes {} elements to a collective to which rank {} passes {}",
                       rank(op, i).value, count, rank(op, first).value, expected));
    return false;
  }
  return true;
}

/// A tensor's collective is among the ranks that hold it, all of them and no others (F45, F48).
bool LifeRules::judge_group(const Op& op, std::int32_t first, std::int32_t group,
                            const std::set<std::int64_t>& tensors) {
  std::set<std::int32_t> members;
  for (std::int32_t i = first; i < first + group; ++i) members.insert(rank(op, i).value);
  for (const std::int64_t key : tensors) {
    const auto parameter = static_cast<std::int32_t>(key >> 32);
    const auto tensor = static_cast<std::int32_t>(key & 0xFFFFFFFF);
    std::vector<Rank> missing;
    std::size_t held = 0;
    for (const Rank r : ranks_of(parameter, tensor)) {
      if (members.contains(r.value)) {
        ++held;
      } else {
        missing.push_back(r);
      }
    }
    const bool has_strangers = held < members.size();
    if (missing.empty() && !has_strangers) continue;
    const bool is_split = std::ranges::any_of(missing, [&](Rank r) {
      const auto all = plan_.ranks_of(op);
      return std::ranges::find(all, r) != all.end();
    });
    const std::string name = name_of_parameter(parameter);
    const auto among =
        plan_.ranks_of(op).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(group));
    if (has_strangers || is_split) {
      breach("F48", {op, first, 0},
             fmt::format("{} is held by {}, but the collective is among {}", name,
                         describe(ranks_of(parameter, tensor)), describe(among)));
    } else {
      breach(
          "F45", {op, first, 0},
          fmt::format("{} of the ranks that hold {} skips this collective: the others wait for it, or meet "
                      "its next one",
                      describe(missing), name));
    }
    return false;
  }
  return true;
}

/// The maximum of what two ranks hold.
Stamp LifeRules::joined(const Op& op, std::int32_t i, const Stamp& a, ByteRange& b) {
  Stamp all = a;
  all.is_tainted |= b.stamp.is_tainted;
  if (b.stamp.held == Held::nothing && !b.stamp.is_tainted) {
    breach("F43", {op, i, 0}, b,
           "a rank without a piece brings an amax that nobody set to zero into the maximum");
    all.is_tainted = true;
  }
  if (b.stamp.held != Held::amax) return all;
  if (a.held == Held::amax && a.version != b.stamp.version && a.parameter == b.stamp.parameter &&
      a.tensor == b.stamp.tensor && !all.is_tainted) {
    breach("F50", {op, i, 0}, b,
           fmt::format("the maximum is of amaxes of {} and of {}", version_text(a.version),
                       version_text(b.stamp.version)));
    all.is_tainted = true;
  }
  if (a.held != Held::amax) {
    const bool is_tainted = all.is_tainted;
    all = b.stamp;
    all.is_tainted = is_tainted;
  }
  all.measured = sets_.joined(a.measured, b.stamp.measured);
  return all;
}

void LifeRules::maximum(const Op& op, const Communicate& communicate) {
  const std::int32_t group = communicate.group;
  for (std::int32_t first = 0; first + group <= op.ranks; first += group) {
    if (!has_equal_counts(op, first, group)) continue;
    std::vector<Ranges> inputs;
    std::set<std::int64_t> borders, tensors;
    for (std::int32_t i = first; i < first + group; ++i) {
      inputs.push_back(moved(read(op, 0, i), view(op, 0, i), View{{}, 0, 0}));
      for (const ByteRange& range : inputs.back()) {
        borders.insert({range.begin, range.end});
        const bool is_weight = range.stamp.held == Held::amax && range.stamp.version >= 0;
        if (is_weight) tensors.insert(key_of(range.stamp));
      }
    }
    const bool is_right = judge_group(op, first, group, tensors);
    Ranges result;
    std::vector<std::size_t> at(inputs.size(), 0);
    for (auto border = borders.begin(); border != borders.end() && std::next(border) != borders.end();
         ++border) {
      const std::int64_t begin = *border, end = *std::next(border);
      Stamp sum{.held = Held::number, .is_tainted = !is_right};
      for (std::size_t r = 0; r < inputs.size(); ++r) {
        while (at[r] < inputs[r].size() && inputs[r][at[r]].end <= begin) ++at[r];
        if (at[r] == inputs[r].size()) continue;
        ByteRange part = inputs[r][at[r]];
        const std::int32_t i = first + static_cast<std::int32_t>(r);
        part.begin = view(op, 0, i).offset + begin;
        part.end = view(op, 0, i).offset + end;
        sum = joined(op, i, sum, part);
      }
      if (sum.held == Held::amax) {
        reduced_.insert(sum.measured);
        note(sum.parameter, "amaxes of " + version_text(sum.version) + ", the largest of all ranks");
      }
      result.push_back({.begin = begin, .end = end, .stamp = sum});
    }
    for (std::int32_t i = first; i < first + group; ++i) {
      Ranges fresh = result;
      for (ByteRange& range : fresh) {
        range.begin += view(op, 1, i).offset;
        range.end += view(op, 1, i).offset;
      }
      write(op, 1, i, std::move(fresh));
    }
  }
}

void LifeRules::gather(const Op& op, const Communicate& communicate) {
  const std::int32_t group = communicate.group;
  for (std::int32_t first = 0; first + group <= op.ranks; first += group) {
    if (!has_equal_counts(op, first, group)) continue;
    Ranges result;
    std::set<std::int64_t> tensors;
    std::set<std::int32_t> noted;
    const std::int64_t part = view(op, 0, first).numel;
    std::vector<Ranges> own;
    for (std::int32_t i = first; i < first + group; ++i) {
      Ranges inputs = read(op, 0, i);
      for (ByteRange& range : inputs) {
        const Stamp& stamp = range.stamp;
        if (stamp.held == Held::nothing) {
          breach(clause_of_loss({op, i, 0}, range, "F42"), {op, i, 0}, range,
                 "sends bytes that it does not hold");
        } else if (stamp.held == Held::codes) {
          tensors.insert(key_of(stamp));
          const std::int32_t now = current(stamp.parameter, stamp.tensor);
          if (stamp.owner != rank(op, i).value) {
            breach("F42", {op, i, 0}, range,
                   fmt::format("sends element {} of {}, which is no part of its own piece", range.element,
                               name_of_parameter(stamp.parameter)));
          } else if (stamp.version != now) {
            breach("F50", {op, i, 0}, range,
                   fmt::format("gathers codes of {} of {} from rank {}, before they were made of {}",
                               version_text(stamp.version), name_of_parameter(stamp.parameter),
                               rank(op, i).value, version_text(now)));
          }
          noted.insert(stamp.parameter);
        }
      }
      own.push_back(moved(inputs, view(op, 0, i), {{}, (i - first) * part, part}));
      for (ByteRange range : own.back()) {
        range.stamp.owner = -1;
        result.push_back(range);
      }
    }
    const bool is_right = judge_group(op, first, group, tensors);
    for (ByteRange& range : result) range.stamp.is_tainted |= !is_right;
    for (const std::int32_t parameter : noted)
      note(parameter,
           "codes of " + version_text(current(parameter, tensor_of(parameter, rank(op, first)))) + ", whole");
    for (std::int32_t i = first; i < first + group; ++i) {
      Ranges fresh = result;
      // What is the rank's own stays its own.
      for (ByteRange& range : fresh) {
        const std::int64_t lo = (i - first) * part;
        if (range.begin < lo || range.end > lo + part) continue;
        for (const ByteRange& mine : own[static_cast<std::size_t>(i - first)])
          if (mine.begin == range.begin) range.stamp.owner = mine.stamp.owner;
      }
      for (ByteRange& range : fresh) {
        range.begin += view(op, 1, i).offset;
        range.end += view(op, 1, i).offset;
      }
      write(op, 1, i, std::move(fresh));
    }
  }
}

}  // namespace shardcheck
