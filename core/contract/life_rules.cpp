#include "core/contract/life_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/recipe/catalogue.h"

namespace shardcheck {
namespace {

constexpr std::size_t kMostHistory = 24;

DType narrower(DType a, DType b) {
  return bytes_of(b) < bytes_of(a) ? b : a;
}

}  // namespace

LifeRules::LifeRules(const Plan& plan, std::span<const OpIndex> executed, Reporter& reporter)
    : plan_(plan),
      executed_(executed),
      reporter_(reporter),
      state_(plan),
      clocks_(plan),
      log_(plan.parameters.size()) {
  for (const OpIndex index : executed) {
    const Op& op = plan.ops[static_cast<std::size_t>(index.value)];
    if (std::holds_alternative<SgdStep>(op.action)) steps_with_optimizer_.insert(op.why.step);
  }
  seed_initial_values();
}

/// The executor writes initial values before the first op that reads them; that op says whose they are.
void LifeRules::seed_initial_values() {
  std::set<std::int32_t> seen;
  for (const OpIndex index : executed_) {
    const Op& op = plan_.ops[static_cast<std::size_t>(index.value)];
    if (op.operands == 0 || op.ranks == 0 || op.why.parameter.value < 0) continue;
    const BufferId id = view(op, 0, 0).buffer;
    const Buffer& buffer = plan_.buffer(id);
    if (buffer.role != BufferRole::initial || !seen.insert(id.value).second) continue;
    for (std::int32_t r = 0; r < plan_.ranks; ++r) {
      const std::int32_t tensor = tensor_of(op.why.parameter.value, Rank{r});
      ByteRange whole{.end = buffer.numel, .element = 0};
      whole.stamp = {.held = Held::value,
                     .precision = buffer.dtype,
                     .parameter = op.why.parameter.value,
                     .tensor = tensor,
                     .version = versions_.first(op.why.parameter.value, tensor)};
      state_.buffer(Rank{r}, id).assign({&whole, 1});
    }
  }
}

/// One line a kind of op that moves versions or reads them.
struct LifeRules::Kinds {
  LifeRules& rules;
  const Op& op;

  void operator()(const Record& record) const {
    for (const Rank r : rules.plan_.ranks_of(op))
      rules.clocks_.record(r, op.stream, record.event, rules.index_);
  }
  void operator()(const Wait& wait) const {
    for (const Rank r : rules.plan_.ranks_of(op)) rules.clocks_.wait(r, op.stream, wait.event);
  }
  void operator()(const BeginMicrobatch&) const { rules.judge_orphans(op); }
  void operator()(const EndStep&) const { rules.judge_orphans(op); }
  void operator()(const Matmul&) const { rules.multiply(op); }
  void operator()(const DequantizeBlocks& dequantize) const { rules.dequantize(op, dequantize); }
  void operator()(const TakeAmax& take) const { rules.take_amax(op, take); }
  void operator()(const ScaleFromAmax& scale) const { rules.scale_from_amax(op, scale); }
  void operator()(const QuantizeBlocks& blocks) const {
    rules.quantize(op, blocks.of.recipe, blocks.of.direction, blocks.start);
  }
  void operator()(const Quantize&) const { rules.quantize(op, -1, recipe::Direction::row, -1); }
  void operator()(const QuantizeMatrix& matrix) const { rules.quantize_matrix(op, matrix); }
  void operator()(const DeriveColumnCopy&) const { rules.derive(op); }
  void operator()(const CloseDelayedStep&) const { rules.close(op); }
  void operator()(const Communicate& communicate) const {
    if (!rules.is_tracked(op, 0)) return;
    if (communicate.collective == Collective::all_gather)
      rules.gather(op, communicate);
    else if (communicate.reduction == Reduction::maximum)
      rules.maximum(op, communicate);
  }
  void operator()(const SgdStep&) const { rules.step(op); }
  void operator()(const Copy&) const { rules.copy(op); }
  void operator()(const Cast&) const { rules.copy(op); }
  void operator()(const Fill&) const { rules.fill(op); }
  void operator()(const Undefine&) const { rules.undefine(op); }
  template <class Other>
  void operator()(const Other&) const {}
};

void LifeRules::apply(OpIndex index) {
  const Op& op = plan_.ops[static_cast<std::size_t>(index.value)];
  ++index_;
  stream_ = op.stream;
  std::visit(Kinds{*this, op}, op.action);
}

bool LifeRules::is_tracked(const Op& op, int operand) const {
  return op.operands > operand && op.ranks > 0 && state_.is_tracked(view(op, operand, 0).buffer);
}

LifeRules::Ranges LifeRules::read(const Op& op, int operand, std::int32_t i) {
  Ranges ranges;
  const View from = view(op, operand, i);
  if (!state_.is_tracked(from.buffer)) return ranges;
  for (ByteRange& range : state_.at(rank(op, i), from)) {
    if (!clocks_.is_after(rank(op, i), stream_, range.written)) {
      breach("F46", {op, i, operand}, range,
             fmt::format("reads {} without waiting for op {}, which writes them on the other stream",
                         name_of(range.stamp.held), op_at(range.written).value));
    }
    range.read[static_cast<std::size_t>(stream_)] = {stream_, index_};
    ranges.push_back(range);
  }
  return ranges;
}

void LifeRules::write(const Op& op, int operand, std::int32_t i, Ranges fresh) {
  const View to = view(op, operand, i);
  if (fresh.empty() || !state_.is_tracked(to.buffer)) return;
  bool is_tainted = false;
  for (ByteRange& old : state_.at(rank(op, i), to)) {
    std::array<Moment, 1 + kStreams> uses = {old.written};
    std::ranges::copy(old.read, uses.begin() + 1);
    for (const Moment& use : uses) {
      if (clocks_.is_after(rank(op, i), stream_, use) || is_tainted) continue;
      breach(
          "F46", {op, i, operand}, old,
          fmt::format("overwrites {} without waiting for op {}, which uses them on the other stream",
                      old.stamp.held == Held::nothing ? "bytes" : name_of(old.stamp.held), op_at(use).value));
      is_tainted = true;
    }
  }
  for (ByteRange& range : fresh) {
    range.written = {stream_, index_};
    range.read = kUnread;
    range.stamp.is_tainted |= is_tainted;
  }
  state_.buffer(rank(op, i), to.buffer).assign(fresh);
}

void LifeRules::write(const Op& op, int operand, std::int32_t i, const Stamp& stamp) {
  const View to = view(op, operand, i);
  if (to.numel == 0) return;
  write(op, operand, i, Ranges{{.begin = to.offset, .end = to.offset + to.numel, .stamp = stamp}});
}

LifeRules::Ranges LifeRules::moved(Ranges ranges, View from, View to) {
  for (ByteRange& range : ranges) {
    range.begin += to.offset - from.offset;
    range.end += to.offset - from.offset;
  }
  return ranges;
}

void LifeRules::breach(std::string_view clause, const Site& site, ByteRange& range,
                       const std::string& sentence) {
  const bool is_new = !range.stamp.is_tainted;
  range.stamp.is_tainted = true;
  const View place{view(site.op, site.operand, site.i).buffer, range.begin, range.end - range.begin};
  for (ByteRange& held : state_.at(rank(site.op, site.i), place)) held.stamp.is_tainted = true;
  if (is_new) report(clause, site, std::max<std::int64_t>(range.element, 0), sentence);
}

void LifeRules::breach(std::string_view clause, const Site& site, const std::string& sentence) {
  bool is_new = true;
  for (ByteRange& held : state_.at(rank(site.op, site.i), view(site.op, site.operand, site.i))) {
    is_new &= !held.stamp.is_tainted;
    held.stamp.is_tainted = true;
  }
  if (is_new) report(clause, site, 0, sentence);
}

/// One finding an op, clause and parameter: what the other ranks show is the same.
void LifeRules::report(std::string_view clause, const Site& site, std::int64_t element,
                       const std::string& sentence) {
  std::int32_t parameter = site.op.why.parameter.value;
  if (parameter < 0) {
    for (const ByteRange& held : state_.at(rank(site.op, site.i), view(site.op, site.operand, site.i)))
      if (parameter < 0) parameter = held.stamp.parameter;
  }
  if (!reported_.insert({index_, std::string(clause), parameter}).second) return;
  std::optional<Reporter::Place> place;
  if (parameter >= 0) place = {ParamId{parameter}, element};
  Finding* finding = reporter_.report(clause, rank(site.op, site.i), place, sentence);
  if (finding != nullptr && parameter >= 0) finding->history = history_of(ParamId{parameter});
}

std::vector<std::string> LifeRules::history_of(ParamId parameter) const {
  const std::vector<Event>& events = log_[static_cast<std::size_t>(parameter.value)];
  std::vector<std::string> lines;
  for (std::size_t e = events.size() - std::min(events.size(), kMostHistory); e < events.size(); ++e) {
    const Op& op = plan_.ops[static_cast<std::size_t>(events[e].op)];
    lines.push_back(fmt::format("op {}: {} -> {}", events[e].op, describe(plan_, op), events[e].what));
  }
  return lines;
}

void LifeRules::note(std::int32_t parameter, std::string what) {
  if (parameter < 0) return;
  std::vector<Event>& events = log_[static_cast<std::size_t>(parameter)];
  const std::int32_t op = reporter_.op().value;
  if (events.empty() || events.back().op != op || events.back().what != what)
    events.push_back({op, std::move(what)});
}

std::int32_t LifeRules::tensor_of(std::int32_t parameter, Rank rank) const {
  if (parameter < 0) return 0;
  const std::int32_t group = plan_.parameters[static_cast<std::size_t>(parameter)].group;
  return rank.value % std::max(1, plan_.ranks / std::max(1, group));
}

std::vector<Rank> LifeRules::ranks_of(std::int32_t parameter, std::int32_t tensor) const {
  std::vector<Rank> ranks;
  for (std::int32_t r = 0; r < plan_.ranks; ++r) {
    if (tensor_of(parameter, Rank{r}) == tensor) ranks.push_back(Rank{r});
  }
  return ranks;
}

std::int32_t LifeRules::current(std::int32_t parameter, std::int32_t tensor) {
  const auto [found, is_new] = current_.try_emplace({parameter, tensor}, 0);
  if (is_new) found->second = versions_.first(parameter, tensor);
  return found->second;
}

std::string LifeRules::version_text(std::int32_t version) const {
  if (version < 0) return "no version";
  return fmt::format("version {}", versions_[version].steps);
}

std::string LifeRules::name_of_parameter(std::int32_t parameter) const {
  return parameter < 0 ? "nothing" : plan_.parameters[static_cast<std::size_t>(parameter)].name;
}

std::string LifeRules::requirement(const Op& op, std::int32_t version) const {
  if (step_of(op) < 0) return fmt::format("the masters are at {}", version_text(version));
  return fmt::format("step {} requires {}", op.why.step, version_text(version));
}

OpIndex LifeRules::op_at(const Moment& moment) const {
  return moment.position < 0 ? OpIndex{-1} : executed_[static_cast<std::size_t>(moment.position)];
}

bool LifeRules::is_skipped(const Op& op) const {
  return step_of(op) >= 0 && !steps_with_optimizer_.empty() && !steps_with_optimizer_.contains(step_of(op));
}

std::string_view LifeRules::clause_of_loss(const Site& site, const ByteRange& range,
                                           std::string_view otherwise) const {
  const std::int32_t buffer = view(site.op, site.operand, site.i).buffer.value;
  const auto found = saved_.lower_bound({buffer, range.begin});
  const bool was_saved = found != saved_.end() && found->first == buffer && found->second < range.end;
  return was_saved ? "F53" : otherwise;
}

void LifeRules::fill(const Op& op) {
  if (!is_tracked(op, 0)) return;
  for (std::int32_t i = 0; i < op.ranks; ++i) write(op, 0, i, Stamp{.held = Held::number});
}

void LifeRules::undefine(const Op& op) {
  if (!is_tracked(op, 0)) return;
  for (std::int32_t i = 0; i < op.ranks; ++i) write(op, 0, i, Stamp{});
  note(op.why.parameter.value, "undefined");
}

void LifeRules::copy(const Op& op) {
  if (!is_tracked(op, 1)) return;
  const DType type = plan_.buffer(view(op, 1, 0).buffer).dtype;
  const BufferRole role = plan_.buffer(view(op, 1, 0).buffer).role;
  for (std::int32_t i = 0; i < op.ranks; ++i) {
    const View from = view(op, 0, i), to = view(op, 1, i);
    if (to.numel == 0) continue;
    if (!is_tracked(op, 0)) {
      write(op, 1, i, Stamp{.held = Held::number});
      continue;
    }
    Ranges ranges = moved(read(op, 0, i), from, to);
    for (ByteRange& range : ranges) range.stamp.precision = narrower(range.stamp.precision, type);
    if (role == BufferRole::master) master_written(op, ranges, rank(op, i));
    const bool is_saved = role == plan_.buffer(from.buffer).role && !is_of_copy(to);
    if (is_saved) saved_.insert({from.buffer.value, from.offset});
    if (!ranges.empty() && ranges.front().stamp.parameter >= 0)
      note(ranges.front().stamp.parameter,
           fmt::format(
               "{} of {}", name_of(ranges.front().stamp.held),
               version_text(ranges.front().stamp.held == Held::delayed ? -1 : ranges.front().stamp.version)));
    write(op, 1, i, std::move(ranges));
  }
}

/// Masters that are written anew, at the begin or by a load, say what is current.
void LifeRules::master_written(const Op& op, const Ranges& ranges, Rank of) {
  for (const ByteRange& range : ranges) {
    const Stamp& stamp = range.stamp;
    if (stamp.held != Held::value || stamp.parameter < 0) continue;
    current_[{stamp.parameter, stamp.tensor}] = stamp.version;
    if (!stamp.is_from_codes || stamp.is_tainted) continue;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (plan_.buffers[b].role != BufferRole::initial) continue;
      for (const ByteRange& kept : state_.buffer(of, BufferId{static_cast<std::int32_t>(b)}).all()) {
        const bool is_kept = kept.stamp.held == Held::value && kept.stamp.parameter == stamp.parameter;
        if (!is_kept) continue;
        const auto ranks = plan_.ranks_of(op);
        const auto i = static_cast<std::int32_t>(std::ranges::find(ranks, of) - ranks.begin());
        return report("F52", {op, i, op.operands - 1}, range.element,
                      fmt::format("the master of {} is made of decoded codes, although its initial value is "
                                  "kept: every element is on the FP8 grid, forever",
                                  name_of_parameter(stamp.parameter)));
      }
    }
  }
}

void LifeRules::step(const Op& op) {
  if (!is_tracked(op, 1)) return;
  for (std::int32_t i = 0; i < op.ranks; ++i) {
    Ranges ranges = read(op, 1, i);
    for (ByteRange& range : ranges) {
      Stamp& stamp = range.stamp;
      if (stamp.held != Held::value || stamp.parameter < 0) continue;
      stamp.version = versions_.next(stamp.version, op.why.step, reporter_.op());
      stamp.precision = plan_.buffer(view(op, 1, i).buffer).dtype;
      current_[{stamp.parameter, stamp.tensor}] = stamp.version;
      note(stamp.parameter, fmt::format("master of {}", version_text(stamp.version)));
    }
    write(op, 1, i, std::move(ranges));
  }
}

}  // namespace shardcheck
