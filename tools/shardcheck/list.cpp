// shardcheck list: what there is, one table a subject.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "backends/faulty/faults.h"
#include "backends/registry.h"
#include "core/contract/clauses.h"
#include "core/error.h"
#include "core/layout/models/named_models.h"
#include "core/layout/registry.h"
#include "core/numerics/profile.h"
#include "properties/layout_laws/quirks.h"
#include "properties/layout_laws/zoo.h"
#include "properties/property.h"
#include "sim/faults/zoo.h"
#include "sim/owners/rows.h"
#include "sim/producers/catalogue.h"
#include "sim/scenario/examples.h"
#include "tools/shardcheck/nearest.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/verbs.h"
#include "tools/shardcheck/wording.h"
#include "tools/shardcheck/zoo_bugs.h"

namespace shardcheck {
namespace {

Table list_properties() {
  Table table({"property", "clauses", "what holds"});
  for (const Property& property : properties())
    table.row({property.id, clauses_text(property.clauses), property.sentence});
  return table;
}

Table list_clauses() {
  Table table({"clause", "title", "observed by", "source", "what must hold"});
  for (const Clause& clause : clauses())
    table.row({clause.id, clause.title, name_of(clause.observer), clause.source, clause.sentence});
  return table;
}

Table list_backend_table() {
  Table table({"backend", "available", "what it is"});
  for (const BackendEntry& entry : list_backends()) {
    const std::string why = entry.available ? "" : fmt::format(" ({})", entry.reason);
    table.row({entry.name,
               entry.available ? Table::Cell{"yes", Tone::good} : Table::Cell{"no", Tone::warning},
               entry.description + why});
  }
  return table;
}

Table list_faults() {
  Table table({"fault", "clause", "source", "what breaks"});
  for (const Fault& fault : zoo()) table.row({fault.id, fault.clause, fault.source, fault.sentence});
  return table;
}

Table list_layout_faults() {
  Table table({"fault", "law", "layout", "what breaks"});
  for (const laws::LayoutFault& fault : laws::layout_zoo())
    table.row({fault.id, fault.law, fault.model().layout, fault.title});
  return table;
}

Table list_fp8_faults() {
  Table table({"fault", "law", "source", "what breaks"});
  for (const Bug& bug : all_bugs()) {
    if (is_of_fp8(bug)) table.row({bug.id, bug.clause, bug.source, bug.sentence});
  }
  return table;
}

Table list_scenarios() {
  Table table({"scenario", ">elements", "what it is"});
  for (const std::string& name : example_names()) {
    const auto scenario = example(name);
    std::int64_t elements = 0;
    for (const ScenarioParameter& parameter : scenario->parameters) elements += parameter.numel();
    table.row({name, grouped(elements), describe(*scenario)});
  }
  return table;
}

Table list_protocols() {
  Table table({"protocol", "how it chooses beta"});
  for (int mode = 0; mode < kWriteModes; ++mode) {
    const auto each = static_cast<WriteMode>(mode);
    table.row({name_of(each), describe(each)});
  }
  return table;
}

Table list_numeric_fault_table() {
  Table table({"backend", "clauses", "what goes wrong"});
  for (const NumericFault& fault : list_numeric_faults())
    table.row({fmt::format("faulty:{}", fault.name), fault.clauses, fault.sentence});
  return table;
}

Table list_models() {
  Table table({"model", "what it is"});
  for (const layout::NamedModel& model : layout::named_models()) table.row({model.name, model.description});
  return table;
}

/// Which chips' arithmetic is known, and how.
Table list_profiles() {
  Table table({"profile", "evidence", "16-bit operands", "FP8, fast", "FP8, promoted"});
  const auto shown = [](const Accumulator& accumulator) {
    return accumulator.exists() ? fmt::format("n {}, F {}, P {}", accumulator.products_per_step,
                                              accumulator.alignment_bits, accumulator.kept_bits)
                                : std::string("no rule");
  };
  for (const ArithmeticProfile* profile : kProfiles) {
    if (profile->summation == Summation::exact) {
      table.row({profile->name, profile->evidence, "exact", "exact", "exact"});
      continue;
    }
    const bool is_f16_only = profile->operands == SixteenBitOperands::f16;
    table.row({profile->name,
               profile->evidence == "published" ? "published, not measured here" : profile->evidence,
               shown(profile->sixteen_bit) + (is_f16_only ? ", f16 only" : ""), shown(profile->fp8_fast),
               shown(profile->fp8_promoted)});
  }
  return table;
}

Table list_layouts() {
  Table table({"layout", "section", "what it is"});
  for (const layout::NamedLayout& each : layout::named_layouts())
    table.row({each.name, each.section, each.description});
  return table;
}

/// Where a system breaks a law by its own code, with the smallest model that shows it.
Table list_quirks() {
  Table table({"layout", "law", "source", "where it shows, and the smallest model that shows it"});
  for (const laws::Quirk& quirk : laws::quirks())
    table.row({quirk.layout, quirk.law, quirk.reference,
               fmt::format("{}: {}", quirk.condition, to_text(quirk.smallest()))});
  return table;
}

Table list_owners() {
  Table table({"owner", "rows", "what it keeps, and when it reduces (wgrad)"});
  for (int i = 0; i < kStrategies; ++i) {
    const auto strategy = static_cast<Strategy>(i);
    const auto count = std::ranges::count(owner_rows(), strategy, &OwnerRow::strategy);
    table.row({name_of(strategy), fmt::format("{}", count), describe(strategy)});
  }
  return table;
}

Table list_owner_rows() {
  Table table({"owner", "state", "event", "effect"});
  for (const OwnerRow& row : owner_rows())
    table.row({name_of(row.strategy), row.state, row.event, row.effect});
  return table;
}

Table list_producers() {
  Table table({"producer", "what it is", "in a scenario", "what it does"});
  for (const ProducerKind& kind : producer_kinds())
    table.row({kind.id, kind.what, kind.scenario, kind.remark});
  return table;
}

struct Subject {
  std::string_view name;
  std::string_view summary;
  Table (*table)();
};

constexpr Subject kSubjects[] = {
    {"properties", "laws that check runs, with the clauses that each claims", list_properties},
    {"clauses", "numbered sentences of the contract, and what observes a breach", list_clauses},
    {"backends", "machines that execute ops: for --backend", list_backend_table},
    {"faults", "known bugs of the zoo: for zoo, and the field fault of a scenario", list_faults},
    {"layout-faults", "known bugs of layouts and checkpoints: for zoo", list_layout_faults},
    {"fp8-faults",
     "known bugs of formats, casts, scales, recipes, products and sharded quantisation: for zoo",
     list_fp8_faults},
    {"layouts", "shard layouts of real systems: for layout --layout", list_layouts},
    {"models", "models whose shapes are known: for layout", list_models},
    {"quirks", "laws that a system breaks by its own code, with the smallest model", list_quirks},
    {"profiles", "arithmetic of chips' matrix products, measured or published: for --profile", list_profiles},
    {"scenarios", "examples with the shapes of real models: for check --scenario", list_scenarios},
    {"owners", "who keeps the gradients: the field owner.strategy of a scenario", list_owners},
    {"owner-rows", "rows of the owners' state machines, each taken by the property owner-rows",
     list_owner_rows},
    {"producers", "kinds of producers of wgrad 4.1: the field uses[].producer of a scenario, and others",
     list_producers},
    {"protocols", "write modes: who chooses beta, today and by every redesign", list_protocols},
    {"numeric-faults", "what a kernel or a collective gets wrong: for --backend faulty:NAME",
     list_numeric_fault_table},
};

Table overview() {
  Table table({"subject", "what `shardcheck list SUBJECT` shows"});
  for (const Subject& subject : kSubjects) table.row({subject.name, subject.summary});
  return table;
}

const Subject& subject_named(const std::string& name) {
  std::vector<std::string> known;
  for (const Subject& subject : kSubjects) {
    if (subject.name == name) return subject;
    known.emplace_back(subject.name);
  }
  throw bad_input("shardcheck list", unknown_name({name, "subject", std::move(known), ""}));
}

}  // namespace

ExitStatus list_verb(Session& session, const Arguments& arguments) {
  std::vector<std::string> names;
  Options options({"list", "[SUBJECT...]", "what there is, one table a subject"});
  std::string known;
  for (const Subject& subject : kSubjects)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", subject.name);
  options.arguments(names, {"SUBJECT", "", known});
  if (!options.parse(arguments, session)) return ExitStatus::held;
  const Terminal terminal = terminal_of(session.out);
  if (names.empty()) session.out << overview().text(terminal);
  std::vector<const Subject*> subjects;
  for (const std::string& name : names) subjects.push_back(&subject_named(name));
  for (const Subject* subject : subjects)
    session.out << (subject == subjects.front() ? "" : "\n") << subject->table().text(terminal);
  return ExitStatus::held;
}

}  // namespace shardcheck
