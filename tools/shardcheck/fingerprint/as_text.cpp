#include "tools/shardcheck/fingerprint/as_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "properties/fingerprint/casts.h"
#include "tools/shardcheck/machine.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

/// A part of the report: facts whose subject begins with one of the words.
struct Section {
  std::string_view title;
  std::vector<std::string_view> prefixes;
  std::string_view stripped = "";  ///< words that its table leaves out

  bool has(const Fact& fact) const {
    return std::ranges::any_of(prefixes,
                               [&](std::string_view prefix) { return fact.subject.starts_with(prefix); });
  }
};

const std::vector<Section>& sections() {
  static const std::vector<Section> all = {
      {"accumulators of products", {"accumulator of "}, "accumulator of "},
      {"scales and alpha", {"alpha of ", "scales "}, "scales "},
      {"ends of products", {"end of ", "wgrad of "}, "end of "},
      {"casts", {"cast ", "copy "}},
      {"scaled casts", {"quantize ", "dequantize "}},
      {"reductions", {"all_reduce ", "reduce_scatter ", "all_gather ", "reductions"}},
      {"elementwise", {"add ", "scale ", "optimizer "}},
      {"random products", {"GEMMs of "}}};
  return all;
}

/// Subjects in which a fact has one value.
struct Row {
  std::string name, value, how;
  std::vector<std::string> subjects;
};

std::string short_subject(const Section& section, const std::string& subject) {
  return subject.starts_with(section.stripped) ? subject.substr(section.stripped.size()) : subject;
}

/// A row a value of a fact, facts in the order of their first.
std::vector<Row> rows_of(const Section& section, const std::vector<const Fact*>& facts) {
  std::vector<std::string> names;
  for (const Fact* fact : facts) {
    if (std::ranges::find(names, fact->name) == names.end()) names.push_back(fact->name);
  }
  std::vector<Row> rows;
  for (const std::string& name : names) {
    const auto first = std::ssize(rows);
    for (const Fact* fact : facts) {
      if (fact->name != name) continue;
      const auto same = std::find_if(rows.begin() + first, rows.end(), [&](const Row& row) {
        return row.value == fact->value && (fact->is_observed() || row.how == fact->how);
      });
      const bool is_new = same == rows.end();
      if (is_new) rows.push_back({name, fact->value, fact->how, {}});
      (is_new ? rows.back() : *same).subjects.push_back(short_subject(section, fact->subject));
    }
  }
  return rows;
}

/// The first few by name.
std::string joined(const std::vector<std::string>& subjects) {
  constexpr std::size_t kMost = 4;
  const std::size_t shown = subjects.size() <= kMost ? subjects.size() : kMost - 1;
  std::string all;
  for (std::size_t i = 0; i < shown; ++i) all += (all.empty() ? "" : "; ") + subjects[i];
  return shown == subjects.size() ? all : fmt::format("{}; and {} more", all, subjects.size() - shown);
}

/// Subjects of one name that hold everywhere are not listed.
std::string table_of(const Terminal& terminal, const Section& section,
                     const std::vector<const Fact*>& facts) {
  Table table({"fact", "value", "of what, and how it was seen"});
  std::string before;
  const std::vector<Row> rows = rows_of(section, facts);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const bool is_first = row.name != before;
    const bool is_only = is_first && (i + 1 == rows.size() || rows[i + 1].name != row.name);
    const std::string of = is_only && row.subjects.size() > 1 ? std::string("all") : joined(row.subjects);
    const std::string how = is_first || row.value.empty() ? ": " + row.how : "";
    table.row({is_first ? row.name : "",
               row.value.empty() ? Table::Cell{"not observed", Tone::faint} : Table::Cell{row.value},
               of + how});
    before = row.name;
  }
  return table.text(terminal);
}

/// "f32, bf16, f16 -> e4m3, nv_saturating" of three subjects.
std::string casts_in_words(const std::vector<std::string>& subjects) {
  std::string sources, rest;
  for (const std::string& subject : subjects) {
    const auto arrow = subject.find(" -> "), word = subject.find(' ') + 1;
    sources += (sources.empty() ? "" : ", ") + subject.substr(word, arrow - word);
    rest = subject.substr(arrow);
  }
  return sources + rest;
}

/// A row a kind of cast, a column a fact.
std::string table_of_casts(const Terminal& terminal, const std::vector<const Fact*>& facts) {
  struct Kind {
    std::vector<std::string> values, subjects;
    std::string destination;
  };
  std::vector<std::string> titles;
  std::vector<Kind> kinds;
  for (std::size_t i = 0; i < facts.size();) {
    const std::string& subject = facts[i]->subject;
    Kind kind{{}, {subject}, subject.substr(subject.find(" -> "))};
    titles.clear();
    for (; i < facts.size() && facts[i]->subject == subject; ++i) {
      if (facts[i]->name == cast_facts::kSubnormals) continue;
      titles.push_back(facts[i]->name);
      kind.values.push_back(facts[i]->value);
    }
    const auto same = std::ranges::find_if(kinds, [&](const Kind& other) {
      return other.values == kind.values && other.destination == kind.destination;
    });
    if (same == kinds.end()) {
      kinds.push_back(std::move(kind));
    } else {
      same->subjects.push_back(subject);
    }
  }
  titles.emplace_back("cast");
  Table table(titles);
  for (const Kind& kind : kinds) {
    std::vector<Table::Cell> cells(kind.values.begin(), kind.values.end());
    cells.emplace_back(casts_in_words(kind.subjects));
    table.row(std::move(cells));
  }
  return table.text(terminal);
}

std::string machine_text(const Terminal& terminal, const Fingerprint& fingerprint,
                         const std::vector<std::string>& versions) {
  const BackendInfo& machine = fingerprint.machine;
  std::string text = labelled(terminal, "backend", machine.name) +
                     labelled(terminal, "device", machine.device) +
                     labelled(terminal, "says it is", machine.profile);
  for (std::size_t i = 0; i < versions.size(); ++i)
    text += labelled(terminal, i == 0 ? "versions" : "", versions[i]);
  if (fingerprint.computed_by.empty()) return text;
  const auto by_library = std::ranges::count_if(fingerprint.computed_by, is_by_library);
  const auto all = std::ssize(fingerprint.computed_by);
  const std::string by = by_library == all
                             ? "all by cuBLASLt"
                             : fmt::format("{} by cuBLASLt, the others by our own kernels", by_library);
  return text + labelled(terminal, "products", fmt::format("{}, {}", counted(all, "shape"), by));
}

}  // namespace

std::string fingerprint_text(const Terminal& terminal, const Fingerprint& fingerprint,
                             const std::vector<std::string>& versions) {
  std::string text = machine_text(terminal, fingerprint, versions);
  for (const Section& section : sections()) {
    std::vector<const Fact*> facts;
    for (const Fact& fact : fingerprint.facts) {
      if (section.has(fact)) facts.push_back(&fact);
    }
    if (facts.empty()) continue;
    text += "\n" + paint(terminal, Tone::strong, section.title) + "\n";
    text += section.title == "casts" ? table_of_casts(terminal, facts) : table_of(terminal, section, facts);
  }
  const auto observed = std::ranges::count_if(fingerprint.facts, &Fact::is_observed);
  return text +
         fmt::format("\n{} of {} observed\n", observed, counted(std::ssize(fingerprint.facts), "fact"));
}

std::string differences_text(const Terminal& terminal, const std::vector<FactDifference>& differences) {
  Table table({"of", "fact", "in A", "in B"});
  const auto value = [](const std::string& text) {
    return text.empty() ? Table::Cell{"not observed", Tone::faint} : Table::Cell{text};
  };
  for (const FactDifference& each : differences)
    table.row({each.subject, each.name, value(each.a), value(each.b)});
  return table.text(terminal);
}

}  // namespace shardcheck
