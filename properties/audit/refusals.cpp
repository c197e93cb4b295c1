#include "properties/audit/refusals.h"

#include <algorithm>

namespace shardcheck {
namespace {

struct Known {
  std::string_view adapter, text;
  bool (*fits)(const AuditCase&);
  std::string_view meaning;
};

bool always(const AuditCase&) {
  return true;
}

bool defers_outer_reduction(const AuditCase& c) {
  return c.adapter.replicas > 1 && c.adapter.all_reduce == SyncOn::last;
}

bool has_silent_weight(const AuditCase& c) {
  return !c.scenario.silent.empty();
}

bool has_no_unit(const AuditCase& c) {
  return std::ranges::all_of(c.scenario.parameters, [](const ScenarioParameter& p) { return p.unit == 0; });
}

// Each was reproduced; the numbers are of public reports.
constexpr Known kKnown[] = {
    {"fsdp2", "has no attribute '_unsharded_param'", has_silent_weight,
     "PyTorch 2.11 accumulates without reducing and looks at a unit that has not run on this rank yet, "
     "because its "
     "weights are silent there (pytorch/pytorch#194058); newer ones go on and issue other collectives than "
     "the "
     "other ranks"},
    {"fsdp2", "must match the size of tensor", defers_outer_reduction,
     "the partial sums of two calls of one unit meet before the outer axis is reduced and are of different "
     "weights; "
     "where these have one size PyTorch 2.11 adds them without a word, and 2.15 is right"},
    {"megatron-fsdp", "ZeroDivisionError", has_no_unit,
     "no weight lies in a unit, and Megatron-FSDP divides by the number of units' weights"},
    {"megatron-fsdp", "is invalid for input of size", always,
     "Megatron-FSDP wants the weights of a unit to have the same number of columns"},
};

}  // namespace

std::string_view meaning_of(const AuditCase& audited, std::string_view exception) {
  for (const Known& known : kKnown) {
    if (audited.adapter.name == known.adapter && exception.find(known.text) != exception.npos &&
        known.fits(audited))
      return known.meaning;
  }
  return "";
}

}  // namespace shardcheck
