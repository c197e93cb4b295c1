#include "properties/checkpoint_quantisation/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>

#include "core/each_on_threads.h"
#include "core/error.h"
#include "core/integers.h"
#include "core/recipe/catalogue.h"
#include "properties/checkpoint_quantisation/choice.h"

namespace shardcheck::verify {
namespace {

using namespace recipe;
using checkpoint::StoredTensor;

constexpr std::int64_t kChunkBytes = std::int64_t{4} << 20;

bool is_stopped(const SweepOptions& options) {
  return options.stop != nullptr && *options.stop;
}

std::int64_t bytes_of(const StoredTensor& tensor) {
  return tensor.entry->end - tensor.entry->begin;
}

const Recipe* recipe_of_metadata(const Request& request) {
  const std::string_view name = request.files.metadata(std::string(checkpoint::kRecipeKey));
  if (name.empty()) return nullptr;
  const Recipe* found = find_recipe(name);
  if (found != nullptr) return found;
  throw bad_input(request.files.path().string() + ": metadata " + std::string(checkpoint::kRecipeKey),
                  fmt::format("\"{}\" is not a known recipe; name one with --recipe", name));
}

/// The tensor that was quantised. Throws Error(bad_input).
StoredTensor source_of(const checkpoint::TensorFiles& source, const Pair& pair) {
  const StoredTensor* found = source.find(pair.source_name());
  if (found == nullptr)
    throw bad_input(source.path().string(),
                    fmt::format("it has no tensor \"{}\", which {} holds quantised; --tensor chooses tensors",
                                pair.source_name(), pair.codes.file->path().string()));
  const auto type = found->entry->type.dtype;
  if (type != DType::f32 && type != DType::bf16 && type != DType::f16)
    throw bad_input(found->where(), fmt::format("its type is {}; a source of codes is F32, BF16 or F16",
                                                found->entry->type.name));
  return *found;
}

Example example_of(const Evidence& evidence, const Specimen& specimen) {
  const Subject& subject = evidence.subject;
  const Blocks& blocks = subject.blocks();
  const std::int64_t row = specimen.block() / blocks.grid.columns,
                     column = specimen.block() % blocks.grid.columns;
  const FormatId format = subject.recipe().scale_format;
  Example example{
      .broken = specimen.broken,
      .at = {row, column},
      .rows = {row * blocks.height, std::min((row + 1) * blocks.height, blocks.extent.rows)},
      .columns = {column * blocks.width, std::min((column + 1) * blocks.width, blocks.extent.columns)},
      .inverse = scale_value(format, specimen.broken.scale),
      .right_inverse = scale_value(format, specimen.broken.right_scale)};
  if (specimen.values.empty() || specimen.broken.element < 0) return example;
  for (std::size_t i = 0; i < specimen.values.size(); ++i) {
    if (specimen.element(i, blocks.extent.columns) == specimen.broken.element)
      example.source = specimen.values[i];
  }
  return example;
}

/// What is wrong apart from blocks.
std::vector<Problem> problems_of(const Subject& subject, const Sweep& sweep) {
  std::vector<Problem> problems;
  if (subject.unclean_padding() > 0)
    problems.push_back({"F37", fmt::format("{} of the padding of its scales are not 0; products read them",
                                           subject.unclean_padding())});
  const float stored = subject.tensor_inverse();
  if (subject.source() && stored != sweep.right_tensor_inverse) {
    problems.push_back(
        {"F20",
         fmt::format("its {} is {} ({:#010x}); the amax of the source gives {} ({:#010x})",
                     subject.pair().tensor_scale->entry->name, stored, std::bit_cast<std::uint32_t>(stored),
                     sweep.right_tensor_inverse, std::bit_cast<std::uint32_t>(sweep.right_tensor_inverse))});
  } else if (!subject.tensor_scale()) {
    problems.push_back({"F20", fmt::format("its {} is {} ({:#010x}), which no amax gives",
                                           subject.pair().tensor_scale->entry->name, stored,
                                           std::bit_cast<std::uint32_t>(stored))});
  }
  return problems;
}

/// F32, F33 without a source: a column copy that follows from the row copy is its transpose.
std::optional<Problem> differs_from_row_copy(const Request& request, const Contents& contents,
                                             const Subject& subject) {
  const Pair& pair = subject.pair();
  if (pair.copy() == Direction::row || subject.source() || !is_derivable(subject.recipe().second_copy) ||
      pair.elements == FormatId::e2m1)
    return std::nullopt;
  const auto rows = std::ranges::find(contents.pairs, pair.source_name(), &Pair::name);
  if (rows == contents.pairs.end() || rows->extent.transposed() != pair.extent) return std::nullopt;
  const checkpoint::MatrixRows turned(rows->codes, checkpoint::Turned::yes);
  const std::int64_t strip = strip_rows(subject.blocks());
  std::atomic<std::int64_t> differing = 0;
  each_on_threads({div_ceil(pair.extent.rows, strip), request.options.threads}, [&](std::int64_t i) {
    const layout::Range range{i * strip, std::min((i + 1) * strip, pair.extent.rows)};
    const std::vector<std::uint8_t> codes = subject.codes(range);
    std::vector<std::byte> expected(codes.size());
    turned.read_stored(range, expected);
    for (std::size_t e = 0; e < codes.size(); ++e) differing += std::byte{codes[e]} != expected[e] ? 1 : 0;
  });
  if (differing == 0) return std::nullopt;
  return Problem{subject.recipe().second_copy == SecondCopy::transposed ? "F32" : "F33",
                 fmt::format("{} of its codes are not those of {} transposed", differing.load(), rows->name)};
}

TensorReport report_of(const Request& request, const Contents& contents, const Pair& pair,
                       const Candidate& candidate) {
  TensorReport report{.name = pair.name,
                      .recipe = std::string(candidate.recipe->name),
                      .elements = pair.elements,
                      .scale_format = candidate.recipe->scale_format,
                      .extent = pair.extent,
                      .has_source = request.source != nullptr};
  std::optional<StoredTensor> source;
  if (request.source != nullptr) source = source_of(*request.source, pair);
  if (source && !is_source_of(candidate, pair, *source)) {
    report.problems.push_back(
        {"F35", fmt::format("the source has shape [{}], of which {} makes no {} x {} codes",
                            fmt::join(source->entry->shape, ", "), report.recipe, pair.extent.rows,
                            pair.extent.columns)});
    return report;
  }
  const Subject subject(pair, candidate, source);
  report.grid = subject.blocks().grid;
  report.sweep = source ? sweep_against_source(subject, request.options, pair.extent.rows)
                        : sweep_alone(subject, request.options, pair.extent.rows);
  if (is_stopped(request.options)) return report;
  report.problems = problems_of(subject, report.sweep);
  if (auto problem = differs_from_row_copy(request, contents, subject)) report.problems.push_back(*problem);
  if (report.sweep.broken_blocks == 0) return report;
  if (request.begin) request.begin(pair.name + ": of what kind");
  const Evidence evidence = gather(subject, report.sweep, request.options);
  report.explanation = explain(evidence);
  for (const Specimen& specimen : evidence.specimens)
    report.examples.push_back(example_of(evidence, specimen));
  return report;
}

/// A tensor without codes, whose bytes are those of the source where types and shapes are.
std::optional<Problem> differs_from_source(const StoredTensor& tensor, const StoredTensor& source,
                                           const SweepOptions& options) {
  if (tensor.entry->type.name != source.entry->type.name || tensor.entry->shape != source.entry->shape)
    return Problem{"", fmt::format("it is {} of shape [{}], in the source {} of [{}]",
                                   tensor.entry->type.name, fmt::join(tensor.entry->shape, ", "),
                                   source.entry->type.name, fmt::join(source.entry->shape, ", "))};
  const std::int64_t bytes = bytes_of(tensor);
  std::atomic<std::int64_t> differing = 0, first = bytes;
  each_on_threads({div_ceil(bytes, kChunkBytes), options.threads}, [&](std::int64_t chunk) {
    const std::int64_t at = chunk * kChunkBytes;
    std::vector<std::byte> mine(static_cast<std::size_t>(std::min(kChunkBytes, bytes - at))),
        theirs(mine.size());
    tensor.file->read(*tensor.entry, at, mine);
    source.file->read(*source.entry, at, theirs);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (mine[i] == theirs[i]) continue;
      ++differing;
      const std::int64_t place = at + static_cast<std::int64_t>(i);
      for (std::int64_t known = first; place < known && !first.compare_exchange_weak(known, place);) {
      }
    }
  });
  if (differing == 0) return std::nullopt;
  return Problem{"", fmt::format("{} of its {} bytes differ from the source, the first at byte {}",
                                 differing.load(), bytes, first.load())};
}

void compare_copies(const Request& request, const Contents& contents, Report& report) {
  for (const StoredTensor& tensor : contents.others) {
    const StoredTensor* source = request.source->find(tensor.entry->name);
    if (source == nullptr || is_stopped(request.options)) continue;
    if (request.begin) request.begin(tensor.entry->name);
    ++report.copies;
    report.bytes += 2 * bytes_of(tensor);
    if (auto problem = differs_from_source(tensor, *source, request.options)) {
      report.copied.push_back({.name = tensor.entry->name, .has_source = true});
      report.copied.back().problems.push_back(*problem);
    }
  }
}

}  // namespace

bool Report::holds() const {
  return broken() == 0;
}

std::int64_t Report::broken() const {
  const auto is_broken = [](const TensorReport& each) { return each.is_judged && !each.holds(); };
  return std::ranges::count_if(tensors, is_broken) + std::ssize(copied);
}

std::int64_t elements_of(const Contents& contents) {
  std::int64_t elements = 0;
  for (const Pair& pair : contents.pairs) elements += pair.extent.numel();
  return elements;
}

Report verify_checkpoint(const Request& request, const Contents& contents) {
  const Recipe* named = request.recipe != nullptr ? request.recipe : recipe_of_metadata(request);
  if (request.source != nullptr) {
    for (const Pair& pair : contents.pairs) source_of(*request.source, pair);
  }
  const std::vector<Pair> none;
  const Choice choice(named == nullptr ? contents.pairs : none, request.source, request.options);
  Report report;
  for (const Unpaired& unpaired : contents.unpaired) {
    TensorReport& each = report.tensors.emplace_back(
        TensorReport{.name = unpaired.tensor.entry->name, .is_judged = unpaired.is_wrong});
    each.problems.push_back({"F35", unpaired.sentence});
    if (request.end) request.end(each);
  }
  for (const Pair& pair : contents.pairs) {
    if (is_stopped(request.options)) break;
    if (request.begin) request.begin(pair.name);
    const auto candidate = named != nullptr ? candidate_of(*named, pair) : choice.of(pair);
    if (candidate) {
      report.tensors.push_back(report_of(request, contents, pair, *candidate));
      if (named == nullptr) report.tensors.back().equals = choice.equals_of(pair);
    } else {
      TensorReport& each = report.tensors.emplace_back(
          TensorReport{.name = pair.name, .elements = pair.elements, .extent = pair.extent});
      each.problems.push_back({"F35", named != nullptr ? mismatch_of(*named, pair) : mismatch_of_all(pair)});
    }
    report.bytes += bytes_of(pair.codes) + bytes_of(pair.scales) +
                    (request.source != nullptr ? bytes_of(source_of(*request.source, pair)) : 0);
    if (request.end && !is_stopped(request.options)) request.end(report.tensors.back());
  }
  if (request.source != nullptr) compare_copies(request, contents, report);
  report.is_complete = !is_stopped(request.options);
  return report;
}

}  // namespace shardcheck::verify
