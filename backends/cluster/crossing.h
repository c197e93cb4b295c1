// Collectives whose ranks lie in several processes. The operands of every rank of the group travel to every
// process, in pieces that bound the memory, and each process computes what its own ranks receive, with the
// arithmetic of the reference (cpu/collectives.h): ascending ranks, one rounding to the element type an
// addition. So the bits are those of one process. Moves the bytes of a whole all-gather even for a
// reduce-scatter: tcp_transport.h says what that costs.
#pragma once

#include <vector>

#include "backends/cluster/local_plan.h"
#include "backends/cluster/transport.h"
#include "backends/cpu/collectives.h"
#include "core/backend.h"

namespace shardcheck::cluster {

class CrossingUnit {
 public:
  CrossingUnit(Backend& local, Transport& transport) : local_(local), transport_(transport) {}

  /// Runs the groups of op `index`, a Communicate, that lie in several processes. All ops before it have
  /// been given to the local backend.
  void run(const Plan& plan, OpIndex index, const LocalPlan& share);

 private:
  struct Group;
  /// Elements [first, last) of an input; in a reduce-scatter, of each of its parts.
  struct Piece {
    std::int64_t first = 0, last = 0;
    std::int64_t numel() const { return last - first; }
  };

  void run_group(const Group& group);
  void read_inputs(const Group& group);
  const Gathered& exchange(const Group& group, Piece piece);
  void locate(const Group& group, Piece piece, const Gathered& gathered);
  void reduce(const Group& group, std::int64_t offset, Piece piece);
  void deliver(const Group& group, Piece piece);
  void write(const Group& group, std::size_t position, View view, const std::byte* bytes);

  Backend& local_;
  Transport& transport_;
  std::vector<std::byte> inputs_;         ///< of the owned ranks, whole, before any output is written
  std::vector<std::byte> mine_;           ///< a piece of them
  std::vector<const std::byte*> pieces_;  ///< of every rank of the group, as they came
  std::vector<std::byte> result_;
  cpu::CollectiveUnit arithmetic_;
  std::vector<cpu::Range> ranges_, results_;
};

}  // namespace shardcheck::cluster
