#include "tools/shardcheck/zoo_bugs.h"

#include <fmt/format.h>

#include "core/assert.h"
#include "properties/cast_law/zoo.h"
#include "properties/format_law/format_property.h"
#include "properties/format_law/zoo.h"
#include "properties/layout_laws/layout_case.h"
#include "properties/layout_laws/zoo.h"
#include "properties/product_law/product_law_property.h"
#include "properties/product_law/zoo.h"
#include "properties/quantisation_law/quantisation_property.h"
#include "properties/quantisation_law/zoo.h"
#include "properties/recipe_law/zoo.h"
#include "properties/scale_law/scale_property.h"
#include "properties/scale_law/zoo.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

void append_plans(std::vector<Bug>& bugs) {
  for (const Fault& fault : zoo())
    bugs.push_back({.id = std::string(fault.id),
                    .source = std::string(fault.source),
                    .sentence = std::string(fault.sentence),
                    .clause = std::string(fault.clause),
                    .of_plans = &fault});
}

void append_layouts(std::vector<Bug>& bugs) {
  for (const laws::LayoutFault& fault : laws::layout_zoo()) {
    const laws::Asked model = fault.model();
    bugs.push_back({.id = fmt::format("layout/{}", fault.id),
                    .source = fault.id.starts_with("B")   ? "shard-layouts 6"
                              : fault.id.starts_with("K") ? "known faults"
                                                          : "ours",
                    .sentence = std::string(fault.title),
                    .clause = std::string(fault.law),
                    .property = property_of_clause(fault.law),
                    .own_case =
                        [&fault] {
                          return std::make_unique<laws::LayoutCase>(
                              laws::Case{.asked = fault.model(), .fault = std::string(fault.id)});
                        },
                    .size = fmt::format("{}, {}, {}", counted(model.mesh.ranks(), "rank"),
                                        counted(std::ssize(model.parameters), "tensor"), model.layout)});
  }
}

/// The entries of one zoo of FP8. `size` says a case in a few words.
struct Fp8Zoo {
  std::string_view prefix, property;
};
template <class CaseClass, class Fault, class Size>
void append_fp8(std::vector<Bug>& bugs, const Fp8Zoo& names, std::span<const Fault> faults, Size size) {
  const Property* property = find_property(names.property);
  SC_ASSERT(property != nullptr, "nobody judges a zoo");
  for (const Fault& fault : faults) {
    std::string clause;
    if constexpr (std::is_same_v<Fault, ProductFault>) {
      clause = clause_of(fault.law);
    } else {
      clause = fault.law;
    }
    bugs.push_back({.id = fmt::format("{}/{}", names.prefix, fault.id),
                    .source = fault.id.starts_with("Q") ? "fp8 7" : "ours",
                    .sentence = std::string(fault.title),
                    .clause = std::move(clause),
                    .property = property,
                    .own_case = [&fault] { return std::make_unique<CaseClass>(case_of(fault)); },
                    .size = size(case_of(fault))});
  }
}

std::string size_of(const QuantisationCase& c) {
  return fmt::format("{}, {}, {}", counted(c.world, "rank"), counted(std::ssize(c.weights), "weight"),
                     c.recipe);
}
std::string size_of(const FormatCase& c) {
  return fmt::format("{}, {}", counted(std::ssize(c.inputs), "number"), format_of(c.format).name);
}
std::string size_of(const CastCase& c) {
  return fmt::format("{}, {}", counted(std::ssize(c.inputs), "number"), name_of(c.destination));
}
std::string size_of(const ScaleCase& c) {
  return fmt::format("{} x {}, {}", c.rows, c.columns, c.recipe);
}
std::string size_of(const RecipeCase& c) {
  return fmt::format("{} x {}, {}", c.rows, c.columns, c.recipe);
}
std::string size_of(const ProductQuestion& q) {
  return fmt::format("{} x {} x {}, {}", q.gemm.op.m, q.gemm.op.n, q.gemm.op.k, name_of(q.gemm.a));
}
constexpr auto kSize = [](const auto& c) { return size_of(c); };

}  // namespace

std::vector<Bug> all_bugs() {
  std::vector<Bug> bugs;
  append_plans(bugs);
  append_layouts(bugs);
  append_fp8<ShardedQuantisation>(bugs, {"quantisation", "sharded-quantisation"}, quantisation_zoo(), kSize);
  append_fp8<CastNumbers>(bugs, {"format", "formats"}, format_zoo(), kSize);
  append_fp8<CastOfInputs>(bugs, {"cast", "casts"}, cast_zoo(), kSize);
  append_fp8<ScaledMatrix>(bugs, {"scale", "scales"}, scale_zoo(), kSize);
  append_fp8<QuantisedMatrix>(bugs, {"recipe", "recipes"}, recipe_zoo(), kSize);
  append_fp8<AskedProduct>(bugs, {"product", "product-laws"}, product_zoo(), kSize);
  return bugs;
}

bool is_of_fp8(const Bug& bug) {
  return bug.own_case != nullptr && !bug.id.starts_with("layout/");
}

}  // namespace shardcheck
