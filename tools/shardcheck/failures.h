// FailureFolder: .shardcheck/failures under the working directory. A failure that a search finds is kept
// there as a readable scenario, and the next search on the same backend runs it first. A name says what
// failed: PROPERTY.CLAUSE.BACKEND.HASH.json, the hash over the scenario, so that one failure is one file. A
// file of any other name, put there by hand, is run through all properties on every backend.
//   mended/  kept failures that hold again     given/  shrunk forms of scenarios that the user gave: not
//   rerun
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "properties/counterexample.h"
#include "tools/shardcheck/backend_choice.h"

namespace shardcheck {

/// What a failure is called after.
struct FailureName {
  std::string property, clause;
  std::string backend;  ///< label_of()
};

/// The backend as a word in a file name: "cpu", "cpu-hopper", "faulty-drop-amax".
std::string label_of(const BackendChoice& choice);

struct KeptFailure {
  std::filesystem::path file;
  FailureName name;  ///< all empty when the file's name says nothing
};

class Processes;

class FailureFolder {
 public:
  explicit FailureFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// The folder that the command uses.
  static FailureFolder of_working_directory() {
    return FailureFolder(std::filesystem::path(".shardcheck") / "failures");
  }

  /// In the order of their names; none when the folder is not there.
  std::vector<KeptFailure> list() const;

  enum class Kind { searched, given };
  /// Writes the case and returns its file. Throws Error(machine_cannot).
  std::filesystem::path save(const FailureName& name, const Counterexample& failing, Kind kind) const;

  /// Moves a kept file to mended/ and returns where it is. Throws Error(machine_cannot).
  std::filesystem::path set_aside(const std::filesystem::path& file) const;

 private:
  std::filesystem::path folder_;
};

/// What process 0 finds in the folder, on all processes of the launch.
std::vector<KeptFailure> kept_by_first(const FailureFolder& folder, Processes& processes);

}  // namespace shardcheck
