// shardcheck fp8 certify: every format and policy over all 2^32 fp32 numbers, all bf16 and all fp16 numbers.
// A line each, with a digest of the codes that can be compared between machines.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ostream>
#include <thread>

#include "core/error.h"
#include "properties/cast_law/certificate.h"
#include "tools/shardcheck/fp8/cast_machines.h"
#include "tools/shardcheck/fp8/subverbs.h"
#include "tools/shardcheck/fp8/values.h"
#include "tools/shardcheck/interrupt.h"
#include "tools/shardcheck/nearest.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/progress.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck::fp8 {
namespace {

struct Wanted {
  std::vector<std::string> formats;
  std::string policy = "all", backend = "cpu";
  std::int64_t threads = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  std::int64_t inputs = std::int64_t{1} << 32;
};

/// The casts that were asked for. Throws Error(bad_input) for a name that no format has.
std::vector<NamedCast> casts_of(const Wanted& wanted) {
  std::vector<NamedCast> casts;
  std::vector<std::string> policies;
  for (const Format& format : kFormats) {
    const bool is_wanted =
        wanted.formats.empty() || std::ranges::find(wanted.formats, format.name) != wanted.formats.end();
    if (!is_wanted) continue;
    for (const NamedCast& cast : named_casts(format.id)) {
      policies.push_back(cast.name);
      if (wanted.policy == "all" || wanted.policy == cast.name) casts.push_back(cast);
    }
  }
  if (!casts.empty()) return casts;
  std::ranges::sort(policies);
  policies.erase(std::unique(policies.begin(), policies.end()), policies.end());
  throw bad_input("--policy",
                  unknown_name({wanted.policy, "policy of these formats", std::move(policies), ""}));
}

std::uint64_t differences_of(const Certified& each) {
  return each.wide.differences + each.narrow.differences;
}

std::string table_text(const std::vector<Certified>& certified, const Terminal& terminal) {
  Table table({"format", "policy", ">inputs", ">differ", "digest, fp32", "digest, 16 bits"});
  for (const Certified& each : certified) {
    const std::uint64_t differences = differences_of(each);
    table.row(
        {format_of(each.cast.format).name, each.cast.name,
         grouped(static_cast<std::int64_t>(each.wide.inputs + each.narrow.inputs)),
         Table::Cell{grouped(static_cast<std::int64_t>(differences)), each.holds() ? Tone::good : Tone::bad},
         fmt::format("{:016x}", each.wide.digest), fmt::format("{:016x}", each.narrow.digest)});
  }
  return table.text(terminal);
}

/// The least input that differs, of every line that has one; or that the digest does.
std::string differences_text(const std::vector<Certified>& certified) {
  std::string text;
  for (const Certified& each : certified) {
    const CastCertificate& seen = each.wide.differences > 0 ? each.wide : each.narrow;
    const Format& format = format_of(each.cast.format);
    if (seen.differences == 0) {
      if (!each.holds())
        text += fmt::format(
            "{} by {}: no code differs from the machine's own rule, but the digest of all is not the "
            "definition's, {:016x}\n",
            format.name, each.cast.name, each.defined);
      continue;
    }
    text += fmt::format("{} by {}: {} became {}, by definition {}\n", format.name, each.cast.name,
                        bits_text(seen.input), value_text(format, seen.actual),
                        value_text(format, seen.expected));
  }
  return text;
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const CastMachine& machine : cast_machines()) names.push_back(machine.name);
  return names;
}

}  // namespace

ExitStatus certify(Session& session, const Arguments& arguments) {
  Wanted wanted;
  Options options(
      {"fp8 certify", "[FORMAT...] [flags]", "every policy over all inputs, with a digest to compare"});
  options.arguments(wanted.formats, {"FORMAT", "", "e4m3, e5m2, ...; without one, all"});
  options.flag(wanted.policy, {"policy", "NAME", "one policy, or all"});
  options.flag(
      wanted.backend,
      {"backend", "NAME", "whose casts: cpu, reference (the readable encoder: minutes a line) or cuda"});
  options.flag(wanted.threads, {1, 4096}, {"threads", "N", "of the CPU"});
  options.flag(wanted.inputs, {1, std::int64_t{1} << 32},
               {"inputs", "N", "fp32 inputs from 0 on, as bits, where all are too many"});
  options.note(
      "Every code is held against the definition, a table of values and midpoints that shares nothing with "
      "the casts. A digest is the sum over all inputs x (bits) of (x * 0x9E3779B1 + 0x7F4A7C15 mod 2^32) * "
      "(code + 1) mod 2^64; the second one is over all bf16 numbers and, with 2^16 added to x, all fp16 "
      "numbers. Exit status 1 when a code differs.");
  if (!options.parse(arguments, session)) return ExitStatus::held;
  for (const std::string& name : wanted.formats) narrow_format(name, "shardcheck fp8 certify");
  const auto& machines = cast_machines();
  const auto machine = std::ranges::find(machines, wanted.backend, &CastMachine::name);
  if (machine == machines.end())
    throw bad_input("--backend",
                    unknown_name({wanted.backend, "backend of certificates", machine_names(), ""}));
  const std::vector<NamedCast> casts = casts_of(wanted);
  Progress progress(session.err);
  const auto begin = std::chrono::steady_clock::now();
  const SweepOptions sweep{.path = CastPath::fast,
                           .begin = 0,
                           .end = static_cast<std::uint64_t>(wanted.inputs),
                           .threads = static_cast<int>(wanted.threads),
                           .progress =
                               [&](double share) {
                                 progress.show({"certify", share, ""});
                               },
                           .stop = &interrupt_flag()};
  const Certification found = machine->certify(casts, sweep);
  progress.clear();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (interrupt_flag()) {
    session.err << "shardcheck: interrupted: a certificate of a part of the inputs would certify nothing\n";
    return ExitStatus::interrupted;
  }
  const Terminal terminal = terminal_of(session.out);
  const bool holds = std::ranges::all_of(found.certified, &Certified::holds);
  session.out << table_text(found.certified, terminal) << differences_text(found.certified);
  session.out << fmt::format("{}: {}, {} of casts in {}\n",
                             paint(terminal, holds ? Tone::good : Tone::bad, holds ? "held" : "BROKEN"),
                             machine->sentence, counted(std::ssize(found.certified), "certificate"),
                             seconds_text(seconds.count()));
  return holds ? ExitStatus::held : ExitStatus::broken;
}

}  // namespace shardcheck::fp8
