// shardcheck record: results of this machine, written down so that any other machine can judge them with
// `shardcheck conform`.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <ostream>
#include <string_view>

#include "backends/cuda/cuda_backend.h"
#include "core/error.h"
#include "core/files.h"
#include "tools/shardcheck/machine.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/record/gemms.h"
#include "tools/shardcheck/verbs.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

namespace fs = std::filesystem;

/// No offset of a recording may reach 2^31, and no case takes more than 400 KiB.
constexpr std::int64_t kMostCases = 5000;

/// Throws Error(bad_input) unless `folder` can become the recording: it is new or empty.
void require_free(const fs::path& folder) {
  std::error_code ignored;
  const std::string where = "--out " + folder.string();
  const fs::path parent = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  if (!fs::is_directory(parent, ignored))
    throw bad_input(where, "there is no folder " + parent.string() + "; create it first");
  if (!fs::exists(folder, ignored)) return;
  if (!fs::is_directory(folder, ignored)) throw bad_input(where, "is a file; give the name of a new folder");
  if (!fs::is_empty(folder, ignored))
    throw bad_input(where, "is not empty; a recording is never mixed with other files: give a new folder");
}

/// The folder appears whole or not at all.
void write_folder(const fs::path& folder, const RecordedGemms& recorded) {
  const fs::path beside = folder.string() + fmt::format(".writing-{}", ::getpid());
  std::error_code error;
  fs::create_directory(beside, error);
  if (error)
    throw Error(ErrorKind::machine_cannot, beside.string() + ": cannot be created: " + error.message());
  try {
    const auto* data = reinterpret_cast<const char*>(recorded.data.data());
    write_text_atomically(beside / "gemm.json", recorded.json);
    write_text_atomically(beside / "gemm.bin", std::string_view(data, recorded.data.size()));
    fs::rename(beside, folder, error);  // over an empty folder, which it replaces
    if (error)
      throw Error(ErrorKind::machine_cannot, folder.string() + ": cannot be written: " + error.message());
  } catch (...) {
    fs::remove_all(beside, error);
    throw;
  }
}

}  // namespace

ExitStatus record_verb(Session& session, const Arguments& arguments) {
  MachineChoice machine;
  GemmRecording recording;
  std::string out, subject;
  Options options({"record", "gemm --out DIR [flags]", "write down results of this machine, for conform"});
  add_flags(options, machine);
  options.flag(out, {"out", "DIR", "a new folder for gemm.json and gemm.bin"});
  options.flag(recording.cases, {1, kMostCases}, {"cases", "N", "random products to record"});
  options.seed(recording.seed);
  options.argument(subject, {"SUBJECT", "", "gemm: products in every type, scale mode and output"});
  options.note(
      "The files have the format of recorded GEMMs that `shardcheck conform DIR` reads, on any machine. "
      "Products that the machine's library does not compute are left out.");
  if (!options.parse(arguments, session)) return ExitStatus::held;
  if (subject != "gemm")
    throw bad_input("shardcheck record",
                    fmt::format("\"{}\" cannot be recorded; known is \"gemm\"", subject));
  if (out.empty()) throw bad_input("shardcheck record", "--out DIR is missing");
  const fs::path folder = fs::path(out).has_filename() ? fs::path(out) : fs::path(out).parent_path();
  require_free(folder);
  const auto backend = make_machine(machine);
  const RecordedGemms recorded = record_gemms(*backend, recording, versions_of(machine), gemm_algorithms);
  if (recorded.cases == 0)
    throw Error(ErrorKind::machine_cannot, backend->info().name + ": computes none of these products");
  write_folder(folder, recorded);
  session.out << fmt::format("{}: {} of {} ({}){}\n", folder.string(), counted(recorded.cases, "product"),
                             backend->info().name, backend->info().profile,
                             recorded.left_out == 0
                                 ? ""
                                 : fmt::format(", {} left out: its library computes no such product",
                                               grouped(recorded.left_out)))
              << fmt::format("judge them anywhere: shardcheck conform {}\n", shell_quoted(folder.string()));
  return ExitStatus::held;
}

}  // namespace shardcheck
