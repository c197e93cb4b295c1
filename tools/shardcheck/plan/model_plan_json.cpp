// The same for scripts: bytes, elements and seconds as numbers.
#include <nlohmann/json.hpp>

#include "tools/shardcheck/plan/model_plan.h"

namespace shardcheck {
namespace {

using nlohmann::ordered_json;

ordered_json network_json(const cost::Network& network) {
  const auto link = [](const cost::Link& l) {
    return ordered_json{{"alpha_seconds", l.alpha}, {"bytes_per_second", l.bytes_per_second}};
  };
  return {{"inner", link(network.inner)}, {"outer", link(network.outer)}, {"ranks_a_node", network.node}};
}

ordered_json gpu_json(const cost::Gpu& gpu) {
  return {{"launch_seconds", gpu.launch},
          {"bytes_per_second", gpu.bytes_per_second},
          {"flops_16bit", gpu.flops_16bit},
          {"flops_8bit", gpu.flops_8bit}};
}

ordered_json head_json(const ModelPlanFlags& flags) {
  return {{"command", "plan"},
          {"model", flags.model},
          {"microbatches", flags.microbatches},
          {"tokens", flags.tokens},
          {"storage", flags.storage},
          {"dtype_wire", flags.dtype_wire},
          {"main_grad", flags.main_grad},
          {"network", network_json(flags.network)},
          {"gpu", gpu_json(flags.gpu)}};
}

ordered_json memory_json(const cost::StepMemory& m) {
  return {{"weights", m.weights},   {"gradients", m.gradients}, {"optimizer", m.optimizer},
          {"kept", m.kept()},       {"staging", m.staging},     {"leases", m.leases},
          {"autograd", m.autograd}, {"gathered", m.gathered},   {"peak", m.peak()}};
}

ordered_json role_json(const PlanRole& role) {
  const cost::StepFigures& f = role.figures;
  return {{"ranks", role.ranks},
          {"elements", role.dense},
          {"expert_elements", role.experts},
          {"padding", role.padding},
          {"memory", memory_json(f.memory)},
          {"bytes_sent", f.sent},
          {"seconds", f.seconds},
          {"seconds_not_overlapped", f.serial},
          {"compute_seconds", f.busy[0]},
          {"collectives_seconds", f.busy[1]}};
}

ordered_json rows_json(const ModelPlan& plan) {
  ordered_json rows = ordered_json::array();
  for (const PlanRow& row : plan.rows) {
    rows.push_back({{"stream", cost::name_of(row.lane)},
                    {"op", cost::name_of(row.work)},
                    {"of", row.what},
                    {"times", row.times},
                    {"group", row.ranks},
                    {"elements", row.elements},
                    {"bytes_sent", row.sent},
                    {"bytes_touched", row.touched},
                    {"seconds", row.seconds},
                    {"reads", row.reads},
                    {"writes", row.writes}});
  }
  return rows;
}

ordered_json plan_json(const ModelPlan& plan) {
  ordered_json roles = ordered_json::array();
  for (const PlanRole& role : plan.roles) roles.push_back(role_json(role));
  return {{"strategy", plan.system->name},
          {"layout", plan.system->layout},
          {"mesh", to_text(plan.question.mesh)},
          {"ranks", plan.question.ranks()},
          {"routed", plan.routed},
          {"notes", plan.question.notes},
          {"ops", plan.ops},
          {"rows", rows_json(plan)},
          {"roles", std::move(roles)},
          {"closed_form",
           {{"strategy", cost::name_of(plan.closed.strategy)},
            {"bytes_kept", plan.closed.kept},
            {"bytes_sent", plan.closed.sent},
            {"collectives_seconds", plan.closed.collectives}}}};
}

std::string text_of(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string model_plan_json(const ModelPlan& plan, const ModelPlanFlags& flags) {
  ordered_json json = head_json(flags);
  json.update(plan_json(plan));
  return text_of(json);
}

std::string comparison_json(const std::vector<Compared>& compared, const ModelPlanFlags& flags) {
  ordered_json json = head_json(flags);
  for (const Compared& each : compared) {
    json["strategies"].push_back(
        each.plan ? plan_json(*each.plan)
                  : ordered_json{{"strategy", each.system->name}, {"refused", each.refusal}});
  }
  return text_of(json);
}

}  // namespace shardcheck
