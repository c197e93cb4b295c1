#include "properties/redesigns.h"

#include "properties/evidence.h"
#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

struct Design {
  std::string id;
  WriteMode mode;
  FirstMicrobatch driver;
};

std::vector<Design> designs() {
  std::vector<Design> all = {{"te-module/none", WriteMode::te_module, FirstMicrobatch::none},
                             {"te-module/index", WriteMode::te_module, FirstMicrobatch::index},
                             {"te-module/armed", WriteMode::te_module, FirstMicrobatch::armed},
                             {"te-ops", WriteMode::te_ops, FirstMicrobatch::none}};
  for (WriteMode mode : {WriteMode::r1, WriteMode::r2, WriteMode::r3, WriteMode::r4, WriteMode::r5,
                         WriteMode::r6, WriteMode::r7, WriteMode::r8}) {
    all.push_back({std::string(name_of(mode)), mode, FirstMicrobatch::none});
  }
  return all;
}

/// The owner of a persistent destination zeroes it (Z) or does not (UD); a temporary one begins undefined
/// (UD) unless the owner fills it (Z), which is what R6 is. R4 is the design whose owner never zeroes; R1,
/// R2, R3 and R6 are designs whose owner always does, so they never meet an undefined persistent buffer.
bool owner_can_give(const Design& design, bool persistent, const std::string& touched) {
  if (design.mode == WriteMode::r4) return persistent && touched != "Z";
  const bool always_zeroes = design.mode == WriteMode::r1 || design.mode == WriteMode::r2 ||
                             design.mode == WriteMode::r3 || design.mode == WriteMode::r6;
  if (persistent) return touched != "UD" || !always_zeroes;
  return touched == "A" || (touched == "Z") == (design.mode == WriteMode::r6);
}

/// Two ranks, two microbatches, two steps, one weight. The cell's uses stand in its microbatch; `A` is made
/// by another op that writes main_grad rightly before them or, in a later microbatch of a persistent buffer,
/// by the weight's own earlier use.
Scenario scenario_of(const Design& design, const RedesignCell& cell) {
  Scenario s;
  const bool persistent = cell.destination == "persistent";
  s.strategy = persistent ? Strategy::megatron_ddp : Strategy::fsdp_optim_grads;
  s.write_mode = design.mode;
  s.first_microbatch = design.driver;
  s.execution = cell.mode == "eager"     ? Execution::eager
                : cell.mode == "delayed" ? Execution::delayed
                                         : Execution::graph;
  s.zeroing = !(persistent && cell.touched == "UD");
  s.parameters = {{.name = "w", .shape = {4, 32}}};
  const bool first = cell.microbatch == "first";
  const bool written_before = cell.touched == "A";
  // Forward order; backward visits it in reverse, so the other op comes last here.
  for (int use = 0; use < cell.uses; ++use) s.uses.push_back({0, Producer::fused, -1});
  const bool by_itself = persistent && !first;
  if (written_before && !by_itself) s.uses.push_back({0, Producer::other, -1});
  if (s.uses.empty()) {
    s.uses.push_back({0, Producer::fused, -1});
    s.silent.push_back({0, -1, -1, first ? 0 : 1});
  } else if (!first && !written_before) {
    s.silent.push_back({0, -1, -1, 0});  // unused in the first microbatch, then used
  }
  return s;
}

void judge_cell(const Design& design, Backend& backend, RedesignCell& cell) {
  const bool persistent = cell.destination == "persistent";
  const bool has_write = cell.uses > 0;
  // R7 has no fused write to delay or capture: it takes part in the eager table only.
  const bool runs = design.mode != WriteMode::r7 || cell.mode == "eager";
  // Without a use nothing meets what another op has left, so content A adds no cell.
  cell.applicable = runs && owner_can_give(design, persistent, cell.touched) &&
                    (has_write || cell.touched != "A") && (has_write || cell.mode == "eager");
  if (!cell.applicable) return;
  cell.scenario = scenario_of(design, cell);
  validate(cell.scenario, "redesigns");
  const Evidence evidence = examine(backend, cell.scenario, Poison::quiet_nan);
  cell.sound = evidence.findings.empty();
  if (cell.sound) return;
  cell.clause = evidence.findings.front().clause;
  cell.sentence = evidence.findings.front().sentence;
}

}  // namespace

std::vector<RedesignReport> redesigns(Backend& backend) {
  std::vector<RedesignReport> reports;
  for (const Design& design : designs()) {
    RedesignReport report{design.id, std::string(describe(design.mode)), {}};
    if (design.driver != FirstMicrobatch::none) {
      report.description += design.driver == FirstMicrobatch::index ? " (driven by the microbatch index)"
                                                                    : " (armed for the first call of a step)";
    }
    for (const char* mode : {"eager", "delayed", "graph"}) {
      for (const char* destination : {"persistent", "temporary"}) {
        for (const char* touched : {"Z", "UD", "A"}) {
          for (int uses : {0, 1, 2}) {
            for (const char* microbatch : {"first", "later"}) {
              RedesignCell cell{destination, touched, uses, microbatch, mode};
              judge_cell(design, backend, cell);
              report.cells.push_back(std::move(cell));
            }
          }
        }
      }
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace shardcheck
