#include "properties/fingerprint/fingerprint.h"

#include <array>
#include <map>
#include <utility>

#include "properties/fingerprint/accumulator.h"
#include "properties/fingerprint/blocks.h"
#include "properties/fingerprint/casts.h"
#include "properties/fingerprint/elementwise.h"
#include "properties/fingerprint/gemm_end.h"
#include "properties/fingerprint/reductions.h"
#include "properties/fingerprint/repeats.h"
#include "properties/fingerprint/scale_order.h"

namespace shardcheck {
namespace {

/// A part of the work.
struct Part {
  std::string name;
  std::function<std::vector<Fact>(Backend&)> observe;
};

std::vector<Part> parts() {
  std::vector<Part> all;
  for (const DotRule& rule : accumulators_to_observe()) {
    all.push_back({"accumulator of " + describe(rule),
                   [rule](Backend& backend) { return observe_accumulator(backend, rule); }});
  }
  all.push_back({"scales", observe_scale_order});
  for (const DotRule& rule : ends_to_observe()) {
    all.push_back(
        {"end of " + describe(rule), [rule](Backend& backend) { return observe_gemm_end(backend, rule); }});
  }
  all.push_back({"empty products", observe_empty_wgrad});
  all.push_back({"casts", observe_casts});
  all.push_back({"scaled casts", observe_scaled_casts});
  all.push_back({"reductions", observe_reductions});
  all.push_back({"blocks", observe_block_ops});
  all.push_back({"elementwise", observe_elementwise});
  all.push_back({"repeats", observe_repeats});
  return all;
}

using Key = std::pair<std::string, std::string>;
std::map<Key, std::string> values_of(const Fingerprint& fingerprint) {
  std::map<Key, std::string> values;
  for (const Fact& fact : fingerprint.facts) values[{fact.subject, fact.name}] = fact.value;
  return values;
}

}  // namespace

std::vector<DotRule> accumulators_to_observe() {
  std::vector<DotRule> rules;
  for (DType type : {DType::bf16, DType::f16}) {
    for (GemmOp op : {GemmOp::matmul, GemmOp::wgrad}) rules.push_back({.op = op, .a = type, .b = type});
  }
  constexpr std::array kPairs = {std::pair{DType::e4m3, DType::e4m3}, std::pair{DType::e4m3, DType::e5m2},
                                 std::pair{DType::e5m2, DType::e4m3}};
  for (bool fast : {true, false}) {
    for (const auto& [a, b] : kPairs) rules.push_back({.a = a, .b = b, .fast_accumulation = fast});
  }
  return rules;
}

std::vector<DotRule> ends_to_observe() {
  std::vector<DotRule> rules;
  for (DotRule rule : accumulators_to_observe()) {
    for (DType output : {DType::f32, DType::bf16, DType::f16}) {
      const bool libraries_have_it = bytes_of(rule.a) == 1 || output == DType::f32 || output == rule.a;
      if (!libraries_have_it) continue;
      rule.d = output;
      rules.push_back(rule);
    }
  }
  return rules;
}

Fingerprint observe(Backend& backend, const FingerprintProgress& progress) {
  Fingerprint fingerprint{backend.info(), {}, {}};
  const std::vector<Part> all = parts();
  for (std::size_t i = 0; i < all.size(); ++i) {
    progress(all[i].name, static_cast<double>(i) / static_cast<double>(all.size()));
    for (Fact& fact : all[i].observe(backend)) fingerprint.facts.push_back(std::move(fact));
  }
  return fingerprint;
}

std::vector<FactDifference> differences(const Fingerprint& a, const Fingerprint& b) {
  const auto in_a = values_of(a), in_b = values_of(b);
  std::vector<FactDifference> found;
  for (const Fact& fact : a.facts) {
    const auto other = in_b.find({fact.subject, fact.name});
    const std::string value = other == in_b.end() ? "" : other->second;
    if (value != fact.value) found.push_back({fact.subject, fact.name, fact.value, value});
  }
  for (const Fact& fact : b.facts) {
    if (in_a.contains({fact.subject, fact.name}) || !fact.is_observed()) continue;
    found.push_back({fact.subject, fact.name, "", fact.value});
  }
  return found;
}

}  // namespace shardcheck
