#include "properties/layout_bytes/layout_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "core/error.h"
#include "core/shadow.h"
#include "properties/layout_bytes/move_plan.h"
#include "properties/layout_laws/image.h"
#include "properties/layout_laws/judge.h"
#include "properties/layout_laws/layout_case.h"
#include "properties/layout_laws/memory.h"

namespace shardcheck {
namespace {

using laws::Claim;
using laws::GroupClaim;
using Codes = std::vector<std::uint32_t>;

/// A signalling NaN with a payload: a sum that reads padding shows it.
constexpr std::uint32_t kCanary = 0x7FA0DEAD;

/// Gradient of a rank: whole numbers so small that every sum is exact in any order.
float gradient(Rank rank, ParamId param, std::int64_t element) {
  constexpr std::int64_t kPeriod = 1021;
  return static_cast<float>((rank.value + 1) * (element % kPeriod + param.value + 1));
}

std::uint32_t sum_of_gradients(std::int32_t world, ParamId param, std::int64_t element) {
  float sum = 0;
  for (std::int32_t rank = 0; rank < world; ++rank) sum += gradient(Rank{rank}, param, element);
  return std::bit_cast<std::uint32_t>(sum);
}

std::optional<Claim> claimed(const laws::Asked& asked) {
  try {
    Claim claim = laws::claim_of(asked);
    if (laws::storage_of(claim) <= laws::kMostStorage && laws::can_move(claim)) return claim;
  } catch (const Error&) {
    // A refusal is the case of the geometric laws.
  }
  return std::nullopt;
}

Sighting sighting(std::uint32_t code) {
  return {std::bit_cast<float>(code), code, DType::f32};
}

/// One case on one machine.
class Moved {
 public:
  Moved(Backend& backend, const Claim& from, const Claim* to)
      : backend_(backend), from_(from), to_(to), move_(move_plan(from, to)) {}

  std::vector<Finding> run() {
    // Buffers live from their allocation, so all of them come first; then values, then the moves.
    execute_allocations();
    for (std::size_t g = 0; g < from_.groups.size(); ++g) fill(g);
    execute_moves();
    for (std::size_t g = 0; g < from_.groups.size(); ++g) judge_group(g);
    for (const CutShard& cut : move_.cut) judge_cut(cut);
    return std::move(findings_);
  }

 private:
  static bool allocates(const Op& op) { return std::holds_alternative<Allocate>(op.action); }

  void execute_where(bool allocations) {
    const auto count = static_cast<std::int32_t>(move_.plan.ops.size());
    for (std::int32_t i = 0; i < count; ++i) {
      if (allocates(move_.plan.ops[static_cast<std::size_t>(i)]) == allocations)
        backend_.execute(move_.plan, OpIndex{i}, OpIndex{i + 1});
    }
  }
  void execute_allocations() { execute_where(true); }
  void execute_moves() { execute_where(false); }

  void write(Rank rank, BufferId buffer, const Codes& codes) {
    if (codes.empty() || !backend_.holds(move_.plan, rank)) return;
    backend_.write(move_.plan, rank, {buffer, 0, std::ssize(codes)}, std::as_bytes(std::span(codes)));
  }
  std::optional<Codes> read(Rank rank, BufferId buffer) {
    Codes codes(static_cast<std::size_t>(move_.plan.buffer(buffer).numel));
    if (codes.empty() || !backend_.holds(move_.plan, rank)) return std::nullopt;
    backend_.read(move_.plan, rank, {buffer, 0, std::ssize(codes)}, std::as_writable_bytes(std::span(codes)));
    return codes;
  }

  void fill(std::size_t g) {
    const GroupClaim& group = from_.groups[g];
    const MovedGroup& moved = move_.groups[g];
    for (std::int32_t rank = 0; rank < group.rule.world; ++rank) {
      Codes shards(static_cast<std::size_t>(move_.plan.buffer(moved.shards).numel), kCanary);
      for (std::size_t b = 0; b < group.buckets(); ++b) {
        for (const layout::Segment& s : group.shard(rank, b).segs) {
          for (std::int64_t e = s.p_lo; e < s.p_hi; ++e)
            shards[static_cast<std::size_t>(moved.begin[b] + s.off + e - s.p_lo)] = laws::code_of(s.param, e);
        }
      }
      write(Rank{rank}, moved.shards, shards);
      Codes gradients(static_cast<std::size_t>(group.rule.size), kCanary);
      for (const layout::Slot& slot : group.rule.slots) {
        for (std::int64_t e = 0; e < slot.numel; ++e)
          gradients[static_cast<std::size_t>(laws::image_place(group.rule, slot, e))] =
              std::bit_cast<std::uint32_t>(gradient(Rank{rank}, slot.param, e));
      }
      write(Rank{rank}, moved.gradients, gradients);
    }
  }

  struct Wrong {
    std::string_view law, sentence;
    OpIndex op;
    Rank rank;
    ParamId param;
    std::int64_t element;
    std::uint32_t expected, actual;
  };
  /// False when the codes agree. One finding an op is enough.
  bool differs(const Wrong& wrong) {
    if (wrong.expected == wrong.actual) return false;
    Finding finding{.clause = std::string(wrong.law)};
    finding.sentence = fmt::format("{}: {}", from_.asked.layout, wrong.sentence);
    name_op(finding, move_.plan, wrong.op);
    finding.rank = wrong.rank.value;
    finding.parameter = wrong.param.value;
    finding.parameter_name = from_.parameter(wrong.param).name;
    finding.element = wrong.element;
    finding.has_values = true;
    finding.expected = sighting(wrong.expected);
    finding.actual = sighting(wrong.actual);
    findings_.push_back(std::move(finding));
    return true;
  }

  void judge_group(std::size_t g) {
    for (std::int32_t rank = 0; rank < from_.groups[g].rule.world; ++rank) {
      if (judge_gathered(g, Rank{rank})) break;
    }
    for (std::int32_t rank = 0; rank < from_.groups[g].rule.world; ++rank) {
      if (judge_sums(g, Rank{rank})) break;
    }
  }

  bool judge_gathered(std::size_t g, Rank rank) {
    const layout::Buffer& rule = from_.groups[g].rule;
    const auto codes = read(rank, move_.groups[g].gathered);
    if (!codes) return false;
    for (const layout::Slot& slot : rule.slots) {
      for (std::int64_t e = 0; e < slot.numel; ++e) {
        if (differs({"L13", "the all-gather of its shards does not give the tensor back",
                     move_.groups[g].gathers[static_cast<std::size_t>(slot.bucket)], rank, slot.param, e,
                     laws::code_of(slot.param, e),
                     (*codes)[static_cast<std::size_t>(laws::image_place(rule, slot, e))]}))
          return true;
      }
    }
    return false;
  }

  bool judge_sums(std::size_t g, Rank rank) {
    const GroupClaim& group = from_.groups[g];
    const auto codes = read(rank, move_.groups[g].sums);
    if (!codes) return false;
    for (std::size_t b = 0; b < group.buckets(); ++b) {
      for (const layout::Segment& s : group.shard(rank.value, b).segs) {
        for (std::int64_t e = s.p_lo; e < s.p_hi; ++e) {
          const auto place = static_cast<std::size_t>(move_.groups[g].begin[b] + s.off + e - s.p_lo);
          if (differs({"L15", "a reduce-scatter does not leave the shard of the sum",
                       move_.groups[g].reductions[b], rank, s.param, e,
                       sum_of_gradients(group.rule.world, s.param, e), (*codes)[place]}))
            return true;
        }
      }
    }
    return false;
  }

  void judge_cut(const CutShard& cut) {
    const auto codes = read(cut.rank, cut.buffer);
    if (!codes) return;
    const GroupClaim& group = to_->groups[static_cast<std::size_t>(cut.group)];
    for (const layout::Segment& s : group.shard(cut.owner, static_cast<std::size_t>(cut.bucket)).segs) {
      if (!reached(cut, s.param)) continue;
      for (std::int64_t e = s.p_lo; e < s.p_hi; ++e) {
        if (differs({"L16",
                     "a shard of the second layout, cut from the gathered tensors, is not what that "
                     "layout says",
                     cut.last_copy, cut.rank, s.param, e, laws::code_of(s.param, e),
                     (*codes)[static_cast<std::size_t>(s.off + e - s.p_lo)]}))
          return;
      }
    }
  }

  /// True when the first layout gathers the parameter on the rank of that shard.
  bool reached(const CutShard& cut, ParamId param) const {
    return std::ranges::any_of(from_.groups, [&](const GroupClaim& group) {
      return group.rule.find(param) != nullptr && cut.rank.value < group.rule.world;
    });
  }

  Backend& backend_;
  const Claim& from_;
  const Claim* to_;
  MovePlan move_;
  std::vector<Finding> findings_;
};

std::vector<std::string_view> movable_layouts() {
  std::vector<std::string_view> names;
  for (const layout::NamedLayout& each : layout::named_layouts()) {
    const laws::Asked asked{
        std::string(each.name), {{.name = "P0", .shape = {64, 64}}}, layout::mesh_of(2), {}};
    if (has_equal_shards(laws::claim_of(asked))) names.push_back(each.name);
  }
  return names;
}

}  // namespace

const std::vector<std::string>& layout_bytes_situations() {
  static const std::vector<std::string> situations = [] {
    std::vector<std::string> all{"a move into another layout"};
    for (const std::string_view name : movable_layouts())
      all.push_back(fmt::format("gathered and reduce-scattered under {}", name));
    return all;
  }();
  return situations;
}

JudgedCase judge_layout_bytes(Backend& backend, const Case& c) {
  const laws::Case& value = static_cast<const laws::LayoutCase&>(c).value();
  const std::optional<Claim> from = claimed(value.asked);
  if (!from || !has_equal_shards(*from)) return {};
  const bool moves = value.moved_to && !laws::has_huge_tensor(*value.moved_to);
  const std::optional<Claim> to = moves ? claimed(*value.moved_to) : std::nullopt;
  auto* shadow = dynamic_cast<Shadow*>(&backend);
  Backend& candidate = shadow == nullptr ? backend : shadow->candidate();
  JudgedCase judged{.findings = Moved(candidate, *from, to ? &*to : nullptr).run()};
  if (to) judged.situations.push_back(0);
  const auto& all = layout_bytes_situations();
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].ends_with(" " + value.asked.layout)) judged.situations.push_back(i);
  }
  return judged;
}

}  // namespace shardcheck
