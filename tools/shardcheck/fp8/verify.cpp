// shardcheck fp8 verify: are codes and scales of a checkpoint consistent with each other, with the recipe,
// and with the high-precision source; what is wrong where, and of what kind the difference is.
#include "properties/checkpoint_quantisation/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <ostream>
#include <thread>

#include "core/error.h"
#include "tools/shardcheck/fp8/checkpoint_flags.h"
#include "tools/shardcheck/fp8/subverbs.h"
#include "tools/shardcheck/fp8/verify_json.h"
#include "tools/shardcheck/fp8/verify_text.h"
#include "tools/shardcheck/interrupt.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/output_file.h"
#include "tools/shardcheck/progress.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck::fp8 {
namespace {

using checkpoint::TensorFiles;

struct Wanted {
  std::string file, against, recipe;
  std::vector<std::string> tensors;
  OutputFile json;
  std::int64_t threads = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
};

constexpr std::string_view kWithoutSource =
    "without --against, codes and scales are held against each other and the recipe; what fits just as well "
    "is "
    "not seen, such as a scale that became another one of the recipe's, or codes that moved a little";

/// Tensors may be asked for by the name of the source or of the codes.
void require_codes(const Wanted& wanted, const verify::Contents& contents) {
  if (!contents.pairs.empty() || !contents.unpaired.empty()) return;
  throw bad_input(wanted.file,
                  wanted.tensors.empty()
                      ? "it holds no quantised tensors: F8_E4M3 or F8_E5M2 with NAME_scale_inv or "
                        "NAME_scale beside them"
                      : "none of the chosen tensors is quantised: F8_E4M3 or F8_E5M2 with "
                        "NAME_scale_inv or NAME_scale beside it");
}

/// The bar of all tensors, from any thread.
class Bar {
 public:
  Bar(Session& session, std::int64_t all) : progress_(session.err), all_(std::max<std::int64_t>(all, 1)) {}
  void begin(const std::string& name) {
    const std::lock_guard lock(mutex_);
    name_ = name;
    show();
  }
  void add(std::int64_t elements) {
    const std::lock_guard lock(mutex_);
    done_ += elements;
    show();
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    progress_.clear();
  }

 private:
  void show() { progress_.show({"verify", static_cast<double>(done_) / static_cast<double>(all_), name_}); }

  std::mutex mutex_;
  Progress progress_;
  std::int64_t all_, done_ = 0;
  std::string name_;
};

std::string last_line(const Wanted& wanted, const verify::Report& report, const Terminal& terminal,
                      double seconds) {
  std::int64_t blocks = 0, codes = 0, not_judged = 0;
  for (const verify::TensorReport& each : report.tensors) {
    blocks += each.sweep.blocks;
    codes += each.sweep.elements;
    not_judged += each.is_judged ? 0 : 1;
  }
  const std::int64_t tensors = std::ssize(report.tensors) - not_judged;
  std::string text =
      paint(terminal, report.holds() ? Tone::good : Tone::bad, report.holds() ? "held" : "BROKEN");
  text += report.holds() ? fmt::format(": {}", counted(tensors, "tensor"))
                         : fmt::format(": {} of {}", grouped(report.broken()),
                                       counted(tensors + report.copies, "tensor"));
  text += fmt::format(", {}, {}", counted(blocks, "block"), counted(codes, "code"));
  if (!wanted.against.empty()) text += fmt::format(", bit for bit against {}", wanted.against);
  if (report.holds() && report.copies > 0)
    text += fmt::format(", {} unchanged", counted(report.copies, "other"));
  if (not_judged > 0) text += fmt::format(", {} not judged", grouped(not_judged));
  return text + fmt::format("; {} in {} ({:.2f} GB/s)\n", bytes_text(report.bytes), seconds_text(seconds),
                            static_cast<double>(report.bytes) / 1e9 / seconds);
}

ExitStatus verified(Session& session, const Wanted& wanted, const TensorFiles& files,
                    const TensorFiles* source) {
  const Chosen chosen(wanted.tensors, files);
  const auto is_chosen = [&](const std::string& name) { return chosen.has(name); };
  const verify::Contents contents = verify::contents_of(files, is_chosen);
  require_codes(wanted, contents);
  std::ostream& out = text_stream(session, wanted.json);
  const Terminal terminal = terminal_of(out);
  Bar bar(session, verify::elements_of(contents));
  verify::Request request{.files = files, .source = source, .is_chosen = is_chosen};
  if (!wanted.recipe.empty()) request.recipe = &recipe_of_files(wanted.recipe);
  request.options = {static_cast<int>(wanted.threads), &interrupt_flag(),
                     [&](std::int64_t elements) { bar.add(elements); }};
  request.begin = [&](const std::string& name) { bar.begin(name); };
  request.end = [&](const verify::TensorReport& report) {
    if (report.holds()) return;
    bar.clear();
    out << tensor_text(terminal, report) << "\n" << std::flush;
  };
  const auto begin = std::chrono::steady_clock::now();
  const verify::Report report = verify::verify_checkpoint(request, contents);
  bar.clear();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  for (const verify::TensorReport& each : report.copied) out << tensor_text(terminal, each) << "\n";
  out << summary_text(terminal, report) << choice_text(terminal, report);
  if (!report.is_complete) {
    session.err << "shardcheck: interrupted: the tensors after these were not verified\n";
    return report.holds() ? ExitStatus::interrupted : ExitStatus::broken;
  }
  if (source == nullptr && report.holds())
    out << wrap(std::string(kWithoutSource), {.width = terminal.width, .indent = 0}) << "\n";
  out << last_line(wanted, report, terminal, seconds.count());
  write(wanted.json, session, verify_json({wanted.file, wanted.against}, report));
  return report.holds() ? ExitStatus::held : ExitStatus::broken;
}

}  // namespace

ExitStatus verify_files(Session& session, const Arguments& arguments) {
  Wanted wanted;
  Options options({"fp8 verify", "FILE [--against FILE] [flags]",
                   "are codes and scales of a checkpoint right, and if not, what kind of difference is it"});
  options.argument(wanted.file, {"FILE", "", "a safetensors file, a folder of them, or an index of several"});
  options.flag(wanted.against,
               {"against", "FILE", "the checkpoint that was quantised: every bit is recomputed from it"});
  options.flag(wanted.recipe,
               {"recipe", "NAME", "how it was quantised; else as the file says, else the likeliest"});
  options.flag(wanted.tensors, {"tensor", "NAME", "only these, names or patterns such as \"*.mlp.*\""});
  options.flag(wanted.json.path, {"json", "FILE", "the report for machines; - is standard output"});
  options.flag(wanted.threads, {1, 4096}, {"threads", "N", "that work on it"});
  options.note(
      "Codes are matrices of F8_E4M3 or F8_E5M2 with their scales in NAME_scale_inv or NAME_scale, as public "
      "checkpoints have them. Exit status 1 when anything differs.");
  options.note(recipes_text());
  if (!options.parse(arguments, session)) return ExitStatus::held;
  require_writable(wanted.json, "--json");
  if (!wanted.recipe.empty()) recipe_of_files(wanted.recipe);
  const TensorFiles files(wanted.file);
  if (wanted.against.empty()) return verified(session, wanted, files, nullptr);
  const TensorFiles source(wanted.against);
  return verified(session, wanted, files, &source);
}

}  // namespace shardcheck::fp8
