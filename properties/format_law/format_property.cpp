#include "properties/format_law/format_property.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/shadow.h"
#include "properties/case_fields.h"
#include "properties/format_law/format_laws.h"
#include "properties/format_law/zoo.h"

namespace shardcheck::case_fields {

template <>
struct EnumNames<FormatId> {
  static constexpr std::string_view names[] = {"e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0", "e2m1",
                                               "e3m2", "e2m3", "ue4m3",    "bf16",     "f16",  "f32"};
};

template <>
struct FieldsOf<FormatCase> {
  template <class F>
  static void list(F& fields, FormatCase& c) {
    fields("format", c.format);
    fields("policy", c.policy);
    fields("source", c.source);
    fields("inputs", c.inputs);
    fields("shift", c.shift);
    fields("random_bits", c.random_bits);
    fields("seed", c.seed);
    fields("fault", c.fault);
  }
};

}  // namespace shardcheck::case_fields

namespace shardcheck {
namespace {

using namespace case_fields;

constexpr std::size_t kFormatCount = std::size(kNarrowFormats);
constexpr DType kSources[] = {DType::f32, DType::bf16, DType::f16};

void check_inputs(const FormatCase& c, const std::string& where) {
  constexpr std::int64_t kMostInputs = 1 << 16, kEnd = std::int64_t{1} << 32;
  if (std::ssize(c.inputs) > kMostInputs)
    throw bad_input(where + ".inputs", fmt::format("expected at most {} numbers", kMostInputs));
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const auto bits = static_cast<std::uint32_t>(c.inputs[i]);
    if (c.inputs[i] >= kEnd || !has_number(c.source, bits))
      throw bad_input(fmt::format("{}.inputs[{}]", where, i),
                      fmt::format("expected the fp32 bits of a number of {}", name_of(c.source)));
  }
}

void check(const FormatCase& c, const std::string& where) {
  if (std::ranges::find(kNarrowFormats, c.format) == std::end(kNarrowFormats))
    throw bad_input(where + ".format", "expected a narrow format, as e4m3");
  if (cast_of(c) == nullptr)
    throw bad_input(where + ".policy",
                    fmt::format("\"{}\" is no cast into {}", c.policy, format_of(c.format).name));
  const bool is_source = std::ranges::find(kSources, c.source) != std::end(kSources);
  if (!is_source || (c.source != DType::f32 && !is_cast_op(c.format)))
    throw bad_input(where + ".source", "expected f32; bf16 or f16 for e4m3 and e5m2 only");
  constexpr std::int32_t kMostShift = 300, kMostBits = 8;
  if (c.shift > kMostShift) throw bad_input(where + ".shift", fmt::format("expected at most {}", kMostShift));
  if (c.random_bits < 1 || c.random_bits > kMostBits)
    throw bad_input(where + ".random_bits", fmt::format("expected 1 to {}", kMostBits));
  if (!c.fault.empty() && find_format_fault(c.fault) == nullptr)
    throw bad_input(where + ".fault", fmt::format("\"{}\" is no fault of formats", c.fault));
  check_inputs(c, where);
}

constexpr CaseKind kKind = kind_of<CastNumbers, random_format_case, check>("format");

}  // namespace

const CaseKind& format_kind() {
  return kKind;
}

std::string CastNumbers::json() const {
  return json_of_case(kKind, value_);
}

std::string CastNumbers::describe() const {
  return shardcheck::describe(value_);
}

std::vector<std::unique_ptr<Case>> CastNumbers::smaller() const {
  std::vector<std::unique_ptr<Case>> all;
  const auto with = [&](auto change) {
    FormatCase less = value_;
    change(less);
    all.push_back(std::make_unique<CastNumbers>(std::move(less)));
  };
  const auto half = static_cast<std::ptrdiff_t>((value_.inputs.size() + 1) / 2);
  if (!value_.inputs.empty()) {
    with([&](FormatCase& c) { c.inputs.erase(c.inputs.begin() + half, c.inputs.end()); });
    with([&](FormatCase& c) { c.inputs.erase(c.inputs.begin(), c.inputs.begin() + half); });
    with([&](FormatCase& c) { c.inputs.pop_back(); });
    with([&](FormatCase& c) { c.inputs.erase(c.inputs.begin()); });
  }
  if (value_.shift != 0) with([](FormatCase& c) { c.shift /= 2; });
  return all;
}

const std::vector<std::string>& format_situations() {
  static const std::vector<std::string> situations = [] {
    std::vector<std::string> all;
    for (const FormatId format : kNarrowFormats)
      all.push_back(fmt::format("format {}", format_of(format).name));
    for (const DType source : kSources) all.push_back(fmt::format("from {}", name_of(source)));
    for (const FormatId format : {FormatId::e4m3, FormatId::e8m0}) {
      for (const NamedCast& cast : named_casts(format)) all.push_back(fmt::format("policy {}", cast.name));
    }
    return all;
  }();
  return situations;
}

JudgedCase judge_format_case(Backend& backend, const Case& c) {
  const FormatCase& value = static_cast<const CastNumbers&>(c).value();
  if (const FormatFault* fault = find_format_fault(value.fault)) {
    JudgedCase judged{judge_format(value, NumberMachine(fault->rules)), {}};
    std::ranges::stable_partition(judged.findings, [&](const Finding& f) { return f.clause == fault->law; });
    return judged;
  }
  JudgedCase judged{judge_format(value, NumberMachine(candidate_of(backend))), {}};
  const auto index_of = [](const auto& list, const auto& each) {
    return static_cast<std::size_t>(std::ranges::find(list, each) - std::begin(list));
  };
  judged.situations = {index_of(kNarrowFormats, value.format),
                       kFormatCount + index_of(kSources, value.source),
                       index_of(format_situations(), fmt::format("policy {}", value.policy))};
  return judged;
}

}  // namespace shardcheck
