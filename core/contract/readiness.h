// Readiness: when an owner counts a parameter as ready for reduction, and what
// writes and launches make of that (W20), kept for every rank and parameter. A
// window begins with the step, and again in the microbatch after one in which
// the parameter was counted and reduced. Plans that tell of no readiness are
// left alone.
#pragma once

#include <span>
#include <vector>

#include "core/contract/reporter.h"

namespace shardcheck {

class Readiness {
 public:
  Readiness(const Plan& plan, Reporter& reporter);

  void apply(OpIndex index);

 private:
  /// Of a rank and parameter, in this window.
  struct Window {
    OpIndex counted{-1};   ///< the op that counted it as ready
    OpIndex launched{-1};  ///< the reduction of its bytes, or the end of their lease
    bool written = false;
    bool reported = false;
  };

  Window& at(Rank rank, ParamId parameter) {
    return windows_[static_cast<std::size_t>(rank.value) * plan_.parameters.size() +
                    static_cast<std::size_t>(parameter.value)];
  }
  bool adds_shard(const Op& op) const;
  void begin_microbatch();
  void count(const Op& op, OpIndex index);
  void write(const Op& op, OpIndex index);
  template <class Visit>
  void each_parameter(const Op& op, Visit visit);
  void launch(const Op& op, OpIndex index);
  void close(const Op& op, OpIndex index);
  void breach(Rank rank, ParamId parameter, OpIndex op, const std::string& sentence);

  const Plan& plan_;
  Reporter& reporter_;
  bool is_told_ = false;  // of readiness
  std::vector<Window> windows_;
};

}  // namespace shardcheck
