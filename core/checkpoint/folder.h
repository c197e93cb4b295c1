// A folder that appears whole or not at all: it is filled beside its place and moved there in one step, while
// an older one stays until then. Next: sharded.h, which fills one.
#pragma once

#include <filesystem>
#include <string_view>

namespace shardcheck::checkpoint {

class NewFolder {
 public:
  /// Makes the folder beside `place`. What is at `place` may be nothing, an empty folder, or a folder that
  /// holds a file named `mark` (an older one of the same kind). Throws Error(bad_input) when it is anything
  /// else, Error(machine_cannot) when the parent cannot be written.
  NewFolder(std::filesystem::path place, std::string_view mark);
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  /// Removes what was not put in place.
  ~NewFolder();

  const std::filesystem::path& path() const { return beside_; }

  /// Moves the folder to its place and removes the older one. Throws Error(machine_cannot), with the older
  /// one untouched.
  void put_in_place();

 private:
  std::filesystem::path place_, beside_;
};

}  // namespace shardcheck::checkpoint
