#include "core/layout/gap_packing.h"

#include <algorithm>
#include <utility>

#include "core/layout/sizes.h"

namespace shardcheck::layout {
namespace {

/// A range that small tensors may fill.
struct Gap {
  std::int64_t lo, hi;
};

class Packer {
 public:
  Packer(std::span<const PackedTensor> tensors, std::int64_t chunk, FragmentOrder order)
      : tensors_(tensors), chunk_(chunk) {
    packing_.offsets.resize(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      (tensors[i].numel < chunk ? fragments_ : regular_).push_back(static_cast<std::int32_t>(i));
    }
    if (order == FragmentOrder::numel_descending) {
      std::ranges::stable_sort(fragments_,
                               [&](std::int32_t a, std::int32_t b) { return numel(a) > numel(b); });
    }
  }

  GapPacking run() {
    find_least_remainders();
    std::vector<bool> placed(tensors_.size());
    for (std::size_t i = 0; i < regular_.size(); ++i) {
      const std::int32_t tensor = regular_[i];
      if (placed[tensor]) continue;
      place(tensor, packing_.end);
      if (numel(tensor) % chunk_ == 0) {
        packing_.end = add_sizes(packing_.end, numel(tensor));
        continue;
      }
      Gap gap{add_sizes(packing_.end, numel(tensor)),
              round_up_size(add_sizes(packing_.end, numel(tensor)), chunk_)};
      packing_.end = gap.hi;
      if (const std::int32_t partner = conjugate(i, placed); partner >= 0) {
        gap.hi = packing_.end - numel(partner) % chunk_;
        place(partner, gap.hi);
        packing_.end = add_sizes(packing_.end, numel(partner) / chunk_ * chunk_);
        placed[partner] = true;
      }
      fill(gap);
    }
    for (const std::int32_t fragment : fragments_) {
      packing_.end = round_up_size(packing_.end, tensors_[fragment].start_unit);
      place(fragment, packing_.end);
      packing_.end = add_sizes(packing_.end, numel(fragment));
    }
    return std::move(packing_);
  }

 private:
  std::int64_t numel(std::int32_t tensor) const { return tensors_[tensor].numel; }
  void place(std::int32_t tensor, std::int64_t offset) { packing_.offsets[tensor] = offset; }

  /// What is left of each regular tensor behind its whole chunks, and the least positive one from there on.
  void find_least_remainders() {
    remainders_.resize(regular_.size());
    least_from_.assign(regular_.size() + 1, chunk_ + 1);
    for (std::size_t i = regular_.size(); i-- > 0;) {
      remainders_[i] = numel(regular_[i]) % chunk_;
      const std::int64_t candidate = remainders_[i] == 0 ? chunk_ + 1 : remainders_[i];
      least_from_[i] = std::min(least_from_[i + 1], candidate);
    }
  }

  /// The first later regular tensor whose remainder fits behind the remainder of regular_[i], or -1.
  std::int32_t conjugate(std::size_t i, const std::vector<bool>& placed) const {
    const std::int64_t room = chunk_ - remainders_[i];
    for (std::size_t j = i + 1; j < regular_.size() && least_from_[j] <= room; ++j) {
      if (!placed[regular_[j]] && remainders_[j] != 0 && remainders_[j] <= room) return regular_[j];
    }
    return -1;
  }

  void fill(Gap gap) {
    std::erase_if(fragments_, [&](std::int32_t fragment) {
      const std::int64_t start = round_up_size(gap.lo, tensors_[fragment].start_unit);
      if (add_sizes(start, numel(fragment)) > gap.hi) return false;
      place(fragment, start);
      gap.lo = start + numel(fragment);
      return true;
    });
  }

  std::span<const PackedTensor> tensors_;
  std::int64_t chunk_;
  std::vector<std::int32_t> regular_;
  std::vector<std::int64_t> remainders_;  ///< parallel to regular_
  std::vector<std::int64_t> least_from_;  ///< [i]: no later remainder is smaller
  std::vector<std::int32_t> fragments_;
  GapPacking packing_;
};

}  // namespace

GapPacking pack_into_gaps(std::span<const PackedTensor> tensors, std::int64_t chunk, FragmentOrder order) {
  return Packer(tensors, chunk, order).run();
}

}  // namespace shardcheck::layout
