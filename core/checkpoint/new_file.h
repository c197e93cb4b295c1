// A file that appears whole or not at all: it is filled beside its place and moved there in one step, while
// an older one stays until then. Next: folder.h, the same for folders.
#pragma once

#include <filesystem>

namespace shardcheck::checkpoint {

class NewFile {
 public:
  /// Chooses a name beside `place` that no file has. Throws Error(machine_cannot) when there is none.
  explicit NewFile(std::filesystem::path place);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  /// Removes what was not put in place.
  ~NewFile();

  /// Where to create it.
  const std::filesystem::path& path() const { return beside_; }

  /// Moves the finished file to its place. Throws Error(machine_cannot), with the older one untouched.
  void put_in_place();

 private:
  std::filesystem::path place_, beside_;
};

}  // namespace shardcheck::checkpoint
