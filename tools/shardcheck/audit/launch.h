// Launch: starts tools/probe on a list of cases and waits for the traces, with a deadline and Ctrl-C. The
// probe starts torchrun. Next: search.h, which decides what is launched.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "properties/audit/audit_case.h"

namespace shardcheck {

struct ProbeSetup {
  std::string python = "python3";
  std::filesystem::path probe;        ///< the folder with the package shardcheck_probe
  std::string device = "auto";        ///< auto, cuda, cpu
  std::int64_t deadline = 60;         ///< seconds for a case
  std::int64_t at_once = 2;           ///< cases that run side by side
  std::vector<std::string> torchrun;  ///< more arguments for torchrun, behind ours
};

/// What a launch left: the folders of the cases, in their order, and whether each holds a whole trace.
struct Launched {
  std::vector<std::filesystem::path> folders;
  bool was_cut = false;  ///< by the end time or an interrupt: not all folders hold a trace
};

struct LaunchOrder {
  std::vector<AuditCase> cases;
  std::filesystem::path folder;  ///< new; gets cases.json, probe.log and a folder for each case
  std::chrono::steady_clock::time_point end;
  std::function<void(std::size_t)> progress;  ///< called with the number of traces that are there
};

/// Throws Error with the probe's own sentence and kind when the probe refuses (torch is missing, too few
/// GPUs), and machine_cannot, naming its log, when it fails otherwise. Traces that are there stay.
Launched launch(const ProbeSetup& setup, const LaunchOrder& order);

/// Writes the stand-alone script of a case. Throws as launch().
void write_script(const ProbeSetup& setup, const std::filesystem::path& case_file,
                  const std::filesystem::path& script, const std::string& title, const std::string& device);

/// Runs a script under torchrun and gives back the last lines that it printed, and whether it showed the bug:
/// it ended with another status than 0.
struct Confirmation {
  bool shows = false;
  bool was_cut = false;  ///< by an interrupt, or it did not end: nobody knows whether it shows the bug
  std::vector<std::string> lines;
};
Confirmation confirm(const ProbeSetup& setup, const std::filesystem::path& script, std::int32_t ranks);

}  // namespace shardcheck
