#include "properties/layout_laws/layout_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "properties/layout_laws/case_json.h"
#include "properties/layout_laws/quirks.h"
#include "properties/layout_laws/random_case.h"
#include "properties/layout_laws/zoo.h"

namespace shardcheck::laws {
namespace {

using Smaller = std::vector<std::unique_ptr<shardcheck::Case>>;

/// Removes parameter `index`; aliases of it become tensors of their own.
void drop_parameter(Asked& asked, std::int32_t index) {
  asked.parameters.erase(asked.parameters.begin() + index);
  for (layout::Parameter& p : asked.parameters) {
    if (!p.tied_to) continue;
    if (p.tied_to->value == index) {
      p.tied_to.reset();
    } else if (p.tied_to->value > index) {
      --p.tied_to->value;
    }
  }
  if (!asked.configuration.owners.empty())
    asked.configuration.owners.erase(asked.configuration.owners.begin() + index);
}

/// Tied names keep the shape of what they reach.
void settle_ties(Asked& asked) {
  for (layout::Parameter& p : asked.parameters) {
    if (p.tied_to) p.shape = asked.parameters[static_cast<std::size_t>(p.tied_to->value)].shape;
  }
}

void add(Smaller& all, Case c) {
  settle_ties(c.asked);
  if (c.moved_to) c.moved_to->parameters = c.asked.parameters;
  all.push_back(std::make_unique<LayoutCase>(std::move(c)));
}

void drop_parameters(const Case& c, Smaller& all) {
  for (std::int32_t i = 0; std::ssize(c.asked.parameters) > 1 && i < std::ssize(c.asked.parameters); ++i) {
    Case less = c;
    drop_parameter(less.asked, i);
    if (less.moved_to) {
      less.moved_to->parameters = c.asked.parameters;
      drop_parameter(*less.moved_to, i);
    }
    add(all, std::move(less));
  }
}

void shrink_mesh(const Case& c, Smaller& all) {
  for (std::size_t i = 0; i < c.asked.mesh.axes.size(); ++i) {
    const std::int32_t size = c.asked.mesh.axes[i].size;
    for (const std::int32_t fewer : {1, 2, size / 2, size - 1}) {
      if (fewer < 1 || fewer >= size) continue;
      Case less = c;
      less.asked.mesh.axes[i].size = fewer;
      auto& units = less.asked.configuration.units;
      const auto world = static_cast<std::size_t>(less.asked.mesh.ranks_along(layout::AxisUse::shard));
      if (units.size() > world) units.resize(world);
      less.asked.configuration.owners.clear();
      add(all, std::move(less));
    }
  }
}

void shrink_shapes(const Case& c, Smaller& all) {
  for (std::size_t i = 0; i < c.asked.parameters.size(); ++i) {
    const auto& shape = c.asked.parameters[i].shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      for (const std::int64_t fewer : {std::int64_t{0}, std::int64_t{1}, shape[d] / 2, shape[d] - 1}) {
        if (fewer < 0 || fewer >= shape[d]) continue;
        Case less = c;
        less.asked.parameters[i].shape[d] = fewer;
        add(all, std::move(less));
      }
    }
  }
}

/// Back to the default, flag by flag.
void plain_parameters(const Case& c, Smaller& all) {
  for (std::size_t i = 0; i < c.asked.parameters.size(); ++i) {
    const layout::Parameter& p = c.asked.parameters[i];
    const auto with = [&](auto member) {
      Case less = c;
      less.asked.parameters[i].*member = layout::Parameter{}.*member;
      if (less.asked.parameters[i] != p) add(all, std::move(less));
    };
    with(&layout::Parameter::expert);
    with(&layout::Parameter::requires_grad);
    with(&layout::Parameter::layerwise);
    with(&layout::Parameter::shared_embedding);
    with(&layout::Parameter::quantized);
    with(&layout::Parameter::unit);
    with(&layout::Parameter::tied_to);
    with(&layout::Parameter::shard_dim);
    with(&layout::Parameter::group);
    with(&layout::Parameter::block_rows);
    with(&layout::Parameter::remat_factor);
    with(&layout::Parameter::dtype);
  }
}

void plain_configuration(const Case& c, Smaller& all) {
  const auto with = [&](auto member) {
    Case less = c;
    less.asked.configuration.*member = layout::Configuration{}.*member;
    if (less.asked.configuration.*member != c.asked.configuration.*member) add(all, std::move(less));
  };
  using C = layout::Configuration;
  with(&C::expert_world), with(&C::bucket_size), with(&C::grad_reduce_in_f32);
  with(&C::pad_for_high_bus_bandwidth), with(&C::strategy), with(&C::suggested_bucket_size);
  with(&C::block_rows), with(&C::owners), with(&C::fsdp1_mode), with(&C::compute_dtype);
  with(&C::zero_order), with(&C::sub_group_size), with(&C::granularity), with(&C::units);
  with(&C::placements), with(&C::order);
}

bool is_huge(const Case& c) {
  return std::ranges::any_of(c.asked.parameters,
                             [](const auto& p) { return p.numel() >= std::int64_t{1} << 31; });
}

/// The metamorphic law (e), by which a quirk shows.
constexpr std::int64_t kSplitGroup = 4;

std::unique_ptr<shardcheck::Case> draw(CaseNumber number) {
  const auto known = quirks();
  if (number.number < known.size())
    return std::make_unique<LayoutCase>(
        Case{.asked = known[number.number].smallest(), .choice = kSplitGroup});
  return std::make_unique<LayoutCase>(random_case(number.seed, number.number));
}

std::unique_ptr<shardcheck::Case> read(const std::string& json, const std::string& where) {
  return std::make_unique<LayoutCase>(case_from_json(json, where));
}

constexpr CaseKind kKind{"layout", draw, read};

std::size_t position(std::string_view layout) {
  const auto all = layout::named_layouts();
  return static_cast<std::size_t>(layout::find_layout(layout) - all.data());
}

JudgedCase judge_fault(const LayoutFault& fault) {
  JudgedCase judged;
  Findings findings = findings_of(fault);
  // The law that it must break first: others may break with it.
  std::ranges::stable_partition(findings, [&](const LawFinding& f) { return f.law == fault.law; });
  for (const LawFinding& finding : findings) judged.findings.push_back(finding_of(finding));
  return judged;
}

std::size_t position(const LawFinding& finding) {
  const auto all = quirks();
  const auto found = std::ranges::find_if(all, [&](const Quirk& quirk) {
    return quirk.layout == finding.layout && quirk.law == finding.law && quirk.reference == finding.quirk;
  });
  return static_cast<std::size_t>(found - all.begin());
}

}  // namespace

const CaseKind& layout_kind() {
  return kKind;
}

std::string LayoutCase::json() const {
  return laws::to_json(value_);
}

std::string LayoutCase::describe() const {
  std::string text = laws::to_text(value_.asked);
  if (!value_.fault.empty()) text += fmt::format(", with fault {} switched on", value_.fault);
  if (value_.moved_to) text += "; then moved to " + laws::to_text(*value_.moved_to);
  return text;
}

Smaller LayoutCase::smaller() const {
  Smaller all;
  if (!value_.fault.empty()) return all;  // a fault is written for its model
  if (value_.moved_to) {
    laws::Case less = value_;
    less.moved_to.reset();
    add(all, std::move(less));
  }
  drop_parameters(value_, all);
  shrink_mesh(value_, all);
  shrink_shapes(value_, all);
  plain_configuration(value_, all);
  plain_parameters(value_, all);
  return all;
}

const std::vector<std::string>& layout_situations() {
  static const std::vector<std::string> situations = [] {
    std::vector<std::string> all{"a model that the layout refuses", "a tensor of 2^31 elements or more",
                                 "a move to another layout or world"};
    for (const layout::NamedLayout& each : layout::named_layouts())
      all.push_back(fmt::format("bytes moved under {}", each.name));
    for (const Quirk& quirk : quirks())
      all.push_back(fmt::format("quirk {} of {} breaks {}", quirk.reference, quirk.layout, quirk.law));
    return all;
  }();
  return situations;
}

JudgedCase judge_layout_case(Backend&, const shardcheck::Case& c) {
  const Case& value = static_cast<const LayoutCase&>(c).value();
  if (!value.fault.empty()) return judge_fault(*find_layout_fault(value.fault));
  const Verdict verdict = judge(value);
  constexpr std::size_t kFirstLayout = 3;
  const std::size_t first_quirk = kFirstLayout + layout::named_layouts().size();
  JudgedCase judged;
  if (verdict.rejected) judged.situations.push_back(0);
  if (is_huge(value)) judged.situations.push_back(1);
  if (verdict.moved_bytes && value.moved_to) judged.situations.push_back(2);
  if (verdict.moved_bytes) judged.situations.push_back(kFirstLayout + position(value.asked.layout));
  for (const LawFinding& finding : verdict.findings) {
    if (finding.quirk.empty()) {
      judged.findings.push_back(finding_of(finding));
    } else {
      judged.situations.push_back(first_quirk + position(finding));
    }
  }
  return judged;
}

Finding finding_of(const LawFinding& from) {
  Finding finding{.clause = std::string(from.law)};
  finding.sentence = fmt::format("{}: {}", from.layout, from.sentence);
  if (from.expected != from.actual)
    finding.sentence += fmt::format("; expected {} (0x{:x}), got {} (0x{:x})", from.expected,
                                    static_cast<std::uint64_t>(from.expected), from.actual,
                                    static_cast<std::uint64_t>(from.actual));
  finding.parameter_name = from.parameter;
  finding.rank = from.rank;
  finding.element = from.element;
  return finding;
}

}  // namespace shardcheck::laws
