// shardcheck doctor: what this machine and this build offer, and why a backend is missing.
#include "backends/cuda/doctor.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ostream>
#include <thread>

#include "backends/cuda/cuda_backend.h"
#include "backends/registry.h"
#include "core/numerics/profile.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/verbs.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

/// Instruction sets that the compiler was allowed to use; they decide speed, never bits.
std::string instruction_sets() {
  std::string sets;
  const auto add = [&](std::string_view name) {
    sets += fmt::format("{}{}", sets.empty() ? "" : ", ", name);
  };
#ifdef __AVX2__
  add("AVX2");
#endif
#ifdef __FMA__
  add("FMA");
#endif
#ifdef __F16C__
  add("F16C");
#endif
#ifdef __AVX512F__
  add("AVX-512");
#endif
#ifdef __ARM_NEON
  add("NEON");
#endif
  return sets.empty() ? "the compiler's baseline" : sets;
}

std::string memory_text() {
  const auto pages = static_cast<double>(sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  return fmt::format("{:.1f} GiB", pages * page / kGib);
}

std::string system_text() {
  utsname name = {};
  if (uname(&name) != 0) return "unknown";
  return fmt::format("{} {}, {}", name.sysname, name.release, name.machine);
}

std::string profiles_text() {
  std::string text;
  for (const ArithmeticProfile* profile : kProfiles)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", profile->name, profile->evidence);
  return text;
}

}  // namespace

ExitStatus doctor_verb(Session& session, const Arguments& arguments) {
  Options options({"doctor", "", "what this machine offers, and why a backend is missing"});
  if (!options.parse(arguments, session)) return ExitStatus::held;
  const Terminal terminal = terminal_of(session.out);
  const auto heading = [&](std::string_view text) {
    session.out << paint(terminal, Tone::strong, text) << "\n";
  };
  const auto line = [&](std::string_view label, std::string_view text) {
    session.out << labelled(terminal, label, text);
  };
  heading("machine");
  line("system", system_text());
  line("cores", fmt::format("{}", std::thread::hardware_concurrency()));
  line("memory", memory_text());
  heading("build");
  line("version", SHARDCHECK_VERSION);
  line("compiler", SHARDCHECK_COMPILER);
  line("flags", SHARDCHECK_FLAGS);
  line("instructions", instruction_sets());
  heading("backends");
  for (const BackendEntry& entry : list_backends()) {
    line(entry.name, entry.description);
    if (!entry.available) line("", paint(terminal, Tone::warning, "missing: " + entry.reason));
  }
  if (cuda_missing().empty()) {
    heading("cuda");
    for (const std::string& each : cuda_doctor()) line("", each);
  }
  heading("arithmetic");
  line("profiles", profiles_text());
  if (!cuda_missing().empty()) return ExitStatus::held;
  const ArithmeticConfirmation confirmation = confirm_arithmetic();
  line("this GPU", confirmation.confirmed ? paint(terminal, Tone::good,
                                                  "computes weight gradients as the profile hopper says, bit "
                                                  "for bit")
                                          : paint(terminal, Tone::bad,
                                                  "is not confirmed to compute as the profile hopper says"));
  for (const std::string& each : confirmation.lines) line("", each);
  line("", "`shardcheck fingerprint --backend cuda` observes what it computes");
  return ExitStatus::held;
}

}  // namespace shardcheck
