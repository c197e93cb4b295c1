#include "backends/shadow/shadow_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "backends/shadow/error_bounds.h"
#include "backends/shadow/excerpts.h"
#include "backends/shadow/operands.h"
#include "backends/shadow/yardstick.h"
#include "core/assert.h"
#include "core/digest.h"
#include "core/numerics/same_code.h"

namespace shardcheck {
namespace {

using namespace shadowing;

/// Large views are fetched so many elements at a time: a whole number of 8-byte words in every type.
constexpr std::int64_t kBlock = std::int64_t{1} << 20;
/// Operands of a GEMM or an addition are kept for the report up to this size; a copy of more would cost as
/// much as the op itself.
constexpr std::int64_t kMostKept = std::int64_t{1} << 20;
/// After the first difference of an op, so many elements more are counted.
constexpr std::int64_t kMostCounted = std::int64_t{1} << 24;

std::string name_of_profile(const BackendInfo& info) {
  return fmt::format("{} ({})", info.name, info.profile);
}

std::string why_text(const Op& op) {
  std::string text(name_of(op.why.purpose));
  if (std::holds_alternative<Gemm>(op.action)) text += fmt::format(", beta from {}", name_of(op.why.rule));
  return text;
}

View part_of(View view, std::int64_t first, std::int64_t numel) {
  return {view.buffer, view.offset + first, numel};
}

class ShadowBackend final : public Shadow {
 public:
  ShadowBackend(ShadowPair owned, BorrowedPair pair, const ShadowOptions& options)
      : owned_(std::move(owned)),
        reference_(pair.reference),
        candidate_(pair.candidate),
        reference_digesting_(dynamic_cast<Digesting*>(&pair.reference)),
        candidate_digesting_(dynamic_cast<Digesting*>(&pair.candidate)),
        sides_{pair.reference.info(), pair.candidate.info()},
        options_(options),
        operands_(pair.reference) {}

  BackendInfo info() const override {
    BackendInfo info = sides_.candidate;
    info.name = fmt::format("shadow({}, {})", sides_.reference.name, sides_.candidate.name);
    return info;
  }
  Backend& reference() override { return reference_; }
  Backend& candidate() override { return candidate_; }
  ShadowReport take() override {
    is_comparing_ = true;
    return std::exchange(report_, {});
  }

  bool holds(const Plan& plan, Rank rank) const override {
    return candidate_.holds(plan, rank) && reference_.holds(plan, rank);
  }
  void execute(const Plan& plan, OpIndex first, OpIndex last) override;
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    candidate_.write(plan, rank, view, bytes);
    reference_.write(plan, rank, view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    candidate_.read(plan, rank, view, bytes);
  }

 private:
  /// What an op wrote on the rank at `position` of its list.
  struct Written {
    std::size_t position;
    Rank rank;
    View view;
    DType type;
    int operand;
  };
  /// How far the comparison of one op has come.
  struct Progress {
    const Plan& plan;
    OpIndex index;
    Yardstick yardstick;
    std::optional<ShadowDifference> difference = std::nullopt;
    std::int64_t written = 0, counted = 0;
    bool truncated = false;
  };

  void execute_both(const Plan& plan, OpIndex first, OpIndex last);
  void prepare(const Plan& plan, const Op& op, Yardstick yardstick);
  void compare(const Plan& plan, OpIndex index, Yardstick yardstick);
  std::vector<Written> written_by(const Plan& plan, const Op& op) const;
  void drop_equal_digests(const Plan& plan, std::vector<Written>& all);
  std::uint64_t reference_digest(const Plan& plan, const Written& written);
  void compare_bits(Progress& progress, const Written& written);
  void compare_bounds(Progress& progress, const Written& written);
  void note(Progress& progress, const Written& written, std::int64_t element, CodePair codes);
  void fetch(const Plan& plan, const Written& written, View part);
  void resync(const Plan& plan, const Written& written);

  ShadowPair owned_;  ///< empty when the backends are borrowed
  Backend& reference_;
  Backend& candidate_;
  Digesting* reference_digesting_;
  Digesting* candidate_digesting_;
  Sides sides_;
  ShadowOptions options_;
  Operands operands_;  ///< of the op that is being compared
  bool is_comparing_ = true;
  ShadowReport report_;
  std::vector<std::byte> expected_, actual_;
};

void ShadowBackend::execute(const Plan& plan, OpIndex first, OpIndex last) {
  OpIndex pending = first;  // ops [pending, i) have not run yet
  for (OpIndex i = first; i < last && is_comparing_; ++i.value) {
    const Op& op = plan.ops[static_cast<std::size_t>(i.value)];
    const Yardstick yardstick = yardstick_of(plan, op, sides_);
    if (yardstick == Yardstick::none) continue;
    if (pending < i && Operands::is_overwritten(plan, op)) execute_both(plan, std::exchange(pending, i), i);
    prepare(plan, op, yardstick);
    const OpIndex next{i.value + 1};
    execute_both(plan, std::exchange(pending, next), next);
    compare(plan, i, yardstick);
  }
  if (pending < last) execute_both(plan, pending, last);
}

/// The candidate first: a device works while the host computes the reference.
void ShadowBackend::execute_both(const Plan& plan, OpIndex first, OpIndex last) {
  candidate_.execute(plan, first, last);
  reference_.execute(plan, first, last);
}

/// A bound is computed from the operands, whatever their size; a report can do without them.
void ShadowBackend::prepare(const Plan& plan, const Op& op, Yardstick yardstick) {
  const bool is_needed = yardstick == Yardstick::bounds;
  operands_.keep(plan, op, is_needed ? std::numeric_limits<std::int64_t>::max() : kMostKept);
}

void ShadowBackend::compare(const Plan& plan, OpIndex index, Yardstick yardstick) {
  const Op& op = plan.ops[static_cast<std::size_t>(index.value)];
  std::vector<Written> written = written_by(plan, op);
  Progress progress{plan, index, yardstick};
  for (const Written& one : written) progress.written += one.view.numel;
  if (yardstick == Yardstick::unjudged) {
    ++report_.ops_unjudged;
    for (const Written& one : written) resync(plan, one);
    return;
  }
  ++report_.ops_compared;
  report_.elements_compared += progress.written;
  if (yardstick == Yardstick::bounds) ++report_.ops_bounded;
  drop_equal_digests(plan, written);
  for (const Written& one : written) {
    yardstick == Yardstick::bounds ? compare_bounds(progress, one) : compare_bits(progress, one);
  }
  if (!progress.difference) return;
  progress.difference->written_elements = progress.written;
  progress.difference->truncated = progress.truncated;
  report_.differences.push_back(std::move(*progress.difference));
  is_comparing_ = options_.after == AfterDifference::resync;
}

std::vector<ShadowBackend::Written> ShadowBackend::written_by(const Plan& plan, const Op& op) const {
  std::vector<Written> written;
  const Access access = access_of(op.action);
  for (int operand = 0; operand < op.operands; ++operand) {
    if ((access.writes >> operand & 1) == 0) continue;
    for (std::size_t i = 0; i < static_cast<std::size_t>(op.ranks); ++i) {
      const View view = plan.operand(op, operand)[i];
      if (view.numel > 0 && holds(plan, plan.ranks_of(op)[i]))
        written.push_back({i, plan.ranks_of(op)[i], view, plan.buffer(view.buffer).dtype, operand});
    }
  }
  return written;
}

void ShadowBackend::drop_equal_digests(const Plan& plan, std::vector<Written>& all) {
  const auto is_large = [&](const Written& one) {
    return one.view.numel * bytes_of(one.type) >= options_.digest_from;
  };
  if (candidate_digesting_ == nullptr || std::ranges::none_of(all, is_large)) return;
  std::vector<Rank> ranks;
  std::vector<View> views;
  for (const Written& one : all) {
    ranks.push_back(one.rank);
    views.push_back(one.view);
  }
  const std::vector<std::uint64_t> digests = candidate_digesting_->digests(plan, ranks, views);
  SC_ASSERT(digests.size() == all.size(), "a digest for every view");
  std::vector<Written> left;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (digests[i] != reference_digest(plan, all[i])) left.push_back(all[i]);
  }
  all = std::move(left);
}

std::uint64_t ShadowBackend::reference_digest(const Plan& plan, const Written& written) {
  if (reference_digesting_ != nullptr) {
    return reference_digesting_->digests(plan, {&written.rank, 1}, {&written.view, 1})[0];
  }
  Digest digest(written.type);
  for (std::int64_t at = 0; at < written.view.numel; at += kBlock) {
    const View part = part_of(written.view, at, std::min(kBlock, written.view.numel - at));
    expected_.resize(static_cast<std::size_t>(part.numel * bytes_of(written.type)));
    reference_.read(plan, written.rank, part, expected_);
    digest.add(expected_);
  }
  return digest.value();
}

void ShadowBackend::fetch(const Plan& plan, const Written& written, View part) {
  const auto size = static_cast<std::size_t>(part.numel * bytes_of(written.type));
  expected_.resize(size);
  actual_.resize(size);
  reference_.read(plan, written.rank, part, expected_);
  candidate_.read(plan, written.rank, part, actual_);
}

void ShadowBackend::compare_bits(Progress& progress, const Written& written) {
  std::int64_t found = 0;
  for (std::int64_t at = 0; at < written.view.numel; at += kBlock) {
    const View part = part_of(written.view, at, std::min(kBlock, written.view.numel - at));
    if (progress.difference && progress.counted >= kMostCounted) {
      progress.truncated = true;
      break;
    }
    fetch(progress.plan, written, part);
    const Differing block = differing(written.type, {expected_, actual_});
    found += block.count;
    if (block.count > 0 && !progress.difference) {
      note(progress, written, at + block.first,
           {code_at(written.type, expected_, block.first), code_at(written.type, actual_, block.first)});
    }
    if (progress.difference) {
      progress.counted += part.numel;
      progress.difference->differing_elements += block.count;
    }
  }
  const bool may_differ = found > 0 || progress.truncated;
  if (may_differ && options_.after == AfterDifference::resync) resync(progress.plan, written);
}

/// Elements of equal codes need no bound, so none is computed for a view without a difference.
void ShadowBackend::compare_bounds(Progress& progress, const Written& written) {
  fetch(progress.plan, written, written.view);
  if (differing(written.type, {expected_, actual_}).count == 0) return;
  const std::vector<double> bounds = bounds_of(operands_, written.position, sides_);
  bool is_broken = false;
  for (std::int64_t e = 0; e < written.view.numel; ++e) {
    const CodePair codes{code_at(written.type, expected_, e), code_at(written.type, actual_, e)};
    if (is_same(written.type, codes)) continue;
    const double bound = bounds[static_cast<std::size_t>(e)];
    if (std::isinf(bound)) continue;  // the sum may overflow on one side alone
    const double distance =
        std::abs(value_of_code(written.type, codes.expected) - value_of_code(written.type, codes.actual));
    if (distance <= bound) {
      const double share = distance == 0 ? 0 : distance / bound;
      if (share > report_.budget_used) report_.budget_op = progress.index;
      report_.budget_used = std::max(report_.budget_used, share);
      continue;
    }
    is_broken = true;
    if (!progress.difference) {
      note(progress, written, e, codes);
      // With an operand that is not finite there is no bound: the class of the result is what must agree.
      if (!std::isnan(bound)) {
        progress.difference->bound = bound;
        progress.difference->share = distance / bound;
      }
    }
    ++progress.difference->differing_elements;
  }
  if (!is_broken || options_.after == AfterDifference::resync) resync(progress.plan, written);
}

void ShadowBackend::note(Progress& progress, const Written& written, std::int64_t element, CodePair codes) {
  const Plan& plan = progress.plan;
  const Op& op = plan.ops[static_cast<std::size_t>(progress.index.value)];
  const bool have_one_name = sides_.reference.name == sides_.candidate.name;
  const auto name = [&](const BackendInfo& info) {
    return have_one_name ? name_of_profile(info) : info.name;
  };
  const auto sighting = [&](std::uint32_t code) {
    return Sighting{value_of_code(written.type, code), code, written.type};
  };
  progress.difference = ShadowDifference{.op = progress.index,
                                         .op_text = describe(plan, op),
                                         .why = why_text(op),
                                         .reference = name(sides_.reference),
                                         .candidate = name(sides_.candidate),
                                         .buffer = plan.buffer(written.view.buffer).name,
                                         .rank = written.rank,
                                         .view = written.view,
                                         .element = element,
                                         .expected = sighting(codes.expected),
                                         .actual = sighting(codes.actual),
                                         .ulps = ulps_between(written.type, codes)};
  progress.difference->operands = excerpts_of(operands_, {written.position, element, written.operand});
}

void ShadowBackend::resync(const Plan& plan, const Written& written) {
  for (std::int64_t at = 0; at < written.view.numel; at += kBlock) {
    const View part = part_of(written.view, at, std::min(kBlock, written.view.numel - at));
    expected_.resize(static_cast<std::size_t>(part.numel * bytes_of(written.type)));
    reference_.read(plan, written.rank, part, expected_);
    candidate_.write(plan, written.rank, part, expected_);
  }
  ++report_.resyncs;
}

}  // namespace

std::unique_ptr<Shadow> make_shadow_backend(ShadowPair pair, const ShadowOptions& options) {
  const BorrowedPair borrowed{*pair.reference, *pair.candidate};
  return std::make_unique<ShadowBackend>(std::move(pair), borrowed, options);
}

std::unique_ptr<Shadow> make_shadow_backend(BorrowedPair pair, const ShadowOptions& options) {
  return std::make_unique<ShadowBackend>(ShadowPair{}, pair, options);
}

}  // namespace shardcheck
