// shardcheck conform: recorded results of chips and libraries, computed again. A kind of data is recognised
// by its content; conform/ has one reader a kind.
#include "tools/shardcheck/conform/conform.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>

#include "core/error.h"
#include "tools/shardcheck/interrupt.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/output_file.h"
#include "tools/shardcheck/progress.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/verbs.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

namespace fs = std::filesystem;

/// The readers are asked in turn. A reader takes files that end like this only.
struct Reader {
  std::string_view ending;
  std::optional<ConformReport> (*read)(const fs::path& file);
};
constexpr Reader kReaders[] = {{".json", conform_gemm},       {".json", conform_quantised},
                               {".json", conform_delayed},    {".json", conform_dot_products},
                               {".csv", conform_casts},       {".csv", conform_scales},
                               {".bin", conform_cast_planes}, {".jsonl", conform_layouts}};

/// The files under the names, in sorted order. Throws bad_input for a name that is nothing.
std::vector<fs::path> files_under(const std::vector<std::string>& names) {
  std::vector<fs::path> files;
  for (const std::string& name : names) {
    std::error_code error;
    if (!fs::exists(name, error)) throw bad_input(name, "there is no such file or folder");
    if (!fs::is_directory(name, error)) {
      files.emplace_back(name);
      continue;
    }
    for (fs::recursive_directory_iterator entry(name, error), end; !error && entry != end;
         entry.increment(error)) {
      std::error_code ignored;
      if (entry->is_regular_file(ignored)) files.push_back(entry->path());
    }
    if (error) throw bad_input(name, "cannot be read: " + error.message());
  }
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

std::optional<ConformReport> read(const fs::path& file) {
  for (const Reader& reader : kReaders) {
    if (file.extension() != reader.ending) continue;
    if (auto report = reader.read(file)) return report;
  }
  return std::nullopt;
}

std::string text_of(const Terminal& terminal, const ConformReport& report) {
  const bool agrees = report.disagreements.empty();
  const std::string unsupported =
      report.unsupported > 0 ? fmt::format(", {} not yet supported", grouped(report.unsupported)) : "";
  std::string text = fmt::format(
      "{}: {}, {}, {} agree{}{}\n", report.file, report.kind, counted(report.cases, "case"),
      grouped(report.agreements), unsupported,
      agrees ? ""
             : paint(terminal, Tone::bad,
                     fmt::format(", {}", counted(std::ssize(report.disagreements), "disagreement"))));
  for (const Disagreement& each : report.disagreements)
    text += labelled(terminal, "DISAGREES", fmt::format("{}: {}", each.case_id, each.sentence));
  return text;
}

std::string json_of(const std::vector<ConformReport>& reports, const std::vector<std::string>& strangers) {
  using nlohmann::ordered_json;
  ordered_json json = {
      {"command", "conform"}, {"files", ordered_json::array()}, {"not_conformance_data", strangers}};
  for (const ConformReport& report : reports) {
    ordered_json file = {{"file", report.file},
                         {"kind", report.kind},
                         {"cases", report.cases},
                         {"agreements", report.agreements},
                         {"unsupported", report.unsupported},
                         {"disagreements", ordered_json::array()}};
    for (const Disagreement& each : report.disagreements)
      file["disagreements"].push_back({{"case", each.case_id}, {"sentence", each.sentence}});
    json["files"].push_back(std::move(file));
  }
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

/// The strangers in one line, and how many where they are many.
std::string strangers_text(const std::vector<std::string>& strangers) {
  constexpr std::size_t kMostNames = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(kMostNames, strangers.size()); ++i)
    names += (i == 0 ? "" : ", ") + strangers[i];
  const auto more = std::ssize(strangers) - static_cast<std::ptrdiff_t>(kMostNames);
  return fmt::format("{}, not conformance data: {}{}", counted(std::ssize(strangers), "file"), names,
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

ExitStatus conform_verb(Session& session, const Arguments& arguments) {
  std::vector<std::string> names;
  OutputFile json;
  Options options(
      {"conform", "FILE|FOLDER... [flags]", "recompute recorded data and name every disagreement"});
  options.arguments(names, {"FILE", "",
                            "recorded GEMMs (.json with its .bin), shard layouts (.jsonl), casts (.csv, "
                            ".bin), scales or quantisations (.csv, .json), or folders of them"});
  options.flag(json.path, {"json", "FILE", "write the result as JSON; - is standard output"});
  options.note("Exit status 1 when anything disagrees, 2 when a file is damaged or nothing was recognised.");
  if (!options.parse(arguments, session)) return ExitStatus::held;
  if (names.empty())
    throw bad_input("shardcheck conform", "FILE is missing; `shardcheck conform --help` says more");
  require_writable(json, "--json");

  std::ostream& out = text_stream(session, json);
  const Terminal terminal = terminal_of(out);
  const auto files = files_under(names);
  std::vector<ConformReport> reports;
  std::vector<std::string> strangers;
  std::int64_t damaged = 0;
  Progress progress(session.err);
  for (const fs::path& file : files) {
    if (interrupt_flag()) break;
    progress.show({file.filename().string(),
                   static_cast<double>(reports.size() + strangers.size()) / static_cast<double>(files.size()),
                   ""});
    try {
      auto report = read(file);
      progress.clear();
      if (report) {
        out << text_of(terminal, *report) << std::flush;
        reports.push_back(*std::move(report));
      } else {
        strangers.push_back(file.string());
      }
    } catch (const Error& error) {
      progress.clear();
      session.err << "shardcheck: " << error.what() << "\n";
      ++damaged;
    }
  }
  progress.clear();
  ConformReport sum;
  std::int64_t disagreements = 0;
  for (const ConformReport& report : reports) {
    sum.cases += report.cases;
    sum.agreements += report.agreements;
    sum.unsupported += report.unsupported;
    disagreements += std::ssize(report.disagreements);
  }
  if (!strangers.empty()) out << strangers_text(strangers) << "\n";
  const bool agrees = disagreements == 0 && damaged == 0;
  out << fmt::format("{}: {} in {}, {} agree, {} not yet supported, {}{}{}\n",
                     paint(terminal, agrees ? Tone::good : Tone::bad,
                           disagreements > 0 ? "BROKEN"
                           : agrees          ? "held"
                                             : "damaged"),
                     counted(sum.cases, "case"), counted(std::ssize(reports), "file"),
                     grouped(sum.agreements), grouped(sum.unsupported),
                     counted(disagreements, "disagreement"),
                     damaged > 0 ? fmt::format(", {} damaged", counted(damaged, "file")) : "",
                     interrupt_flag() ? ", interrupted" : "");
  if (json.is_wanted()) write(json, session, json_of(reports, strangers));
  if (disagreements > 0) return ExitStatus::broken;
  if (damaged > 0) return ExitStatus::bad_input;
  if (interrupt_flag()) return ExitStatus::interrupted;
  if (reports.empty()) throw bad_input(names.front(), "no recorded GEMMs or layouts were recognised");
  return ExitStatus::held;
}

}  // namespace shardcheck
