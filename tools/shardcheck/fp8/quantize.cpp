// shardcheck fp8 quantize: the matrices of a checkpoint become codes and scales by a recipe, in a new file.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <ostream>
#include <thread>

#include "core/checkpoint/json_guard.h"
#include "core/checkpoint/quantize_file.h"
#include "core/error.h"
#include "tools/shardcheck/fp8/checkpoint_flags.h"
#include "tools/shardcheck/fp8/subverbs.h"
#include "tools/shardcheck/interrupt.h"
#include "tools/shardcheck/nearest.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/output_file.h"
#include "tools/shardcheck/progress.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck::fp8 {
namespace {

using checkpoint::QuantizePlan;
using checkpoint::TensorFiles;
using checkpoint::TensorPlan;

struct Wanted {
  std::string file, recipe, out, direction = "row", scales = "grid", nonfinite = "refuse";
  std::vector<std::string> tensors;
  bool strict = false;
  std::int64_t threads = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
};

void require_one_of(const std::string& value, std::vector<std::string> known, const std::string& flag) {
  if (std::ranges::find(known, value) != known.end()) return;
  throw bad_input(flag, unknown_name({value, "value", std::move(known), ""}));
}

void check(const Wanted& wanted) {
  require_one_of(wanted.direction, {"row", "column", "both"}, "--direction");
  require_one_of(wanted.scales, {"grid", "padded"}, "--scales");
  require_one_of(wanted.nonfinite, {"refuse", "recipe"}, "--nonfinite");
  if (wanted.recipe.empty())
    throw bad_input("shardcheck fp8 quantize",
                    "--recipe NAME is missing, for example --recipe te-block-128x128");
  if (wanted.out.empty())
    throw bad_input("shardcheck fp8 quantize", "--out FILE is missing: where the new checkpoint goes");
  if (wanted.out == "-")
    throw bad_input("--out", "a checkpoint is written to a file, not to standard output");
  require_writable({wanted.out}, "--out");
}

/// A file that is read stays as it is.
void refuse_to_replace(const TensorFiles& files, const std::string& out) {
  std::error_code ignored;
  for (const checkpoint::SafetensorsFile& file : files.files()) {
    if (std::filesystem::equivalent(file.path(), out, ignored))
      throw bad_input("--out " + out, "it is the file that is read; name another one");
  }
}

QuantizePlan plan_of(const Wanted& wanted, const TensorFiles& files, const Chosen& chosen) {
  using recipe::Direction;
  QuantizePlan plan{.recipe = &recipe_of_files(wanted.recipe)};
  if (wanted.direction == "column") plan.copies = {Direction::column};
  if (wanted.direction == "both") plan.copies = {Direction::row, Direction::column};
  if (wanted.scales == "padded") plan.shape = checkpoint::ScaleShape::padded;
  if (wanted.nonfinite == "recipe") plan.nonfinite = checkpoint::NonFinite::by_recipe;
  plan.tensors =
      tensors_to_quantize(files, *plan.recipe, [&](const std::string& name) { return chosen.has(name); });
  for (TensorPlan& each : plan.tensors) {
    const checkpoint::TensorEntry& entry = *each.tensor.entry;
    if (each.copied_because.empty() || !chosen.has(entry.name)) continue;
    if (chosen.is_named(entry.name) || (wanted.strict && entry.shape.size() == 2))
      throw bad_input(each.tensor.where(),
                      fmt::format("{} does not take it: {}", plan.recipe->name, each.copied_because));
  }
  const auto is_quantised = [](const TensorPlan& each) { return each.copied_because.empty(); };
  if (std::ranges::any_of(plan.tensors, is_quantised)) return plan;
  const auto first = std::ranges::find_if(
      plan.tensors, [&](const TensorPlan& each) { return chosen.has(each.tensor.entry->name); });
  if (first == plan.tensors.end()) throw bad_input(wanted.file, "it holds no tensors");
  throw bad_input(wanted.file, fmt::format("{} takes none of its {}tensors; of \"{}\": {}", plan.recipe->name,
                                           wanted.tensors.empty() ? "" : "chosen ", first->tensor.entry->name,
                                           first->copied_because));
}

/// Reasons in the order in which they come, each with how many it keeps and the first of them.
std::string copied_text(const QuantizePlan& plan) {
  struct Group {
    std::string reason, first;
    std::int64_t count = 0;
  };
  std::vector<Group> groups;
  for (const TensorPlan& each : plan.tensors) {
    if (each.copied_because.empty()) continue;
    auto found = std::ranges::find(groups, each.copied_because, &Group::reason);
    if (found == groups.end())
      found = groups.insert(groups.end(), {each.copied_because, each.tensor.entry->name, 0});
    ++found->count;
  }
  std::string text;
  for (const Group& group : groups) {
    const std::string others = group.count == 1 ? "" : fmt::format(" and {} more", grouped(group.count - 1));
    text += fmt::format("  copied as it is  {}{}: {}\n", group.first, others, group.reason);
  }
  return text;
}

std::int64_t bytes_in(const TensorFiles& files) {
  std::int64_t bytes = 0;
  for (const auto& tensor : files.tensors()) bytes += tensor.entry->end - tensor.entry->begin;
  return bytes;
}

void say(Session& session, const Wanted& wanted, const QuantizePlan& plan, std::int64_t read,
         double seconds) {
  std::int64_t tensors = 0, elements = 0;
  for (const TensorPlan& each : plan.tensors) {
    if (!each.copied_because.empty()) continue;
    ++tensors;
    elements += each.tensor.entry->numel;
  }
  const auto written = static_cast<std::int64_t>(std::filesystem::file_size(wanted.out));
  session.out << fmt::format("{}: {}\n", plan.recipe->name, plan.recipe->sentence)
              << fmt::format(
                     "  quantised        {}, {}, {}\n", counted(tensors, "tensor"),
                     counted(elements, "element"),
                     wanted.direction == "both" ? "row and column copies" : wanted.direction + " copies")
              << copied_text(plan)
              << fmt::format("  wrote            {}: {} from {} in {} ({:.2f} GB/s read)\n", wanted.out,
                             bytes_text(written), bytes_text(read), seconds_text(seconds),
                             static_cast<double>(read) / 1e9 / seconds);
}

}  // namespace

ExitStatus quantize(Session& session, const Arguments& arguments) {
  Wanted wanted;
  Options options({"fp8 quantize", "FILE --recipe NAME --out FILE [flags]",
                   "the matrices of a checkpoint become codes and scales, in a new file"});
  options.argument(wanted.file, {"FILE", "", "a safetensors file, a folder of them, or an index of several"});
  options.flag(wanted.recipe,
               {"recipe", "NAME", "formats, blocks and scales: te-block-128x128, te-mxfp8, ..."});
  options.flag(wanted.out, {"out", "FILE", "the new safetensors file"});
  options.flag(wanted.tensors, {"tensor", "NAME", "only these, names or patterns such as \"*.mlp.*\""});
  options.flag(wanted.direction, {"direction", "WHICH", "copies to write: row, column or both"});
  options.flag(wanted.scales,
               {"scales", "HOW", "grid: one a block, as public checkpoints; padded: as products read"});
  options.flag(wanted.nonfinite,
               {"nonfinite", "WHAT", "of NaN and infinity: refuse, or what the recipe says"});
  options.flag(wanted.strict, {"strict", "", "a matrix that the recipe does not take is an error"});
  options.flag(wanted.threads, {1, 4096}, {"threads", "N", "that work on it"});
  options.note(
      "NAME becomes codes, with its scales in NAME_scale_inv (blocks with fp32 scales) or NAME_scale, column "
      "copies in NAME_columnwise. What the recipe does not take, and what was not chosen, is copied as it "
      "is. "
      "The file says its recipe, so that `shardcheck fp8 verify` needs no --recipe.");
  options.note(recipes_text());
  if (!options.parse(arguments, session)) return ExitStatus::held;
  check(wanted);
  const TensorFiles files(wanted.file);
  refuse_to_replace(files, wanted.out);
  const QuantizePlan plan = plan_of(wanted, files, Chosen(wanted.tensors, files));
  const std::int64_t read = bytes_in(files);
  Progress progress(session.err);
  const auto begin = std::chrono::steady_clock::now();
  const bool is_whole = write_quantized(
      files, plan, wanted.out,
      {.threads = static_cast<int>(wanted.threads),
       .stop = &interrupt_flag(),
       .progress = [&](std::int64_t bytes) {
         progress.show({"quantize",
                        static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(read, 1)),
                        fmt::format("{} of {}", bytes_text(bytes), bytes_text(read))});
       }});
  progress.clear();
  if (!is_whole) {
    session.err << "shardcheck: interrupted: nothing was written\n";
    return ExitStatus::interrupted;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  say(session, wanted, plan, read, seconds.count());
  return ExitStatus::held;
}

}  // namespace shardcheck::fp8
