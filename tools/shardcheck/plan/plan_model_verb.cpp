// shardcheck plan --model: flags of a planned model, and where its answer goes.
#include "tools/shardcheck/plan/plan_model_verb.h"

#include <ostream>

#include "tools/shardcheck/layout/mesh_text.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/output_file.h"
#include "tools/shardcheck/plan/model_plan.h"

namespace shardcheck {
namespace {

/// Constants of the machine, as the flags have them.
struct Constants {
  std::optional<double> inner_us, outer_us, inner_gbs, outer_gbs, launch_us, memory_gbs, tflops, tflops_8bit;
  std::int64_t node = 8;
};

void add_model_flags(Options& options, ModelPlanFlags& f) {
  options.flag(f.model, {"model", "MODEL",
                         "a known model (list models), a safetensors file or index, or a JSON list"});
  options.flag(
      f.strategy,
      {"strategy", "NAME",
       "megatron-ddp, megatron-ddp-zero1, megatron-fsdp-v1/no_shard, /optim, /optim_grads, "
       "/optim_grads_params, megatron-fsdp-v2, fsdp2, deepspeed-1, -2, -3; without one, all are compared"});
  options.flag(f.mesh, {"mesh", "AXES", "for example dp=2048,tp=8"});
  options.flag(f.world, {1, 2147483647},
               {"world", "N", "ranks: checked against --mesh, or dp=N without one"});
  options.flag(f.bucket_size,
               {"bucket-size", "N",
                "elements a bucket of Megatron DDP (default: max(40e6, 1e6 * dp)) or DeepSpeed-1 "
                "and -2 (default: 5e8), or none"});
  options.flag(f.microbatches, {1, 4096}, {"microbatches", "M", "of a step"});
  options.flag(f.tokens, {1, 1'000'000'000}, {"tokens", "T", "of a rank and microbatch"});
  options.flag(f.routed, {1, 1'000'000},
               {"routed", "K", "experts that a token goes to; default: as the model has it"});
  options.flag(
      f.storage,
      {"storage", "NAME", "of all weights: bf16, f32, fp8-tensor, fp8-128x128, mxfp8, mxfp8-one-way, nvfp4"});
  options.flag(f.dtype_wire, {"dtype-wire", "TYPE", "of reductions: bf16, f16, f32"});
  options.flag(f.main_grad, {"main-grad", "TYPE", "of accumulated gradients: bf16, f16, f32"});
  options.flag(f.slots, {1, 1024}, {"slots", "N", "leases of temporary gradients, recycled"});
  options.flag(f.keeps_gathered,
               {"no-reshard", "", "sharded weights stay whole between forward and backward"});
}

void add_constants(Options& options, Constants& c) {
  options.flag(c.node, {1, 1'000'000}, {"node", "G", "ranks a node"});
  options.flag(c.inner_us, {"inner-us", "T", "microseconds a hop inside a node [2]"});
  options.flag(c.outer_us, {"outer-us", "T", "microseconds a hop between nodes [5]"});
  options.flag(c.inner_gbs, {"inner-gbs", "B", "GB/s of a rank inside a node [450]"});
  options.flag(c.outer_gbs, {"outer-gbs", "B", "GB/s of a rank between nodes [50]"});
  options.flag(c.launch_us, {"launch-us", "T", "microseconds of an op that does nothing [3.5]"});
  options.flag(c.memory_gbs, {"memory-gbs", "B", "GB/s of a rank's memory [4270]"});
  options.flag(c.tflops, {"tflops", "F", "of products in 16 bits [776]"});
  options.flag(c.tflops_8bit, {"tflops-8bit", "F", "of products in 8 bits [1303]"});
}

void apply(const Constants& c, ModelPlanFlags& flags) {
  flags.network.node = static_cast<double>(c.node);
  const auto set = [](double& target, const std::optional<double>& value, double unit) {
    if (value) target = *value * unit;
  };
  set(flags.network.inner.alpha, c.inner_us, 1e-6);
  set(flags.network.outer.alpha, c.outer_us, 1e-6);
  set(flags.network.inner.bytes_per_second, c.inner_gbs, 1e9);
  set(flags.network.outer.bytes_per_second, c.outer_gbs, 1e9);
  set(flags.gpu.launch, c.launch_us, 1e-6);
  set(flags.gpu.bytes_per_second, c.memory_gbs, 1e9);
  set(flags.gpu.flops_16bit, c.tflops, 1e12);
  set(flags.gpu.flops_8bit, c.tflops_8bit, 1e12);
}

}  // namespace

ExitStatus plan_model_verb(Session& session, const Arguments& arguments) {
  ModelPlanFlags flags;
  Constants constants;
  OutputFile json;
  Options options({"plan", "--model MODEL --mesh AXES [flags]",
                   "a training step of a known model at any world size, op by op, and what it costs a rank"});
  add_model_flags(options, flags);
  add_constants(options, constants);
  options.flag(json.path, {"json", "FILE", "write the plan as JSON; - is standard output"});
  options.note(mesh_grammar());
  options.note("`shardcheck plan --help` is about scenarios, which are planned for all of their ranks.");
  if (!options.parse(arguments, session)) return ExitStatus::held;
  apply(constants, flags);
  require_writable(json, "--json");
  std::ostream& out = text_stream(session, json);
  const Terminal terminal = terminal_of(out);
  if (flags.strategy.empty()) {
    const auto compared = compare_strategies(flags);
    out << comparison_text(compared, flags, terminal);
    write(json, session, json.is_wanted() ? comparison_json(compared, flags) : "");
  } else {
    const ModelPlan plan = plan_model(flags);
    out << model_plan_text(plan, flags, terminal);
    write(json, session, json.is_wanted() ? model_plan_json(plan, flags) : "");
  }
  return ExitStatus::held;
}

}  // namespace shardcheck
