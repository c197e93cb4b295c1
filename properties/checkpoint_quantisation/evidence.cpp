#include "properties/checkpoint_quantisation/evidence.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "core/recipe/fast_quantize.h"

namespace shardcheck::verify {
namespace {

using namespace recipe;

constexpr std::int64_t kMostWhole = std::int64_t{1} << 28;    ///< elements; codes and right ones take 0.5 GB
constexpr std::int64_t kMostOfBlock = std::int64_t{1} << 16;  ///< elements of a specimen

layout::Range cut(std::int64_t begin, std::int64_t length, std::int64_t end) {
  return {begin, std::min(begin + length, end)};
}

/// Rows of a block from the first wrong one on, not more than a specimen holds.
void place(const Blocks& blocks, Specimen& specimen) {
  const std::int64_t block = specimen.block();
  specimen.rows = cut(block / blocks.grid.columns * blocks.height, blocks.height, blocks.extent.rows);
  specimen.columns = cut(block % blocks.grid.columns * blocks.width, blocks.width, blocks.extent.columns);
  const std::int64_t most = std::max<std::int64_t>(kMostOfBlock / specimen.columns.numel(), 1);
  if (specimen.rows.numel() <= most) return;
  if (specimen.broken.element >= 0) specimen.rows.lo = specimen.broken.element / blocks.extent.columns;
  specimen.rows = cut(specimen.rows.lo, most, specimen.rows.hi);
}

template <class Number>
std::vector<Number> columns_of(const Specimen& specimen, std::int64_t columns,
                               const std::vector<Number>& rows) {
  std::vector<Number> part;
  for (std::int64_t r = 0; r < specimen.rows.numel(); ++r) {
    const auto from = rows.begin() + r * columns + specimen.columns.lo;
    part.insert(part.end(), from, from + specimen.columns.numel());
  }
  return part;
}

void fill(const Evidence& evidence, Specimen& specimen) {
  const Subject& subject = evidence.subject;
  const Blocks& blocks = subject.blocks();
  const std::int64_t columns = blocks.extent.columns;
  specimen.codes = columns_of(specimen, columns, subject.codes(specimen.rows));
  if (!evidence.has_source()) return;
  std::vector<float> values(static_cast<std::size_t>(specimen.rows.numel() * columns));
  subject.source()->read(specimen.rows, values);
  specimen.values = columns_of(specimen, columns, values);
  const auto block = static_cast<std::size_t>(specimen.block());
  specimen.amax = evidence.amaxes[block];
  specimen.scale = evidence.scales[block];
  specimen.right.resize(specimen.codes.size());
  const Extent extent{specimen.rows.numel(), specimen.columns.numel()};
  FastQuantizer(evidence.recipe(), subject.pair().elements)
      .cast({extent, extent.rows, extent.columns, {1, 1}}, std::span(&specimen.scale, 1), specimen.values,
            specimen.right);
}

/// Amaxes, scales and codes of the source once more, this time kept.
void quantize_again(Evidence& evidence, const SweepOptions& options) {
  const Subject& subject = evidence.subject;
  const Blocks& blocks = subject.blocks();
  evidence.amaxes.resize(static_cast<std::size_t>(blocks.count()));
  evidence.scales.resize(evidence.amaxes.size());
  const FastQuantizer quantizer(evidence.recipe(), subject.pair().elements);
  std::mutex mutex;
  const auto take = [&](const QuantizedStrip& strip) {
    std::vector<float> amaxes(strip.scales.size());
    quantizer.take_amaxes(blocks_of_rows(blocks, strip.rows), strip.values, amaxes);
    const std::lock_guard lock(mutex);
    for (std::size_t b = 0; b < amaxes.size(); ++b) {
      const std::size_t block = static_cast<std::size_t>(strip.blocks.lo) + b;
      evidence.amaxes[block] = larger(evidence.recipe().amax_nan, evidence.amaxes[block], amaxes[b]);
      evidence.scales[block] = strip.scales[b];
    }
    if (!evidence.right.empty())
      std::ranges::copy(strip.codes, evidence.right.begin() + strip.rows.lo * blocks.extent.columns);
  };
  evidence.tensor = quantize_in_strips(evidence.recipe(),
                                       {.direction = subject.candidate().view.direction,
                                        .elements = subject.pair().elements,
                                        .threads = options.threads,
                                        .stop = options.stop},
                                       subject.source()->source(), take);
  evidence.tensor_amax = tensor_amax_of(evidence.recipe(), evidence.amaxes);
}

constexpr double kNearlyAll = 0.9;

/// A chance fit of a few blocks is no explanation of a tensor: nearly all of its scales must come of it, as
/// far as a spread of them shows.
bool gives_nearly_all(const Recipe& recipe, FormatId elements, const Evidence& evidence) {
  constexpr std::size_t kMostSampled = std::size_t{1} << 16;
  const std::vector<std::uint32_t>& stored = evidence.subject.scales();
  const TensorScale tensor = tensor_scale_of(recipe, elements, evidence.tensor_amax);
  const std::size_t count = std::min(stored.size(), kMostSampled);
  std::int64_t fits = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t b = i * stored.size() / count;
    fits += block_scale(recipe, elements, {tensor, evidence.amaxes[b]}).stored == stored[b] ? 1 : 0;
  }
  return static_cast<double>(fits) >= kNearlyAll * static_cast<double>(count);
}

void find_likely_formulas(Evidence& evidence) {
  const Pair& pair = evidence.subject.pair();
  for (const Candidate& candidate : candidates_of(pair)) {
    if (candidate.recipe != &evidence.recipe() &&
        gives_nearly_all(*candidate.recipe, pair.elements, evidence))
      evidence.likely_recipes.push_back(candidate.recipe);
  }
  if (pair.elements == FormatId::e2m1) return;
  for (const FormatId format : {FormatId::e4m3, FormatId::e4m3fnuz, FormatId::e5m2}) {
    if (format != pair.elements && gives_nearly_all(evidence.recipe(), format, evidence))
      evidence.likely_formats.push_back(format);
  }
}

/// The same for scales in wrong places: nearly all wrong ones, of which there are some, and nearly all
/// others.
std::vector<Displacement> likely_displacements(const Evidence& evidence, const Sweep& sweep) {
  constexpr std::size_t kFewest = 2, kMostSampled = 4096;
  const std::vector<std::uint32_t>& stored = evidence.subject.scales();
  const Extent grid = evidence.subject.blocks().grid;
  std::vector<std::int64_t> wrong, sampled;
  for (const BrokenBlock& broken : sweep.broken) {
    if (broken.scale != broken.right_scale) wrong.push_back(broken.block);
  }
  if (wrong.size() < kFewest) return {};
  const std::size_t count = std::min(stored.size(), kMostSampled);
  for (std::size_t i = 0; i < count; ++i)
    sampled.push_back(static_cast<std::int64_t>(i * stored.size() / count));
  const auto nearly_all_of = [&](const std::vector<std::int64_t>& blocks, const Displacement& displacement) {
    std::size_t fits = 0;
    for (const std::int64_t block : blocks) {
      const auto from = displacement.from(block, grid);
      fits += !from || evidence.scales[static_cast<std::size_t>(*from)].stored ==
                           stored[static_cast<std::size_t>(block)];
    }
    return static_cast<double>(fits) >= kNearlyAll * static_cast<double>(blocks.size());
  };
  std::vector<Displacement> likely;
  for (const Displacement& each : displacements()) {
    if (each.kind == Displacement::Kind::shifted && std::abs(each.by) * 2 > grid.numel()) continue;
    if (nearly_all_of(wrong, each) && nearly_all_of(sampled, each)) likely.push_back(each);
  }
  return likely;
}

}  // namespace

std::int64_t Specimen::wrong_codes() const {
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < right.size(); ++i) wrong += codes[i] != right[i] ? 1 : 0;
  return wrong;
}

Evidence gather(const Subject& subject, const Sweep& sweep, const SweepOptions& options) {
  Evidence evidence{.subject = subject};
  const Extent extent = subject.blocks().extent;
  const bool fits = extent.numel() <= kMostWhole;
  if (fits) evidence.codes = subject.codes({0, extent.rows});
  if (evidence.has_source()) {
    if (fits) evidence.right.resize(evidence.codes.size());
    quantize_again(evidence, options);
    find_likely_formulas(evidence);
    evidence.likely_displacements = likely_displacements(evidence, sweep);
  }
  const std::size_t count = std::min(sweep.broken.size(), kMostSpecimens);
  for (std::size_t i = 0; i < count; ++i) {
    Specimen& specimen = evidence.specimens.emplace_back();
    specimen.broken = sweep.broken[i * sweep.broken.size() / count];
    place(subject.blocks(), specimen);
    fill(evidence, specimen);
  }
  return evidence;
}

}  // namespace shardcheck::verify
