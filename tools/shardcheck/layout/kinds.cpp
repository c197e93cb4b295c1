#include "tools/shardcheck/layout/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <unordered_map>

#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

using layout::Buffer;
using layout::Layout;
using layout::Parameter;
using layout::Slot;

/// Calls word(text) and number(value) in turn along a name; a number stands behind a dot or at the start.
template <class Word, class Number>
void split(std::string_view name, Word word, Number number) {
  constexpr std::size_t kMostDigits = 9;
  std::size_t begin = 0, at = 0;
  while (at < name.size()) {
    const bool starts =
        (at == 0 || name[at - 1] == '.') && std::isdigit(static_cast<unsigned char>(name[at]));
    std::size_t end = at;
    while (starts && end < name.size() && std::isdigit(static_cast<unsigned char>(name[end]))) ++end;
    if (!starts || end - at > kMostDigits || (end < name.size() && name[end] != '.')) {
      ++at;
      continue;
    }
    word(name.substr(begin, at - begin));
    std::int64_t value = 0;
    for (std::size_t i = at; i < end; ++i) value = value * 10 + (name[i] - '0');
    number(value);
    begin = at = end;
  }
  word(name.substr(begin));
}

std::string signature_of(const Question& question, const Buffer& buffer, const layout::Bucket& bucket) {
  std::string text = fmt::format("{} {} {} {} {} {} {} {} {}|", static_cast<int>(buffer.cut), buffer.world,
                                 bucket.hi - bucket.lo, buffer.chunk, static_cast<int>(buffer.key.storage),
                                 static_cast<int>(buffer.key.gradient), buffer.key.expert,
                                 buffer.key.requires_grad, buffer.key.unit.has_value());
  for (std::int32_t i = 0; i < bucket.slot_count; ++i) {
    const Slot& slot = buffer.slots[bucket.first_slot + i];
    const Parameter& parameter = question.parameters[slot.param.value];
    fmt::format_to(std::back_inserter(text), "{} {} {} ", slot.lo - bucket.lo, slot.numel, slot.pieces);
    for (const std::int64_t extent : parameter.shape) fmt::format_to(std::back_inserter(text), "{},", extent);
    split(
        parameter.name, [&](std::string_view word) { text += word; }, [&](std::int64_t) { text += '#'; });
  }
  // Shards of unequal length are alike when their boundaries are.
  for (const std::int64_t bound : buffer.bounds)
    text.append(reinterpret_cast<const char*>(&bound), sizeof bound);
  return text;
}

std::string label_of(const Question& question, const Layout& layout, const Kind& kind) {
  const Buffer& buffer = layout.buffers[kind.places.front().buffer];
  std::string flags;
  if (!buffer.key.requires_grad) flags += ", frozen";
  const auto slots = slots_of(layout, kind.places.front());
  if (slots.empty()) return "nothing";
  std::set<std::int32_t> layers;
  bool is_whole_unit = layout.buffers.size() > 1 && slots.size() > 1, has_expert = false, has_other = false;
  for (const Place& place : kind.places) {
    for (const Slot& slot : slots_of(layout, place)) {
      const Parameter& parameter = question.parameters[slot.param.value];
      if (parameter.unit) layers.insert(*parameter.unit);
      is_whole_unit = is_whole_unit && parameter.unit && buffer.buckets.size() == 1;
      (parameter.expert ? has_expert : has_other) = true;
    }
  }
  if (has_expert && !has_other && question.mesh.expert > 1) flags = ", experts" + flags;
  if (is_whole_unit && buffer.key.unit)
    return fmt::format("layer{} {}{}", layers.size() > 1 ? "s" : "", ranges_text(layers), flags);
  const auto text_of = [&](std::size_t slot) {
    return std::string(short_name(name_at(question, layout, kind, slot).text()));
  };
  std::string text = text_of(0);
  if (slots.size() > 1) text += (slots.size() == 2 ? ", " : " .. ") + text_of(slots.size() - 1);
  return text + flags;
}

}  // namespace

std::string ranges_text(const std::set<std::int32_t>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::int32_t first = *at;
    std::int32_t last = first;
    while (at != numbers.end() && *at <= last + 1) last = *at++;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", first);
    if (last > first) text += fmt::format("-{}", last);
  }
  return text;
}

void FoldedName::add(std::string_view name) {
  std::size_t at = 0;
  const bool is_first = count_++ == 0;
  split(
      name,
      [&](std::string_view word) {
        if (is_first) words_.emplace_back(word);
      },
      [&](std::int64_t value) {
        if (is_first) numbers_.push_back({value, value});
        if (at >= numbers_.size()) return;
        numbers_[at].low = std::min(numbers_[at].low, value);
        numbers_[at].high = std::max(numbers_[at].high, value);
        ++at;
      });
}

std::string FoldedName::text() const {
  std::string text;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    text += words_[i];
    if (i >= numbers_.size()) continue;
    const auto [low, high] = numbers_[i];
    text += low == high ? fmt::format("{}", low) : fmt::format("{{{}-{}}}", low, high);
  }
  return text;
}

std::string pattern_of(std::string_view name) {
  std::string pattern;
  split(
      name, [&](std::string_view word) { pattern += word; }, [&](std::int64_t) { pattern += '#'; });
  return pattern;
}

std::string_view short_name(std::string_view name) {
  constexpr std::string_view prefix = "model.", suffix = ".weight";
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  if (name.ends_with(suffix) && name.size() > suffix.size()) name.remove_suffix(suffix.size());
  return name;
}

std::span<const Slot> slots_of(const Layout& layout, Place place) {
  const Buffer& buffer = layout.buffers[place.buffer];
  const layout::Bucket& bucket = buffer.buckets[place.bucket];
  return {buffer.slots.data() + bucket.first_slot, static_cast<std::size_t>(bucket.slot_count)};
}

std::vector<FoldedName> names_of(const Question& question, const Layout& layout, const Kind& kind) {
  std::vector<FoldedName> names(slots_of(layout, kind.places.front()).size());
  for (const Place& place : kind.places) {
    std::size_t i = 0;
    for (const Slot& slot : slots_of(layout, place))
      names[i++].add(question.parameters[slot.param.value].name);
  }
  return names;
}

FoldedName name_at(const Question& question, const Layout& layout, const Kind& kind, std::size_t slot) {
  FoldedName name;
  for (const Place& place : kind.places) {
    name.add(question.parameters[slots_of(layout, place)[slot].param.value].name);
  }
  return name;
}

std::vector<Kind> kinds_of(const Question& question, const Layout& layout) {
  std::vector<Kind> kinds;
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t b = 0; b < layout.buffers.size(); ++b) {
    const Buffer& buffer = layout.buffers[b];
    for (std::size_t k = 0; k < buffer.buckets.size(); ++k) {
      const auto [found, is_new] =
          known.try_emplace(signature_of(question, buffer, buffer.buckets[k]), kinds.size());
      if (is_new) kinds.emplace_back();
      kinds[found->second].places.push_back({static_cast<std::int32_t>(b), static_cast<std::int32_t>(k)});
    }
  }
  for (Kind& kind : kinds) kind.label = label_of(question, layout, kind);
  return kinds;
}

std::string extent_text(const Parameter& parameter, layout::Range elements) {
  if (elements.lo == 0 && elements.hi == parameter.numel()) return "all";
  const std::int64_t row = parameter.row();
  const bool are_rows = parameter.shape.size() > 1 && elements.lo % row == 0 && elements.hi % row == 0;
  if (!are_rows) return fmt::format("elements {}-{}", grouped(elements.lo), grouped(elements.hi - 1));
  const std::int64_t first = elements.lo / row, last = elements.hi / row - 1;
  return first == last ? fmt::format("row {}", grouped(first))
                       : fmt::format("rows {}-{}", grouped(first), grouped(last));
}

}  // namespace shardcheck
