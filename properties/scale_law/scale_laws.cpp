#include "properties/scale_law/scale_laws.h"

#include <fmt/format.h>

#include "properties/scale_law/amax_laws.h"
#include "properties/scale_law/code_laws.h"
#include "properties/scale_law/formula_laws.h"
#include "properties/scale_law/pairing_laws.h"
#include "properties/scale_law/storage_laws.h"

namespace shardcheck {
namespace {

struct Law {
  std::string_view clause;
  ScaleVerdict (*judge)(const ScaleSubject& s);
};

constexpr Law kLaws[] = {
    {"F17", powers_arrive},
    {"F18", measures_the_largest},
    {"F19", treats_nan_alike},
    {"F20", follows_its_formula},
    {"F21", is_finite},
    {"F22", stores_its_inverse},
    {"F24", raises_amax_only},
    {"F27", keeps_codes},
    {"F29", survives_requantisation},
    {"F35", lies_where_it_should},
    {"F36", swizzles_all},
    {"F37", ignores_padding},
    {"F38", scale_fits_codes},
    {"F39", products_are_exact},
};

}  // namespace

std::vector<Finding> judge_scales(const ScaleCase& c, const ScaleMachine& machine) {
  const ScaleSubject subject(c, machine);
  std::vector<Finding> findings;
  for (const Law& law : kLaws) {
    const ScaleVerdict broken = law.judge(subject);
    if (!broken) continue;
    findings.push_back(
        {.clause = std::string(law.clause),
         .sentence = fmt::format("{}, {}: {}", subject.recipe.name, subject.format.name, *broken)});
  }
  return findings;
}

}  // namespace shardcheck
