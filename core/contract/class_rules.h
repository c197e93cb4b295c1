// ClassRules: how each op moves the content class of the bytes that it touches, and which clause it breaks
// when the class before does not allow it (wgrad 2.2 for writes, 2.4 for everything else).
#pragma once

#include "core/contract/content.h"
#include "core/contract/reporter.h"

namespace shardcheck {

class ClassRules {
 public:
  ClassRules(const Plan& plan, Reporter& reporter)
      : plan_(plan),
        reporter_(reporter),
        state_(plan),
        has_graphs_(has_graphs(plan)),
        has_outer_(has_outer(plan)),
        has_copies_(has_copies(plan)) {}

  /// Applies one op. `hook_reported(rank, parameter)` silences what a breach of the hook causes.
  void apply(OpIndex op, const std::vector<bool>& hook_reported);

 private:
  struct Place {
    Rank rank;
    BufferId buffer;
    std::int32_t atom;
  };

  template <class Rule>
  void each_atom(const Op& op, int operand, Rule rule);
  void breach(std::string_view clause, const Place& place, const std::string& sentence);
  static bool has_graphs(const Plan& plan);
  static bool has_outer(const Plan& plan);
  static bool has_copies(const Plan& plan);
  bool is_parameter(const Place& place) const;
  /// True when the parameter in these bytes is summed over several ranks, or outer groups of them.
  bool is_summed(const Place& place, std::int32_t PlanParameter::*over) const;
  bool is_summed_before_it_is_added(const Place& place) const;
  /// True when the parameter in these bytes has copies that finalize sums.
  bool has_copies(const Place& place) const;
  /// Who has them: "two pipeline stages", "2 tensor-parallel ranks".
  std::string holders_of_copies(const Place& place) const;
  /// The sentence on a step of finalize that comes too early or too often, else empty (W32).
  std::string out_of_order(Finalized step, const Place& place, const Atom& atom) const;
  /// Settles the atom for the op's stream; false (and reported) when it is still in flight.
  bool settled(const Place& place, Atom& atom, std::string_view clause_if_not);
  void written(Atom& atom, Content content);
  /// The clause of a reader that does not wait for the last write: of a replay it is W35, readiness comes
  /// after the replay.
  static std::string_view unawaited(const Atom& atom) { return atom.stream == Stream::graph ? "W35" : "W21"; }
  void take_gradient(const Op& op);

  void write(const Op& op, bool accumulate, int operand, const std::vector<bool>& hook_reported);
  void write_gradient_of_autograd(const Op& op, int operand);
  void sum_in_autograd(const Op& op);
  void spend_gradient_of_autograd(const Op& op, const std::vector<bool>& hook_reported);
  void read_placeholder(const Op& op);
  void zero(const Op& op);
  void scale(const Op& op, const Scale& scale);
  void launch(const Op& op, const Communicate& communicate);
  Content judge_sum(std::span<const Place> addends, Purpose axis);
  void accumulate(const Op& op, bool add);
  bool spend_source(const Place& place, Atom& atom);
  void stage(const Op& op);
  void stage_weights(const Op& op);
  void unstage(const Op& op);
  void open_lease(const Op& op, const OpenLease& lease);
  void close_lease(const Op& op);
  void finish(const Op& op);
  void consume(const Op& op);
  void undefine(const Op& op);
  void allocate(const Op& op);
  void begin_step(const Op& op);
  void give_up(const Op& op);
  void end_step(const Op& op);
  void judge_open_leases(const Op& op, std::string_view clause, const std::string& sentence);

  const Plan& plan_;
  Reporter& reporter_;
  ContentState state_;
  bool has_graphs_;          // some ops are replays
  bool has_outer_;           // some parameter is summed over outer groups
  bool has_copies_;          // some parameter has copies that finalize sums
  std::int32_t index_ = -1;  // of the op being applied, in the order of execution
  Stream stream_ = Stream::compute;
  std::int64_t open_ = 0;     // atoms of leases, on all ranks
  bool is_given_up_ = false;  // the last attempt at a step
};

template <class Rule>
void ClassRules::each_atom(const Op& op, int operand, Rule rule) {
  const auto ranks = plan_.ranks_of(op);
  const auto views = plan_.operand(op, operand);
  View known{BufferId{-1}, 0, 0};
  std::pair<std::int32_t, std::int32_t> range{0, 0};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!(views[i] == known)) {
      known = views[i];
      range = state_.atoms(known);
    }
    for (std::int32_t a = range.first; a < range.second; ++a) {
      rule(Place{ranks[i], known.buffer, a}, state_.at(ranks[i], a));
    }
  }
}

}  // namespace shardcheck
