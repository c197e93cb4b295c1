// Kinds: buckets that lie alike, told once. A model of 80 equal layers has one kind of layer, so a table has
// one row for it ("layers 0-79") and every figure is computed once and multiplied. Next: sections.h.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/layout/layout.h"
#include "core/layout/parameter.h"
#include "tools/shardcheck/layout/question.h"

namespace shardcheck {

/// Names that differ in numbers only, folded: "layers.{0-79}.mlp.up_proj".
class FoldedName {
 public:
  void add(std::string_view name);
  std::string text() const;
  std::int64_t count() const { return count_; }

 private:
  struct Numbers {
    std::int64_t low = 0, high = 0;
  };
  std::vector<std::string> words_;  ///< between the numbers
  std::vector<Numbers> numbers_;
  std::int64_t count_ = 0;
};

/// A name with every number behind a dot as '#'.
std::string pattern_of(std::string_view name);

/// The name as tables show it: without "model." before and ".weight" behind.
std::string_view short_name(std::string_view name);

/// One bucket of one buffer.
struct Place {
  std::int32_t buffer = 0, bucket = 0;
};

struct Kind {
  std::vector<Place> places;  ///< at least one
  std::string label;          ///< "layers 0-79"
  std::int64_t count() const { return std::ssize(places); }
};

/// The kinds of a layout in order of first appearance. Cost: linear in the slots.
std::vector<Kind> kinds_of(const Question& question, const layout::Layout& layout);

/// The tensors of a kind, each folded over its places, in the order of the buffer.
std::vector<FoldedName> names_of(const Question& question, const layout::Layout& layout, const Kind& kind);

/// One of them: that of slot number `slot` of the bucket.
FoldedName name_at(const Question& question, const layout::Layout& layout, const Kind& kind,
                   std::size_t slot);

/// The slots of a bucket.
std::span<const layout::Slot> slots_of(const layout::Layout& layout, Place place);

/// "3-60", or "3, 5, 7-9".
std::string ranges_text(const std::set<std::int32_t>& numbers);

/// How a rank's part of a tensor reads: "rows 0-1,023", "all", "elements 5-9".
std::string extent_text(const layout::Parameter& parameter, layout::Range elements);

}  // namespace shardcheck
