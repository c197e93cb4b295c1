#include "tools/shardcheck/audit/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "tools/shardcheck/interrupt.h"

extern char** environ;

namespace shardcheck {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kMostLogBytes = std::int64_t{1} << 24;
constexpr seconds kScriptLimit{150};  // its own limit is 60 s, behind the start of torch

/// A child process in a group of its own, so that torchrun and its workers end together.
class Process {
 public:
  Process(std::vector<std::string> command, const fs::path& probe, const fs::path& log) {
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    std::vector<std::string> variables = {"PYTHONPATH=" + path_with(probe), "PYTHONUNBUFFERED=1",
                                          "PYTHONDONTWRITEBYTECODE=1"};
    std::vector<char*> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      if (!std::string_view(*entry).starts_with("PYTHONPATH=")) environment.push_back(*entry);
    }
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int failed = posix_spawnp(&pid_, words[0], &files, &attributes, words.data(), environment.data());
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0)
      throw Error(ErrorKind::machine_cannot,
                  fmt::format("--python {}: cannot be started: {}", command[0], std::strerror(failed)));
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { end(); }

  bool is_over() {
    if (!is_over_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) is_over_ = true;
    return is_over_;
  }
  /// Ends the group and waits for its leader.
  void end() {
    if (is_over_) return;
    ::kill(-pid_, SIGTERM);
    const auto patience = Clock::now() + seconds(5);
    while (!is_over() && Clock::now() < patience) std::this_thread::sleep_for(milliseconds(20));
    if (is_over_) return;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
    is_over_ = true;
  }
  int exit_status() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_); }

 private:
  static std::string path_with(const fs::path& probe) {
    const char* before = std::getenv("PYTHONPATH");
    return before == nullptr ? probe.string() : probe.string() + ":" + before;
  }
  pid_t pid_ = -1;
  int status_ = 0;
  bool is_over_ = false;
};

std::vector<std::string> lines_of(const fs::path& log) {
  std::vector<std::string> lines;
  if (!fs::exists(log)) return lines;
  std::istringstream text(read_text(log, kMostLogBytes));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// The probe's own sentence, or its log.
Error failure(int status, const fs::path& log) {
  constexpr std::string_view prefix = "shardcheck_probe: ";
  const auto kind = status == 2 ? ErrorKind::bad_input : ErrorKind::machine_cannot;
  for (const std::string& line : lines_of(log)) {
    const std::size_t at = line.find(prefix);
    if (at != std::string::npos) return Error(kind, line.substr(at + prefix.size()));
  }
  return Error(ErrorKind::machine_cannot,
               fmt::format("the probe ended with status {}; what it said is in {}", status, log.string()));
}

std::string text_of(const std::vector<AuditCase>& cases) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const AuditCase& each : cases) list.push_back(nlohmann::ordered_json::parse(to_json(each)));
  return list.dump(1) + "\n";
}

std::size_t finished_in(const std::vector<fs::path>& folders) {
  std::size_t count = 0;
  for (const fs::path& folder : folders) count += fs::exists(folder / "manifest.json") ? 1u : 0u;
  return count;
}

}  // namespace

Launched launch(const ProbeSetup& setup, const LaunchOrder& order) {
  std::error_code error;
  fs::create_directories(order.folder, error);
  if (error) throw Error(ErrorKind::machine_cannot, order.folder.string() + ": " + error.message());
  const fs::path cases = order.folder / "cases.json", log = order.folder / "probe.log";
  write_text_atomically(cases, text_of(order.cases));
  Launched launched;
  for (std::size_t i = 0; i < order.cases.size(); ++i)
    launched.folders.push_back(order.folder / fmt::format("{:04}", i));
  Process process(
      {setup.python, "-m", "shardcheck_probe", "--cases", cases.string(), "--out", order.folder.string(),
       "--deadline", std::to_string(setup.deadline), "--at-once", std::to_string(setup.at_once), "--device",
       setup.device, fmt::format("--torchrun={}", fmt::join(setup.torchrun, " "))},
      setup.probe, log);
  while (!process.is_over()) {
    order.progress(finished_in(launched.folders));
    if (Clock::now() > order.end || interrupt_flag()) {
      launched.was_cut = true;
      process.end();
      return launched;
    }
    std::this_thread::sleep_for(milliseconds(50));
  }
  if (process.exit_status() != 0) throw failure(process.exit_status(), log);
  return launched;
}

void write_script(const ProbeSetup& setup, const fs::path& case_file, const fs::path& script,
                  const std::string& title, const std::string& device) {
  const fs::path log = script.string() + ".log";
  Process process({setup.python, "-m", "shardcheck_probe.standalone", "--case", case_file.string(), "--out",
                   script.string(), "--title", title, "--device", device},
                  setup.probe, log);
  while (!process.is_over()) std::this_thread::sleep_for(milliseconds(20));
  if (process.exit_status() != 0) throw failure(process.exit_status(), log);
  fs::remove(log);
}

Confirmation confirm(const ProbeSetup& setup, const fs::path& script, std::int32_t ranks) {
  const fs::path log = script.string() + ".log";
  fs::remove(log);
  std::vector<std::string> command = {
      setup.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", std::to_string(ranks)};
  command.insert(command.end(), setup.torchrun.begin(), setup.torchrun.end());
  command.push_back(script.string());
  Process process(std::move(command), setup.probe, log);
  const auto end = Clock::now() + kScriptLimit;
  while (!process.is_over() && Clock::now() < end && !interrupt_flag())
    std::this_thread::sleep_for(milliseconds(50));
  Confirmation confirmation{.was_cut = !process.is_over()};
  process.end();
  // A wrong gradient that the script printed, its own time limit, or an abort of the transport; not just any
  // failure.
  constexpr std::string_view evidence[] = {": WRONG", "Timeout (", "terminate called", "Connection "};
  for (const std::string& line : lines_of(log)) {
    const bool is_evidence =
        std::ranges::any_of(evidence, [&](std::string_view part) { return line.find(part) != line.npos; });
    confirmation.shows |= is_evidence && process.exit_status() != 0;
    if (is_evidence || line.starts_with("rank ")) confirmation.lines.push_back(line);
  }
  return confirmation;
}

}  // namespace shardcheck
