// shardcheck check: kept failures first, then every property on random, enumerated or given scenarios. What
// it finds is a CheckResult; report.h, json_report.h and junit_report.h write it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ostream>
#include <thread>

#include "core/error.h"
#include "properties/diagnosis/diagnosis.h"
#include "properties/runner.h"
#include "sim/scenario/json.h"
#include "tools/shardcheck/backend_choice.h"
#include "tools/shardcheck/check_result.h"
#include "tools/shardcheck/failures.h"
#include "tools/shardcheck/given_scenario.h"
#include "tools/shardcheck/interrupt.h"
#include "tools/shardcheck/json_report.h"
#include "tools/shardcheck/junit_report.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/output_file.h"
#include "tools/shardcheck/probing.h"
#include "tools/shardcheck/progress.h"
#include "tools/shardcheck/replaying.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/selection.h"
#include "tools/shardcheck/verbs.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

/// Over all properties. Under a minute on two cores.
constexpr std::int64_t kDefaultCases = 120'000;
/// The same where every collective of a case and its verdict take round trips.
constexpr std::int64_t kDefaultCasesTogether = 4'000;
/// More than any run reaches: --time ends it.
constexpr std::int64_t kEndless = std::int64_t{1} << 40;
constexpr std::int64_t kMostThreads = 1024;

struct CheckOptions {
  BackendChoice backend;
  std::vector<std::string> properties;
  std::uint64_t seed = 1;
  std::int64_t cases = 0;  ///< 0: not given
  std::optional<double> seconds;
  std::string scenario;
  bool probes = false;
  std::int64_t exhaustive = 0;  ///< 0: not given
  std::int64_t threads = std::max(1u, std::thread::hardware_concurrency());
  OutputFile json, junit;
};

/// False when only --help was asked for.
bool parse(CheckOptions& check, const Arguments& arguments, Session& session) {
  Options options({"check", "[PROPERTY...] [flags]", "run the properties on random training steps"});
  options.arguments(check.properties,
                    {"PROPERTY", "", "ids of properties or clauses; all when none is given"});
  options.flag(check.properties, {"property", "ID", "the same as an argument; repeatable"});
  add_flags(options, check.backend);
  options.seed(check.seed);
  options.flag(check.cases, {1, kEndless},
               {"cases", "N",
                fmt::format("cases over all properties [{}, in several processes {}, or until --time]",
                            kDefaultCases, kDefaultCasesTogether)});
  options.flag(check.seconds, {"time", "SECONDS", "stop after this time, whatever the number of cases"});
  options.flag(check.scenario, {"scenario", "FILE",
                                "one case instead of random ones: a JSON file, or an example by name "
                                "(`shardcheck list scenarios`)"});
  options.flag(check.probes,
               {"probe", "",
                "with --scenario: no property, but the weight with which every contribution enters, "
                "from one-hot runs"});
  options.flag(
      check.exhaustive, {1, 8},
      {"exhaustive", "N", "every scenario up to N ranks, microbatches and uses, instead of random ones"});
  options.flag(check.threads, {1, kMostThreads},
               {"threads", "N", "cases that run side by side; 1 in several processes"});
  options.flag(check.json.path, {"json", "FILE", "write the result as JSON; - is standard output"});
  options.flag(check.junit.path, {"junit", "FILE", "write the result as JUnit XML; - is standard output"});
  options.note(
      "A failure is shrunk, kept under .shardcheck/failures, and run first the next time. Ctrl-C ends "
      "the search early and prints what was found: exit status 1 when something is broken, else 130.");
  if (!options.parse(arguments, session)) return false;
  if (!check.scenario.empty() && check.exhaustive > 0)
    throw bad_input("--exhaustive", "does not go with --scenario, which is one scenario");
  if (check.probes && check.scenario.empty())
    throw bad_input("--probe", "needs one scenario; give --scenario FILE");
  if (check.probes && (!check.properties.empty() || check.exhaustive > 0 || check.junit.is_wanted()))
    throw bad_input("--probe", "asks no property: leave properties, --exhaustive and --junit out");
  if (check.json.is_standard_output() && check.junit.is_standard_output())
    throw bad_input("--junit -", "--json writes to standard output already; give one of them a file");
  if (session.processes.is_first()) {
    require_writable(check.json, "--json");
    require_writable(check.junit, "--junit");
  }
  return true;
}

/// The processes of the launch come together, and what is random is what process 0 drew.
void begin_together(CheckOptions& check, Session& session) {
  meet(session, check.backend);
  if (!session.processes.are_several()) return;
  check.threads = 1;
  if (check.cases == 0 && !check.seconds) check.cases = kDefaultCasesTogether;
  check.seed = std::stoull(session.processes.of_first(std::to_string(check.seed)));
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::optional<Counterexample> given_in(const CheckOptions& options) {
  if (options.scenario.empty()) return std::nullopt;
  return case_named(options.scenario);
}

/// A given case goes to the properties of its kind, and what is enumerated are training steps.
std::vector<const Property*> selection_of(const CheckOptions& options,
                                          const std::optional<Counterexample>& given) {
  if (given) return properties_for(*given, options.properties);
  if (options.exhaustive > 0) return properties_for(Counterexample{}, options.properties);
  return selected_properties(options.properties);
}

/// What is run.
struct Selection {
  std::optional<Counterexample> given;
  std::vector<const Property*> properties;
};

/// One run of the verb.
class Check {
 public:
  Check(const CheckOptions& options, const Selection& selection, Session& session)
      : options_(options),
        session_(session),
        out_(text_stream(session, options.json.is_standard_output() ? options.json : options.junit)),
        terminal_(terminal_of(out_)),
        given_(selection.given),
        selected_(selection.properties),
        widths_(widths_of(selected_)),
        make_backend_(factory_of(options.backend, session.processes)),
        progress_(session.err) {
    result_.backend = options.backend;
    result_.seed = options.seed;
    result_.is_search = options.scenario.empty();
  }

  ExitStatus run() {
    if (result_.is_search) run_kept();
    for (std::size_t i = 0; i < selected_.size(); ++i) {
      if (is_interrupted()) {
        result_.skipped.emplace_back(selected_[i]->id);
      } else {
        run_property(i);
      }
    }
    result_.is_interrupted = is_interrupted();
    result_.seconds = seconds_since(start_);
    out_ << verdict_line(terminal_, result_) << std::flush;
    if (session_.processes.is_first()) {
      write(options_.json, session_, options_.json.is_wanted() ? json_report(result_) : "");
      write(options_.junit, session_, options_.junit.is_wanted() ? junit_report(result_) : "");
    }
    if (!is_folder_writable_) return ExitStatus::machine_cannot;
    return exit_of(result_);
  }

 private:
  bool is_interrupted() { return session_.processes.anywhere(interrupt_flag()); }

  void run_kept() {
    std::int64_t elsewhere = 0;
    for (const KeptFailure& each : kept_by_first(folder_, session_.processes)) {
      if (is_interrupted()) return;
      if (!each.name.backend.empty() && each.name.backend != label_of(options_.backend)) {
        ++elsewhere;
      } else {
        run_kept(each);
      }
    }
    if (elsewhere > 0)
      out_ << fmt::format("{} of another backend not run again (.shardcheck/failures)\n",
                          counted(elsewhere, "kept failure"));
  }

  void run_kept(const KeptFailure& kept) {
    KeptResult outcome{.file = kept.file.string()};
    try {
      const std::optional<Counterexample> failing = kept_case(kept.file);
      if (!failing) return;  // it stays where it is, for its owner to look at
      std::vector<std::string> names;
      if (!kept.name.property.empty()) names.push_back(kept.name.property);
      outcome.findings = findings_of(properties_for(*failing, names), *failing, *make_backend_());
      const std::string reproduce = reproduce_text(outcome.file, options_.backend);
      for (Finding& finding : outcome.findings) finding.reproduce = reproduce;
      if (!outcome.findings.empty()) {
        out_ << fmt::format("kept failure {}: {}\n", outcome.file,
                            paint(terminal_, Tone::bad, "still BROKEN"))
             << findings_text(terminal_, outcome.findings)
             << labelled_command(terminal_, "reproduce", reproduce);
      } else if (session_.processes.is_first()) {
        outcome.moved_to = folder_.set_aside(kept.file).string();
        out_ << fmt::format("kept failure {}: {}, moved to {}\n", outcome.file,
                            paint(terminal_, Tone::good, "mended"), outcome.moved_to);
      }
    } catch (const Error& error) {
      if (session_.processes.transport() != nullptr) throw;
      complain(error);
      if (error.kind() == ErrorKind::bad_input) return;
    }
    out_ << std::flush;
    result_.kept.push_back(std::move(outcome));
  }

  /// The case in a file of process 0; nothing, and a complaint, where there is none.
  std::optional<Counterexample> kept_case(const std::filesystem::path& file) {
    std::string json;
    if (session_.processes.is_first()) {
      try {
        json = to_json(case_in(file.string()));
      } catch (const Error& error) {
        complain(error);
      }
    }
    json = session_.processes.of_first(json);
    if (json.empty()) return std::nullopt;
    return counterexample_from_json(json, file.string());
  }

  RunOptions run_options(std::size_t index) {
    RunOptions run{.seed = options_.seed, .threads = static_cast<std::int32_t>(options_.threads)};
    run.make_backend = make_backend_;
    run.stop = &interrupt_flag();
    if (session_.processes.are_several())
      run.anywhere = [this](bool here) { return session_.processes.anywhere(here); };
    const std::int64_t endless_or_default = options_.seconds ? kEndless : kDefaultCases;
    const std::int64_t cases = options_.cases > 0 ? options_.cases : endless_or_default;
    // Cut at the sums of shares, so that the cases of all properties add up.
    const std::int64_t all = shares_of(selected_.size()), before = shares_of(index);
    const auto end_of = [&](std::int64_t shares) {
      return cases / all * shares + cases % all * shares / all;
    };
    run.cases = std::max<std::int64_t>(1, end_of(shares_of(index + 1)) - end_of(before));
    // What one property leaves of its time goes to those behind it.
    if (options_.seconds)
      run.seconds = std::max(0.0, *options_.seconds - seconds_since(start_)) *
                    static_cast<double>(selected_[index]->share) / static_cast<double>(all - before);
    return run;
  }

  /// Of the first `count` selected properties.
  std::int64_t shares_of(std::size_t count) const {
    std::int64_t shares = 0;
    for (std::size_t i = 0; i < count; ++i) shares += selected_[i]->share;
    return shares;
  }

  void run_property(std::size_t index) {
    const Property& property = *selected_[index];
    RunOptions run = run_options(index);
    const auto start = std::chrono::steady_clock::now();
    run.progress = [&](std::int64_t done) { show(index, run, done, seconds_since(start)); };
    show(index, run, 0, 0);
    PropertyResult outcome{.property = &property};
    if (const PropertyResult* same = asked_already(property)) {
      outcome = *same;
      outcome.property = &property;
      outcome.report.seconds = 0;
    } else if (given_) {
      outcome.report = run_one(property, *given_, run);
      outcome.report.missing.clear();
    } else if (options_.exhaustive > 0) {
      outcome.report = run_exhaustive(property, static_cast<std::int32_t>(options_.exhaustive), run);
    } else {
      outcome.report = run_random(property, run);
    }
    progress_.clear();
    if (outcome.report.failure && outcome.reproduce.empty()) keep(outcome);
    out_ << property_line(terminal_, outcome, widths_);
    if (outcome.report.failure) tell(outcome);
    out_ << std::flush;
    result_.properties.push_back(std::move(outcome));
  }

  /// Many properties ask one examination. A given scenario, which may be a real model, is examined once.
  const PropertyResult* asked_already(const Property& property) const {
    const auto same = std::ranges::find_if(result_.properties, [&](const PropertyResult& each) {
      return each.property->check == property.check && each.property->judge == property.judge;
    });
    return given_ && same != result_.properties.end() ? &*same : nullptr;
  }

  /// The failure in full, or, where an earlier property was broken by the same finding, a line that says so.
  void tell(const PropertyResult& outcome) {
    const auto& findings = outcome.report.failure->findings;
    const std::string head = findings.empty() ? "" : headline(findings.front());
    const auto earlier = std::ranges::find_if(result_.properties, [&](const PropertyResult& each) {
      return each.report.failure && !each.report.failure->findings.empty() &&
             headline(each.report.failure->findings.front()) == head;
    });
    if (earlier == result_.properties.end() || outcome.file.empty()) {
      out_ << failure_text(terminal_, outcome) << "\n";
      return;
    }
    out_ << labelled(terminal_, "as above",
                     fmt::format("{}, under {}", findings.front().clause, earlier->property->id));
    if (outcome.file != earlier->file) out_ << labelled_command(terminal_, "reproduce", outcome.reproduce);
  }

  void show(std::size_t index, const RunOptions& run, std::int64_t done, double seconds) {
    const bool is_endless = run.cases > kEndless / 2 / static_cast<std::int64_t>(selected_.size());
    double share = static_cast<double>(done) / static_cast<double>(run.cases);
    if (run.seconds) share = std::max(share, seconds / *run.seconds);
    std::string remark = is_endless || options_.exhaustive > 0
                             ? counted(done, "case")
                             : fmt::format("{} of {}", grouped(done), counted(run.cases, "case"));
    if (seconds > 0)
      remark +=
          fmt::format(", {}/s", grouped(static_cast<std::int64_t>(static_cast<double>(done) / seconds)));
    progress_.show({.label = fmt::format("{:<{}}  {} of {}", selected_[index]->id, widths_.id, index + 1,
                                         selected_.size()),
                    .share = share,
                    .remark = remark});
  }

  /// Saves the failing scenario and says in every finding how to see it again.
  void keep(PropertyResult& outcome) {
    Failure& failure = *outcome.report.failure;
    const std::string clause = failure.findings.empty() ? std::string(outcome.property->clauses.front())
                                                        : failure.findings.front().clause;
    const bool is_given = given_ && failure.shrunk == *given_;
    if (is_given) {
      outcome.file = options_.scenario;
      outcome.reproduce = fmt::format("shardcheck check --scenario {}{}", shell_quoted(options_.scenario),
                                      flags_text(options_.backend));
    } else {
      if (failure.shrunk.scenario.name.empty())
        failure.shrunk.scenario.name = fmt::format("{} breaks {}", outcome.property->id, clause);
      save(outcome, {std::string(outcome.property->id), clause, label_of(options_.backend)});
    }
    if (!failure.findings.empty() && failure.shrunk.kind == nullptr)
      complete(failure.findings.front(), failure.shrunk.scenario, *make_backend_());
    for (Finding& finding : failure.findings) finding.reproduce = outcome.reproduce;
  }

  void save(PropertyResult& outcome, const FailureName& name) {
    if (!session_.processes.is_first()) return;
    const auto kind = given_ ? FailureFolder::Kind::given : FailureFolder::Kind::searched;
    try {
      outcome.file = folder_.save(name, outcome.report.failure->shrunk, kind).string();
      outcome.reproduce = reproduce_text(outcome.file, options_.backend);
    } catch (const Error& error) {
      complain(error);
      outcome.reproduce = reproduce_text("FILE", options_.backend) + ", with the scenario below in FILE";
    }
  }

  void complain(const Error& error) {
    progress_.clear();
    session_.err << "shardcheck: " << error.what() << "\n";
    if (error.kind() == ErrorKind::machine_cannot) is_folder_writable_ = false;
  }

  const CheckOptions& options_;
  Session& session_;
  std::ostream& out_;
  Terminal terminal_;
  std::optional<Counterexample> given_;
  std::vector<const Property*> selected_;
  LineWidths widths_;
  std::function<LentBackend()> make_backend_;
  FailureFolder folder_ = FailureFolder::of_working_directory();
  Progress progress_;
  CheckResult result_;
  bool is_folder_writable_ = true;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// A training step's scenario; cases of other kinds have no contributions.
const Scenario& training_step_of(const CheckOptions& options, const Counterexample& given) {
  if (given.kind != nullptr)
    throw bad_input(options.scenario, "this is no training step, so that no contribution can be probed");
  return given.scenario;
}

}  // namespace

ExitStatus check_verb(Session& session, const Arguments& arguments) {
  CheckOptions options;
  if (!parse(options, arguments, session)) return ExitStatus::held;
  if (options.probes) {
    const Counterexample given = case_named(options.scenario);
    const Scenario& scenario = training_step_of(options, given);
    meet(session, options.backend);
    return probe_verb(session, {options.scenario, scenario}, options.backend, options.json);
  }
  Selection selection{.given = given_in(options), .properties = {}};
  selection.properties = selection_of(options, selection.given);
  begin_together(options, session);  // after what every process can get wrong alike
  return Check(options, selection, session).run();
}

}  // namespace shardcheck
