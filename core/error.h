// Error: the world failed (a file, a flag, a GPU), with a sentence for the user. Thrown as an exception,
// caught by the command, which prints the sentence and exits with the code of its kind.
#pragma once

#include <stdexcept>
#include <string>

namespace shardcheck {

/// Who has to do something about it. The values are exit codes of the command.
enum class ErrorKind {
  bad_input = 2,       ///< the input or the command line is wrong
  machine_cannot = 3,  ///< no GPU, NCCL failed, out of memory, a folder cannot be written
};

/// A sentence that names the file or flag, the field, the value and what would be right.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& sentence) : std::runtime_error(sentence), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

/// Bad input: `where` is a file, a JSON path or a flag.
inline Error bad_input(const std::string& where, const std::string& sentence) {
  return Error(ErrorKind::bad_input, where + ": " + sentence);
}

}  // namespace shardcheck
