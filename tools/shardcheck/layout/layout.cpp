// shardcheck layout: which rank holds which rows of which tensor, what is padding and why, which blocks a
// boundary cuts, what a reshard moves and what it costs.
#include <fmt/format.h>

#include <ostream>

#include "core/error.h"
#include "tools/shardcheck/layout/layout_json.h"
#include "tools/shardcheck/layout/page.h"
#include "tools/shardcheck/layout/sections.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/output_file.h"
#include "tools/shardcheck/verbs.h"

namespace shardcheck {
namespace {

/// Microseconds and gigabytes a second, as the flags have them.
struct NetworkFlags {
  std::optional<double> inner_us, outer_us, inner_gbs, outer_gbs;
  std::int64_t node = 8;
};

struct Wanted {
  LayoutFlags layout;
  std::string tensor, blocks, diff, diff_mesh;
  bool why = false, cost = false;
  NetworkFlags network;
  PriceFlags price;
  OutputFile html, json;
};

void add_flags(Options& options, Wanted& wanted) {
  LayoutFlags& f = wanted.layout;
  options.argument(f.model, {"MODEL", "",
                             "a known model (list models), a safetensors file or index, or a JSON list "
                             "[[\"name\", [rows, columns]], ...]"});
  options.flag(f.layout, {"layout", "NAME", "a name of `shardcheck list layouts`"});
  options.flag(f.mesh, {"mesh", "AXES", "for example dp=64,tp=2"});
  options.flag(f.world, {1, 2147483647},
               {"world", "N", "ranks: checked against --mesh, or dp=N without one"});
  options.flag(f.rank, {0, 2147483647}, {"rank", "R", "everything that this rank of the mesh holds"});
  options.flag(wanted.tensor, {"tensor", "NAME", "the ranks that hold this tensor, and which rows"});
  options.flag(wanted.why, {"why", "", "padding by rule, the least possible, and the cheapest rule to drop"});
  options.flag(wanted.blocks,
               {"blocks", "RxC", "quantisation blocks on several ranks: 128x128, 1x32, 32x1, 1x128"});
  options.flag(wanted.diff, {"diff", "NAME", "another layout beside it, and what a reshard moves"});
  options.flag(wanted.diff_mesh, {"diff-mesh", "AXES", "the other layout's mesh, where it is another"});
  options.flag(wanted.cost, {"cost", "", "memory and bytes a step of DDP, ZeRO-1/2/3, HSDP and HFSDP"});
  options.flag(f.zero, {0, 3},
               {"zero", "N",
                "what megatron-fsdp-v1 shards: 0 nothing, 1 optimizer state, 2 "
                "gradients too, 3 parameters too"});
  options.flag(f.dtype, {"dtype", "TYPE", "of models without files: bf16, f16, f32, fp8, nvfp4"});
  options.flag(f.bucket_size, {"bucket-size", "N",
                               "elements a Megatron DDP bucket, or none; its own default is "
                               "max(40e6, 1e6 * dp)"});
  options.flag(f.block_rows, {1, 1'000'000},
               {"block-rows", "B", "rows that mfsdp-v2-block-atomic keeps together"});
  options.flag(wanted.price.microbatches, {1, 1'000'000}, {"microbatches", "M", "of a step, for --cost"});
  options.flag(wanted.price.storages, {"storage", "NAME",
                                       "weights of --cost: bf16, f32, fp8-tensor, fp8-128x128, mxfp8, "
                                       "mxfp8-one-way, nvfp4; repeatable [bf16,mxfp8]"});
  options.flag(wanted.network.node, {1, 1'000'000}, {"node", "G", "ranks a node, for --cost"});
  options.flag(wanted.network.inner_us, {"inner-us", "T", "microseconds a hop inside a node [2]"});
  options.flag(wanted.network.outer_us, {"outer-us", "T", "microseconds a hop between nodes [5]"});
  options.flag(wanted.network.inner_gbs, {"inner-gbs", "B", "GB/s of a rank inside a node [450]"});
  options.flag(wanted.network.outer_gbs, {"outer-gbs", "B", "GB/s of a rank between nodes [50]"});
  options.flag(wanted.html.path,
               {"html", "FILE", "draw the buffers rank by rank on one self-contained page"});
  options.flag(wanted.json.path, {"json", "FILE", "write the answer as JSON; - is standard output"});
  options.note(mesh_grammar());
}

PriceFlags prices_with(const Wanted& wanted) {
  PriceFlags flags = wanted.price;
  const NetworkFlags& n = wanted.network;
  flags.network.node = static_cast<double>(n.node);
  if (n.inner_us) flags.network.inner.alpha = *n.inner_us * 1e-6;
  if (n.outer_us) flags.network.outer.alpha = *n.outer_us * 1e-6;
  if (n.inner_gbs) flags.network.inner.bytes_per_second = *n.inner_gbs * 1e9;
  if (n.outer_gbs) flags.network.outer.bytes_per_second = *n.outer_gbs * 1e9;
  return flags;
}

LayoutResult examine(const Answered& answer, const Wanted& wanted) {
  LayoutResult result;
  if (wanted.layout.rank >= 0) result.rank = Rank{static_cast<std::int32_t>(wanted.layout.rank)};
  result.wants_why = wanted.why;
  if (!wanted.blocks.empty()) {
    result.blocks = layout::block_shape_in(wanted.blocks, "--blocks");
    result.straddles = straddles_of(answer, *result.blocks);
  }
  if (!wanted.diff.empty() || !wanted.diff_mesh.empty()) {
    LayoutFlags other = wanted.layout;
    if (!wanted.diff.empty()) other.layout = wanted.diff;
    other.mesh = wanted.diff_mesh;
    result.other = answered(ask_instead(answer.question, other));
    const layout::Ownership from(answer.layout, answer.question.parameters);
    const layout::Ownership to(result.other->layout, answer.question.parameters);
    result.traffic = layout::traffic_between(from, to, answer.question.parameters);
  }
  if (wanted.cost) result.prices = prices_of(answer, prices_with(wanted));
  return result;
}

void print(std::ostream& out, const Answered& answer, const LayoutResult& result, const Wanted& wanted) {
  const Terminal terminal = terminal_of(out);
  out << summary_text(answer, terminal);
  if (result.rank) out << rank_text(answer, *result.rank, terminal);
  if (!wanted.tensor.empty()) out << tensor_text(answer, wanted.tensor, terminal);
  if (wanted.why) out << why_text(answer, terminal);
  if (result.blocks) out << blocks_text(result.straddles, *result.blocks, terminal);
  if (result.other) out << difference_text(answer, *result.other, *result.traffic, terminal);
  if (wanted.cost) out << cost_text(answer, result.prices, prices_with(wanted), terminal);
}

}  // namespace

ExitStatus layout_verb(Session& session, const Arguments& arguments) {
  Wanted wanted;
  Options options({"layout", "MODEL --layout NAME --mesh AXES [flags]",
                   "which rank holds which rows of which tensor, what is padding and why"});
  add_flags(options, wanted);
  if (!options.parse(arguments, session)) return ExitStatus::held;
  if (wanted.layout.layout.empty())
    throw bad_input("shardcheck layout", "--layout is missing; `shardcheck list layouts` lists them");
  require_writable(wanted.json, "--json");
  require_writable(wanted.html, "--html");
  const layout::BlockShape marked =
      layout::block_shape_in(wanted.blocks.empty() ? "128x128" : wanted.blocks, "--blocks");
  const Answered answer = answered(ask(wanted.layout));
  const LayoutResult result = examine(answer, wanted);
  print(text_stream(session, wanted.json), answer, result, wanted);
  write(wanted.html, session, wanted.html.is_wanted() ? html_page(answer, marked) : "");
  write(wanted.json, session, wanted.json.is_wanted() ? layout_json(answer, result) : "");
  return ExitStatus::held;
}

}  // namespace shardcheck
