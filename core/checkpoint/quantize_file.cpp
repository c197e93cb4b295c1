#include "core/checkpoint/quantize_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>

#include "core/checkpoint/json_guard.h"
#include "core/checkpoint/new_file.h"
#include "core/each_on_threads.h"
#include "core/error.h"
#include "core/integers.h"
#include "core/recipe/fast_quantize.h"

namespace shardcheck::checkpoint {
namespace {

using namespace recipe;

constexpr std::int64_t kChunkBytes = std::int64_t{4} << 20;

Extent extent_of(const TensorEntry& entry) {
  return {entry.shape[0], entry.shape[1]};
}

/// Bytes that are done, told one at a time.
class Done {
 public:
  explicit Done(const WriteOptions& options) : options_(options) {}
  void add(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ += bytes;
    if (options_.progress) options_.progress(bytes_);
  }

 private:
  const WriteOptions& options_;
  std::mutex mutex_;
  std::int64_t bytes_ = 0;
};

bool is_stopped(const WriteOptions& options) {
  return options.stop != nullptr && *options.stop;
}

void refuse_nonfinite(const StoredTensor& tensor, const CopyView& view, const QuantizedStrip& strip,
                      std::int64_t columns) {
  const auto found = std::ranges::find_if(strip.values, [](float value) { return !std::isfinite(value); });
  const std::int64_t at = strip.rows.lo * columns + (found - strip.values.begin());
  Extent place{at / columns, at % columns};
  if (view.turned == Turned::yes) place = place.transposed();
  throw bad_input(tensor.where(),
                  fmt::format("element ({}, {}) is {}; weights that are quantised are finite numbers "
                              "(--nonfinite recipe does with it what the recipe says)",
                              place.rows, place.columns, *found));
}

struct Writing {
  const QuantizePlan& plan;
  const WriteOptions& options;
  SafetensorsWriter& writer;
  Done& done;
};

/// Tensors [first, ...) of the writer are those of tensors_of().
void write_copy(const Writing& to, const StoredTensor& tensor, Direction copy, std::size_t first) {
  const Recipe& recipe = *to.plan.recipe;
  const CopyView view = view_of(recipe, copy);
  const MatrixRows rows(tensor, view.turned);
  const std::int64_t columns = rows.extent().columns;
  const Blocks blocks = blocks_of(recipe, view, rows.extent());
  std::vector<std::uint32_t> grid(static_cast<std::size_t>(blocks.count()));
  const bool is_packed = recipe.forward == FormatId::e2m1;
  const std::int64_t source_bytes = (tensor.entry->end - tensor.entry->begin) / std::ssize(to.plan.copies);
  const auto take = [&](const QuantizedStrip& strip) {
    if (to.plan.nonfinite == NonFinite::refuse && !all_finite(strip.values))
      refuse_nonfinite(tensor, view, strip, columns);
    // Strips of a matrix with one row of blocks all have the same scales.
    if (strip.rows.lo == 0 || blocks.grid.rows > 1) {
      for (std::size_t b = 0; b < strip.scales.size(); ++b)
        grid[static_cast<std::size_t>(strip.blocks.lo) + b] = strip.scales[b].stored;
    }
    const auto packed = is_packed ? packed_fp4(strip.codes) : std::vector<std::uint8_t>{};
    const std::span<const std::uint8_t> codes =
        is_packed ? std::span<const std::uint8_t>(packed) : strip.codes;
    to.writer.write({first, strip.rows.lo * columns / (is_packed ? 2 : 1)}, std::as_bytes(codes));
    to.done.add(source_bytes * strip.rows.numel() / rows.extent().rows);
  };
  const TensorScale whole = quantize_in_strips(recipe,
                                               {.direction = view.direction,
                                                .elements = recipe.forward,
                                                .threads = to.options.threads,
                                                .stop = to.options.stop},
                                               rows.source(), take);
  if (is_stopped(to.options)) return;
  to.writer.write({first + 1, 0}, scale_bytes(recipe, view, to.plan.shape, {blocks.grid, grid}));
  if (recipe.formula == ScaleFormula::two_level)
    to.writer.write({first + 2, 0}, std::as_bytes(std::span(&whole.inverse, 1)));
}

void copy_through(const Writing& to, const StoredTensor& tensor, std::size_t index) {
  const std::int64_t bytes = tensor.entry->end - tensor.entry->begin;
  each_on_threads({div_ceil(bytes, kChunkBytes), to.options.threads}, [&](std::int64_t chunk) {
    if (is_stopped(to.options)) return;
    const std::int64_t at = chunk * kChunkBytes;
    std::vector<std::byte> data(static_cast<std::size_t>(std::min(kChunkBytes, bytes - at)));
    tensor.file->read(*tensor.entry, at, data);
    to.writer.write({index, at}, data);
    to.done.add(std::ssize(data));
  });
}

std::vector<NewTensor> new_tensors(const QuantizePlan& plan, const TensorPlan& each) {
  const TensorEntry& entry = *each.tensor.entry;
  if (!each.copied_because.empty()) return {{.name = entry.name, .shape = entry.shape, .type = entry.type}};
  std::vector<NewTensor> tensors;
  for (const Direction copy : plan.copies) {
    for (NewTensor& tensor : tensors_of(*plan.recipe, copy, entry.name, extent_of(entry), plan.shape))
      tensors.push_back(std::move(tensor));
  }
  return tensors;
}

/// The codes that a tensor is the scales of, by its name; empty where it is none.
std::string codes_of(const TensorFiles& files, const std::string& name) {
  for (const std::string_view end : {"_scale_inv", "_scale", "_scale_2"}) {
    if (!name.ends_with(end)) continue;
    const std::string codes = name.substr(0, name.size() - end.size());
    const StoredTensor* found = files.find(codes);
    if (found != nullptr && found->entry->type.bits == 8) return codes;
  }
  return "";
}

}  // namespace

std::vector<TensorPlan> tensors_to_quantize(const TensorFiles& files, const Recipe& recipe,
                                            const std::function<bool(const std::string& name)>& is_chosen) {
  std::vector<TensorPlan> plans;
  for (const StoredTensor& tensor : files.tensors()) {
    std::string reason = reason_against(recipe, *tensor.entry);
    const std::string codes = codes_of(files, tensor.entry->name);
    if (!codes.empty()) reason = "it is the scales of " + codes;
    if (reason.empty() && !is_chosen(tensor.entry->name)) reason = "it was not chosen";
    plans.push_back({tensor, std::move(reason)});
  }
  return plans;
}

bool write_quantized(const TensorFiles& files, const QuantizePlan& plan, const std::filesystem::path& path,
                     const WriteOptions& options) {
  std::map<std::string, std::string> metadata = {{"format", "pt"}};
  for (const SafetensorsFile& file : files.files())
    metadata.insert(file.header().metadata.begin(), file.header().metadata.end());
  metadata[std::string(kRecipeKey)] = plan.recipe->name;
  metadata[std::string(kScalesKey)] = name_of(plan.shape);
  std::vector<NewTensor> tensors;
  std::vector<std::size_t> firsts;
  std::set<std::string> names;
  for (const TensorPlan& each : plan.tensors) {
    firsts.push_back(tensors.size());
    for (NewTensor& tensor : new_tensors(plan, each)) {
      if (!names.insert(tensor.name).second)
        throw bad_input(each.tensor.where(), fmt::format("the new file would hold two tensors {}; is this "
                                                         "checkpoint quantised already?",
                                                         shown(tensor.name)));
      tensors.push_back(std::move(tensor));
    }
  }
  NewFile file(path);
  SafetensorsWriter writer(file.path(), tensors, metadata);
  Done done(options);
  const Writing to{plan, options, writer, done};
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const TensorPlan& each = plan.tensors[i];
    std::size_t first = firsts[i];
    if (!each.copied_because.empty()) {
      copy_through(to, each.tensor, first);
      continue;
    }
    for (const Direction copy : plan.copies) {
      write_copy(to, each.tensor, copy, first);
      first += plan.recipe->formula == ScaleFormula::two_level ? 3 : 2;
    }
  }
  if (is_stopped(options)) return false;
  writer.finish();
  file.put_in_place();
  return true;
}

}  // namespace shardcheck::checkpoint
