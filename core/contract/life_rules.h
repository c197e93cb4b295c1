// LifeRules: the life of FP8 parameters in a sequence of ops (fp8 4.9), judged without a value: every op
// moves versions, and every use demands that bytes, scales and derived copies are of the version that its
// step requires (F38, F41 to F48, F50 to F56). A plan without weight copies costs nothing. The kinds of ops
// are in life_rules.cpp (plain moves), life_quantise.cpp, life_collectives.cpp, life_uses.cpp and
// life_delayed.cpp; what bytes carry is in versions.h and measured.h.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/contract/measured.h"
#include "core/contract/reporter.h"
#include "core/contract/versions.h"

namespace shardcheck {

class LifeRules {
 public:
  LifeRules(const Plan& plan, std::span<const OpIndex> executed, Reporter& reporter);

  void apply(OpIndex op);

  /// What happened to the weight so far, a line an op: the last 24.
  std::vector<std::string> history_of(ParamId parameter) const;

 private:
  struct Kinds;
  using Ranges = std::vector<ByteRange>;

  // What every kind of op needs.
  bool is_tracked(const Op& op, int operand) const;
  View view(const Op& op, int operand, std::int32_t i) const {
    return plan_.operand(op, operand)[static_cast<std::size_t>(i)];
  }
  Rank rank(const Op& op, std::int32_t i) const { return plan_.ranks_of(op)[static_cast<std::size_t>(i)]; }
  /// What operand `operand` reads on the op's i-th rank. Judges that the write is over (F46).
  Ranges read(const Op& op, int operand, std::int32_t i);
  /// Replaces it. Judges that what was there is not in use any more (F46). Offsets are the view's own.
  void write(const Op& op, int operand, std::int32_t i, Ranges fresh);
  void write(const Op& op, int operand, std::int32_t i, const Stamp& stamp);
  /// The ranges of a view, moved to begin at `to`.
  static Ranges moved(Ranges ranges, View from, View to);
  /// A breach in what operand `operand` holds on the op's i-th rank; taints it.
  struct Site {
    const Op& op;
    std::int32_t i = 0, operand = 0;
  };
  void breach(std::string_view clause, const Site& site, ByteRange& range, const std::string& sentence);
  void breach(std::string_view clause, const Site& site, const std::string& sentence);
  void report(std::string_view clause, const Site& site, std::int64_t element, const std::string& sentence);
  void note(std::int32_t parameter, std::string what);
  std::int32_t tensor_of(std::int32_t parameter, Rank rank) const;
  std::vector<Rank> ranks_of(std::int32_t parameter, std::int32_t tensor) const;
  std::int32_t current(std::int32_t parameter, std::int32_t tensor);
  std::int32_t current(const Op& op, std::int32_t i) {
    return current(op.why.parameter.value, tensor_of(op.why.parameter.value, rank(op, i)));
  }
  std::string version_text(std::int32_t version) const;
  std::string name_of_parameter(std::int32_t parameter) const;
  std::string requirement(const Op& op, std::int32_t version) const;
  OpIndex op_at(const Moment& moment) const;
  /// The step that an op belongs to; -1 for what creates a weight.
  static std::int32_t step_of(const Op& op) { return op.why.purpose == Purpose::setup ? -1 : op.why.step; }
  bool is_skipped(const Op& op) const;
  /// The clause of bytes that are not there: F53 where they had been saved before they went.
  std::string_view clause_of_loss(const Site& site, const ByteRange& range, std::string_view otherwise) const;

  // life_rules.cpp
  void seed_initial_values();
  void fill(const Op& op);
  void undefine(const Op& op);
  void copy(const Op& op);
  void step(const Op& op);
  void master_written(const Op& op, const Ranges& ranges, Rank rank);

  // life_quantise.cpp
  void take_amax(const Op& op, const TakeAmax& take);
  void push(const Op& op, std::int32_t i);
  void scale_from_amax(const Op& op, const ScaleFromAmax& scale);
  void judge_coverage(const Op& op, std::int32_t i, ByteRange& amax);
  void quantize(const Op& op, std::int8_t recipe, recipe::Direction direction, std::int64_t start);
  void quantize_piece(const Op& op, std::int32_t i, const Stamp& kind, std::int64_t start);
  void quantize_matrix(const Op& op, const QuantizeMatrix& quantize);
  void judge_requantised(const Op& op, std::int32_t i, std::int32_t operand, Stamp& fresh);
  void derive(const Op& op);

  // life_collectives.cpp
  void maximum(const Op& op, const Communicate& communicate);
  void gather(const Op& op, const Communicate& communicate);
  bool has_equal_counts(const Op& op, std::int32_t first, std::int32_t group);
  bool judge_group(const Op& op, std::int32_t first, std::int32_t group,
                   const std::set<std::int64_t>& tensors);
  Stamp joined(const Op& op, std::int32_t i, const Stamp& a, ByteRange& b);

  // life_uses.cpp
  /// Operands of an op that takes a copy of a weight.
  struct Use {
    int codes = 0, scales = 1;
    std::int64_t start = 0;  ///< of the codes in the matrix
  };
  void multiply(const Op& op);
  void dequantize(const Op& op, const DequantizeBlocks& dequantize);
  void judge_use(const Op& op, std::int32_t i, const Use& use);
  /// What all codes of the use are; nothing where they are not all there.
  Stamp judge_codes(const Op& op, std::int32_t i, const Use& use);
  void judge_scales(const Op& op, std::int32_t i, const Use& use, const Stamp& codes);
  void judge_direction(const Op& op, std::int32_t i, const Use& use, const Stamp& codes);
  const WeightCopy* copy_at(ParamId parameter, View codes) const;
  /// True where the codes are those of a copy that products read.
  bool is_of_copy(View codes) const;
  std::string_view what_lies_at(ParamId parameter, View codes) const;
  void judge_orphans(const Op& op);

  // life_delayed.cpp
  void close(const Op& op);
  void judge_pushes(const Op& op, std::int32_t i, ByteRange& amax);
  void judge_delayed_scale(const Op& op, std::int32_t i, ByteRange& scale);

  /// Rank, parameter, use, microbatch, step.
  using ForwardKey = std::array<std::int32_t, 5>;

  const Plan& plan_;
  std::span<const OpIndex> executed_;
  Reporter& reporter_;
  VersionState state_;
  VersionTable versions_;
  MeasuredSets sets_;
  Scalings scalings_;
  Clocks clocks_;
  std::int32_t index_ = -1;  // of the op being applied, in the order of execution
  Stream stream_ = Stream::compute;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> current_;  // parameter, tensor: version
  std::set<std::int32_t> steps_with_optimizer_;
  std::set<std::pair<std::int32_t, std::int64_t>> saved_;  // buffer, offset: copied to a buffer of its role
  std::set<std::int32_t> reduced_;                         // sets of pieces that a maximum over ranks gave
  std::map<ForwardKey, std::int32_t> scale_of_forward_;
  std::map<std::int64_t, std::int64_t> window_of_;                          // a history: its length
  std::set<std::tuple<std::int32_t, std::string, std::int32_t>> reported_;  // op, clause, parameter
  struct Event {
    std::int32_t op;
    std::string what;
  };
  std::vector<std::vector<Event>> log_;  // a parameter
};

}  // namespace shardcheck
