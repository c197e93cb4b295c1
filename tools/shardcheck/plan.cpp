// shardcheck plan: what a scenario means, op by op: stream, modelled time, what is read and written, races;
// and what it costs a rank in memory and a step in time.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <ostream>

#include "core/assert.h"
#include "core/error.h"
#include "sim/cost/timeline.h"
#include "sim/faults/zoo.h"
#include "sim/planner/planner.h"
#include "tools/shardcheck/given_scenario.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/output_file.h"
#include "tools/shardcheck/plan/plan_model_verb.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/trace_events.h"
#include "tools/shardcheck/verbs.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

std::string view_text(const Plan& plan, View view) {
  return fmt::format("{}[{}:{})", plan.buffer(view.buffer).name, view.offset, view.offset + view.numel);
}

/// The operands of the mask on the i-th rank.
std::string views_text(const Plan& plan, const Op& op, std::uint8_t mask, std::size_t i) {
  std::string text;
  for (int operand = 0; operand < op.operands; ++operand) {
    const View view = plan.operand(op, operand)[i];
    if ((mask >> operand & 1) == 0 || view.numel == 0) continue;
    text += (text.empty() ? "" : " ") + view_text(plan, view);
  }
  return text;
}

/// The op in words, without the place and the ranks, which have columns of their own.
std::string verb_text(const Plan& plan, const Op& op) {
  std::string text = describe(plan, op);
  text = text.substr(0, text.rfind(" on "));
  return op.operands > 0 ? text.substr(0, text.rfind(" in ")) : text;
}

/// Which ops of the plan are shown.
struct Shown {
  std::int32_t rank = 0;
  std::int64_t step = 0;
};

std::optional<std::size_t> position_of(const Plan& plan, const Op& op, std::int32_t rank) {
  const auto ranks = plan.ranks_of(op);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].value == rank) return i;
  }
  return std::nullopt;
}

std::string ops_text(const Terminal& terminal, const Plan& plan, const std::vector<cost::Span>& timeline,
                     const Shown& shown) {
  std::map<std::int32_t, cost::Span> spans;
  for (const cost::Span& span : timeline) {
    if (span.rank.value == shown.rank) spans[span.op.value] = span;
  }
  Table table({">op", "stream", ">from us", ">takes us", "what", "reads", "writes"});
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan.ops.size()); ++i) {
    const Op& op = plan.ops[static_cast<std::size_t>(i)];
    const auto at = position_of(plan, op, shown.rank);
    const bool is_of_step = op.why.step == shown.step && op.why.purpose != Purpose::setup;
    if (!at || (shown.step >= 0 && !is_of_step)) continue;
    const Access access = access_of(op.action);
    const auto span = spans.find(i);
    const bool timed = span != spans.end();
    table.row({std::to_string(i), name_of(op.stream),
               timed ? fmt::format("{:.1f}", span->second.begin * 1e6) : "",
               timed ? fmt::format("{:.1f}", (span->second.end - span->second.begin) * 1e6) : "",
               verb_text(plan, op), views_text(plan, op, access.reads, *at),
               views_text(plan, op, access.writes, *at)});
  }
  return table.text(terminal);
}

std::string size_text(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string memory_text(const Terminal& terminal, const Plan& plan) {
  struct Sum {
    std::int64_t buffers = 0;
    double bytes = 0;
    void add(const Buffer& buffer) {
      ++buffers;
      bytes += static_cast<double>(buffer.numel) * bytes_of(buffer.dtype);
    }
  };
  std::map<BufferRole, Sum> by_role;
  Sum on_device, on_host;
  for (const Buffer& buffer : plan.buffers) {
    if (!buffer.on_host) by_role[buffer.role].add(buffer);
    (buffer.on_host ? on_host : on_device).add(buffer);
  }
  Table table({"on every rank", ">buffers", ">memory"});
  const auto row = [&](std::string_view what, const Sum& sum) {
    table.row({what, grouped(sum.buffers), size_text(sum.bytes)});
  };
  for (const auto& [role, sum] : by_role) row(name_of(role), sum);
  row("all", on_device);
  if (on_host.buffers > 0) row("in memory of the host", on_host);
  return table.text(terminal);
}

std::string time_text(const Terminal& terminal, const Plan& plan, const std::vector<cost::Span>& timeline,
                      std::int32_t rank) {
  struct Step {
    double begin = -1, end = 0;
    std::array<double, kStreams> busy{};
  };
  std::map<std::int16_t, Step> steps;
  for (const cost::Span& span : timeline) {
    const Op& op = plan.ops[static_cast<std::size_t>(span.op.value)];
    if (span.rank.value != rank || op.why.step < 0) continue;
    Step& step = steps[op.why.step];
    if (step.begin < 0) step.begin = span.begin;
    step.end = std::max(step.end, span.end);
    step.busy[static_cast<std::size_t>(op.stream)] += span.end - span.begin;
  }
  std::vector<Stream> streams = {Stream::compute, Stream::reduce};
  if (std::ranges::find(plan.ops, Stream::graph, &Op::stream) != plan.ops.end())
    streams.push_back(Stream::graph);
  std::vector<std::string> titles = {"step", ">takes us"};
  for (const Stream stream : streams) titles.push_back(fmt::format(">{} busy", name_of(stream)));
  Table table(std::move(titles));
  for (const auto& [number, step] : steps) {
    const double takes = step.end - step.begin;
    std::vector<Table::Cell> row = {std::to_string(number), fmt::format("{:.1f}", takes * 1e6)};
    for (const Stream stream : streams)
      row.push_back(fmt::format("{:.0f} %", 100 * step.busy[static_cast<std::size_t>(stream)] / takes));
    table.row(std::move(row));
  }
  return table.text(terminal);
}

}  // namespace

ExitStatus plan_verb(Session& session, const Arguments& arguments) {
  const auto is_model = [](const std::string& word) {
    return word == "--model" || word.starts_with("--model=");
  };
  if (std::ranges::any_of(arguments, is_model)) return plan_model_verb(session, arguments);
  std::string name;
  std::int64_t rank = 0, step = 0;
  bool all_steps = false, summary = false;
  OutputFile timeline_file;
  Options options({"plan", "SCENARIO [flags]", "what a scenario means, op by op, and what it costs"});
  options.argument(name, {"SCENARIO", "", "a file, or an example of `shardcheck list scenarios`"});
  options.flag(rank, Between{0, 1023}, {"rank", "R", "the rank whose ops are listed"});
  options.flag(step, Between{0, 63}, {"step", "S", "the step whose ops are listed"});
  options.flag(all_steps, {"all", "", "list the ops of all steps, and those before the first"});
  options.flag(summary, {"summary", "", "list no ops"});
  options.flag(timeline_file.path,
               {"timeline", "FILE",
                "write trace events there, which Perfetto opens: a track a stream, arrows "
                "for waits and for races"});
  options.note(
      "Times are those of a model of an H200 (launches, memory, products, links), for the shape of a step. "
      "Exit "
      "status 1 when ops race.");
  options.note(
      "`shardcheck plan --model MODEL --mesh AXES` plans a known model at any world size; --help there says "
      "how.");
  if (!options.parse(arguments, session)) return ExitStatus::held;
  const Counterexample given = case_named(name);
  if (given.kind != nullptr)
    throw bad_input(name, fmt::format("a {} is no list of ops; plan takes a scenario", given.kind->name));
  if (rank >= given.scenario.ranks)
    throw bad_input("--rank",
                    fmt::format("{}: the scenario has ranks 0 to {}", rank, given.scenario.ranks - 1));
  if (step >= given.scenario.steps && !all_steps)
    throw bad_input("--step",
                    fmt::format("{}: the scenario has steps 0 to {}", step, given.scenario.steps - 1));
  require_writable(timeline_file, "--timeline");

  Planned planned = plan_of(given.scenario);
  apply_fault(planned, given.scenario);
  const Plan& plan = planned.plan;
  const std::vector<cost::Span> timeline = cost::timeline_of(plan, cost::Gpu{});
  const std::vector<Race> races = races_of(plan);
  if (timeline_file.is_wanted()) write(timeline_file, session, trace_events(plan, timeline, races));

  std::ostream& out = text_stream(session, timeline_file);
  const Terminal terminal = terminal_of(out);
  out << labelled(terminal, "scenario", describe(given)) << "\n";
  if (!summary)
    out << ops_text(terminal, plan, timeline, {static_cast<std::int32_t>(rank), all_steps ? -1 : step})
        << "\n";
  out << memory_text(terminal, plan) << "\n"
      << time_text(terminal, plan, timeline, static_cast<std::int32_t>(rank)) << "\n";
  for (const Race& race : races)
    out << fmt::format("{} op {} and op {} on rank {}: nothing orders them\n",
                       paint(terminal, Tone::bad, "race"), race.first.value, race.second.value,
                       race.rank.value);
  out << fmt::format("{}, {}, {}, {}\n", counted(std::ssize(plan.ops), "op"), counted(plan.ranks, "rank"),
                     counted(std::ssize(plan.buffers), "buffer"), counted(std::ssize(races), "race"));
  return races.empty() ? ExitStatus::held : ExitStatus::broken;
}

}  // namespace shardcheck
