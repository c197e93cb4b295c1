// Progress: one line on a terminal that is drawn over again, at most ten times a second, and nothing at all
// elsewhere. It is gone before anything else is printed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "tools/shardcheck/terminal.h"

namespace shardcheck {

class Progress {
 public:
  explicit Progress(std::ostream& stream) : stream_(stream), terminal_(terminal_of(stream)) {}
  Progress(std::ostream& stream, const Terminal& terminal) : stream_(stream), terminal_(terminal) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  struct State {
    std::string label;   ///< "legal-beta"
    double share = 0;    ///< of the work that is done, 0 to 1
    std::string remark;  ///< behind the bar: "4,012 of 8,572 cases"
  };
  void show(const State& state);
  void clear();

 private:
  std::ostream& stream_;
  Terminal terminal_;
  std::optional<std::chrono::steady_clock::time_point> drawn_;
  bool visible_ = false;
};

}  // namespace shardcheck
