// What plan --model prints: ops, roles, memory, time, and what was checked against the closed forms.
#include <fmt/format.h>

#include "core/layout/mesh.h"
#include "tools/shardcheck/layout/sections.h"
#include "tools/shardcheck/plan/model_plan.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.4g} s", seconds);
}

std::string head_text(const ModelPlan& plan, const ModelPlanFlags& flags, const Terminal& terminal) {
  const Question& question = plan.question;
  const bool is_part =
      question.mesh.expert > 1 || question.mesh.mesh.ranks_along(layout::AxisUse::tensor) > 1;
  std::int64_t elements = 0;
  for (const auto& parameter : question.parameters) elements += parameter.numel();
  std::string text = labelled(terminal, "plan",
                              fmt::format("{} under {} (layout {}) on {}: {}, {} elements{}", flags.model,
                                          plan.system->name, plan.system->layout, to_text(question.mesh),
                                          counted(std::ssize(question.parameters), "tensor"),
                                          grouped(elements), is_part ? " on one model-parallel rank" : ""));
  text += labelled(
      terminal, "step",
      fmt::format(
          "{} of {} a rank{}; weights {}, gradients {} on the wire and {} at rest, Adam",
          counted(flags.microbatches, "microbatch"), counted(flags.tokens, "token"),
          plan.routed > 0 ? fmt::format(", each to {} of a layer", counted(plan.routed, "expert")) : "",
          flags.storage, flags.dtype_wire, flags.main_grad));
  for (const std::string& note : question.notes) text += labelled(terminal, "note", note);
  return text;
}

/// The rows of one stream. Bytes are those that collectives send and that other ops read and write.
std::string stream_text(const ModelPlan& plan, cost::Lane lane, const Terminal& terminal) {
  Table table(
      {std::string(cost::name_of(lane)), "of", ">times", ">over", ">bytes", ">takes", "reads -> writes"});
  for (const PlanRow& row : plan.rows) {
    if (row.lane != lane) continue;
    const bool is_collective = row.ranks > 1;
    table.row({cost::name_of(row.work), row.what, grouped(row.times),
               is_collective ? grouped(static_cast<std::int64_t>(row.ranks)) : "",
               bytes_text(is_collective ? row.sent : row.touched), time_text(row.seconds),
               fmt::format("{} -> {}", row.reads, row.writes)});
  }
  return table.text(terminal);
}

std::string rows_text(const ModelPlan& plan, const Terminal& terminal) {
  return fmt::format(
             "{} of rank {} in a step, those alike in one row; bytes are sent by collectives, else "
             "touched:\n",
             counted(plan.ops, "op"), plan.roles.front().ranks.front()) +
         stream_text(plan, cost::Lane::compute, terminal) + "\n" +
         stream_text(plan, cost::Lane::collectives, terminal);
}

std::string ranks_text(const std::vector<std::int32_t>& ranks) {
  std::string text;
  for (const std::int32_t rank : ranks) text += (text.empty() ? "" : " and ") + grouped(rank);
  return text;
}

std::string roles_text(const ModelPlan& plan, const Terminal& terminal) {
  Table table(
      {"ranks", ">owns of tensors", ">of experts", ">padding", ">kept", ">peak", ">sent a step", ">step"});
  for (const PlanRole& role : plan.roles) {
    table.row({ranks_text(role.ranks), grouped(role.dense), grouped(role.experts), grouped(role.padding),
               bytes_text(role.figures.memory.kept()), bytes_text(role.figures.memory.peak()),
               bytes_text(role.figures.sent), time_text(role.figures.seconds)});
  }
  return fmt::format("the first, middle and last of {} (elements; those alike in one row):\n",
                     counted(plan.question.ranks(), "rank")) +
         table.text(terminal);
}

std::string memory_text(const cost::StepMemory& m, const Terminal& terminal) {
  Table table({"on a rank", ">memory", ""});
  table.row({"weights", bytes_text(m.weights), ""});
  table.row({"gradients", bytes_text(m.gradients), ""});
  table.row({"optimizer state", bytes_text(m.optimizer), ""});
  table.row({"kept between steps", bytes_text(m.kept()), "the sum of the above"});
  const auto add = [&](const char* what, double bytes, const char* why) {
    if (bytes > 0) table.row({what, bytes_text(bytes), why});
  };
  add("staging", m.staging, "gradients in the type of the wire");
  add("leases", m.leases, "slots of the largest bucket");
  add("autograd", m.autograd, "gradients that wait to be packed");
  add("gathered weights", m.gathered, "the most at once: in use, and the next one on its way");
  table.row({"peak", bytes_text(m.peak()), "without activations and workspaces"});
  return table.text(terminal);
}

std::string times_text(const cost::StepFigures& f, const Terminal& terminal) {
  const double compute = f.busy[0], collectives = f.busy[1];
  Table table({"a step", ">takes", ""});
  table.row({"streams side by side", time_text(f.seconds), "the critical path over both"});
  table.row({"nothing overlapped", time_text(f.serial), "all ops one after another"});
  table.row(
      {"compute busy", time_text(compute), fmt::format("{:.0f} % of the step", 100 * compute / f.seconds)});
  table.row({"the other stream busy", time_text(collectives),
             fmt::format("{:.0f} % of the step", 100 * collectives / f.seconds)});
  table.row({"exposed", time_text(f.seconds - compute), "when nothing is computed"});
  return table.text(terminal);
}

std::string check_text(const ModelPlan& plan, const Terminal& terminal) {
  const cost::StepFigures& f = plan.roles.front().figures;
  const double in_collectives = seconds_in_collectives(plan);
  Table table({"checked", ">planned", ">closed form", ""});
  const auto add = [&](const char* what, const std::string& planned, const std::string& closed, bool agrees) {
    table.row({what, planned, closed,
               agrees ? Table::Cell("equal", Tone::good) : Table::Cell("DIFFERS", Tone::bad)});
  };
  add("kept between steps", bytes_text(f.memory.kept()), bytes_text(plan.closed.kept),
      cost::agrees(f.memory.kept(), plan.closed.kept));
  add("sent a step", bytes_text(f.sent), bytes_text(plan.closed.sent),
      cost::agrees(f.sent, plan.closed.sent));
  add("in collectives", time_text(in_collectives), time_text(plan.closed.collectives),
      cost::agrees(in_collectives, plan.closed.collectives));
  return table.text(terminal) +
         wrap(fmt::format(
                  "Closed form: {} of shard-layouts 5 over padded elements. The other figures have none.",
                  cost::name_of(plan.closed.strategy)),
              {.width = terminal.width}) +
         "\n";
}

std::string constants_text(const ModelPlanFlags& flags, const Terminal& terminal) {
  const cost::Network& net = flags.network;
  const cost::Gpu& gpu = flags.gpu;
  return wrap(fmt::format(
                  "Model: hierarchical rings in nodes of {:.0f} ({:.3g} us a hop, {:.4g} GB/s) and between "
                  "them ({:.3g} us, {:.4g} GB/s); ops of {:.3g} us and {:.4g} GB/s of memory; products at "
                  "{:.4g} TFLOP/s in 16 bits and {:.4g} in 8. One stream for computing and one for "
                  "collectives; every rank comes in time; the next bucket of sharded weights is gathered "
                  "while one is computed with. Not in it: attention scores, activations, and what tensor "
                  "and expert parallelism exchange. For the shape of a step, not a date.",
                  net.node, net.inner.alpha * 1e6, net.inner.bytes_per_second / 1e9, net.outer.alpha * 1e6,
                  net.outer.bytes_per_second / 1e9, gpu.launch * 1e6, gpu.bytes_per_second / 1e9,
                  gpu.flops_16bit / 1e12, gpu.flops_8bit / 1e12),
              {.width = terminal.width}) +
         "\n";
}

}  // namespace

std::string model_plan_text(const ModelPlan& plan, const ModelPlanFlags& flags, const Terminal& terminal) {
  const cost::StepFigures& figures = plan.roles.front().figures;
  return head_text(plan, flags, terminal) + "\n" + rows_text(plan, terminal) + "\n" +
         roles_text(plan, terminal) + "\n" + memory_text(figures.memory, terminal) + "\n" +
         times_text(figures, terminal) + "\n" + check_text(plan, terminal) + "\n" +
         constants_text(flags, terminal);
}

std::string comparison_text(const std::vector<Compared>& compared, const ModelPlanFlags& flags,
                            const Terminal& terminal) {
  Table table(
      {"strategy", "as", ">kept", ">peak", ">sent a step", ">collectives", ">step", ">not overlapped"});
  std::string refusals;
  const ModelPlan* first = nullptr;
  for (const Compared& each : compared) {
    if (!each.plan) {
      refusals += labelled(terminal, "not planned", fmt::format("{}: {}", each.system->name, each.refusal));
      continue;
    }
    if (first == nullptr) first = &*each.plan;
    const cost::StepFigures& f = each.plan->roles.front().figures;
    table.row({each.system->name, cost::name_of(each.plan->closed.strategy), bytes_text(f.memory.kept()),
               bytes_text(f.memory.peak()), bytes_text(f.sent), time_text(seconds_in_collectives(*each.plan)),
               time_text(f.seconds), time_text(f.serial)});
  }
  return labelled(terminal, "plan",
                  fmt::format("{} on {}: {} of {} a rank; --strategy NAME lists the ops of one", flags.model,
                              to_text(first->question.mesh), counted(flags.microbatches, "microbatch"),
                              counted(flags.tokens, "token"))) +
         "\n" + table.text(terminal) + (refusals.empty() ? "" : "\n" + refusals) + "\n" +
         constants_text(flags, terminal);
}

}  // namespace shardcheck
