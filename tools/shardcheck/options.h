// Options: the flags and arguments of one verb. A value comes from the flag, else from the flag's variable
// (--cases: SHARDCHECK_CASES), else it stays what the target holds, which is the default that --help shows.
// CLI11 splits the command line; what is wrong with it is said here.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tools/shardcheck/session.h"

namespace shardcheck {

/// How a flag or an argument is shown.
struct Shown {
  std::string name;   ///< "cases" for --cases; "PROPERTY" for an argument
  std::string value;  ///< "N"; empty for an argument
  std::string help;   ///< what it does, without a full stop
};

/// Whole numbers that a flag accepts.
struct Between {
  std::int64_t low = 0, high = std::numeric_limits<std::int64_t>::max();
};

class Options {
 public:
  /// `usage` is what stands behind the verb: "FAILURE.json [flags]".
  struct Verb {
    std::string name, usage, summary;
  };
  explicit Options(Verb verb) : verb_(std::move(verb)) {}

  void flag(std::string& target, Shown shown);
  void flag(bool& target, Shown shown);                      ///< a switch; its variable is 1 or 0
  void flag(std::vector<std::string>& target, Shown shown);  ///< repeatable, or values with commas between
  void flag(std::int64_t& target, Between range, Shown shown);
  void flag(std::optional<double>& target, Shown shown);  ///< a positive number
  void seed(std::uint64_t& target);                       ///< --seed N, or "random"
  void arguments(std::vector<std::string>& target, Shown shown);
  void argument(std::string& target, Shown shown);  ///< exactly one
  /// A paragraph at the end of --help.
  void note(std::string text) { notes_.push_back(std::move(text)); }

  /// Fills the targets. False when --help was asked for, which is printed. Throws Error(bad_input).
  bool parse(const std::vector<std::string>& arguments, Session& session) const;

 private:
  /// `where` is the flag or the variable that a sentence should name.
  using Accept = std::function<void(const std::string& where, const std::vector<std::string>& values)>;
  struct Flag {
    Shown shown;
    std::string preset;  ///< the default, in words; empty when there is none
    bool is_repeatable = false;
    bool is_switch = false;
    Accept accept;
  };

  void add(Shown shown, std::string preset,
           std::function<void(const std::string&, const std::string&)> accept);
  static bool asks_for_help(const std::vector<std::string>& arguments);
  std::string help() const;
  void refuse_unknown(const std::vector<std::string>& words) const;

  Verb verb_;
  std::vector<Flag> flags_;
  std::optional<Flag> arguments_;
  std::vector<std::string> notes_;
};

/// "SHARDCHECK_CASES" of "cases".
std::string variable_of(const std::string& flag);

}  // namespace shardcheck
