#include "sim/scenario/provenance_coding.h"

#include <algorithm>
#include <limits>

#include "core/integers.h"

namespace shardcheck {
namespace {

const ScenarioParameter& parameter_of(const Scenario& scenario, std::int32_t parameter) {
  SC_ASSERT(parameter >= 0 && parameter < std::ssize(scenario.parameters), "no such parameter");
  return scenario.parameters[static_cast<std::size_t>(parameter)];
}

/// Bits of the significand, the hidden one included.
std::int32_t significand_bits(DType type) {
  switch (type) {
    case DType::f32: return 24;
    case DType::f16: return 11;
    case DType::bf16: return 8;
    default: SC_ASSERT(false, "a gradient is f32, bf16 or f16"); return 0;
  }
}

}  // namespace

UseCounts use_counts(const Scenario& scenario, std::int32_t parameter) {
  UseCounts counts;
  const std::int32_t copy = tied_copy(scenario, parameter);
  for (const ScenarioUse& use : scenario.uses) {
    if (use.parameter == parameter || use.parameter == copy) counts.add(use, scenario.write_mode);
  }
  return counts;
}

std::int64_t provenance_contributions(const Scenario& scenario, std::int32_t parameter, UseCounts uses) {
  std::int64_t product = uses.all;
  for (const std::int32_t factor :
       {domain_size(scenario, parameter_of(scenario, parameter).expert), tensor_copies(scenario, parameter),
        scenario.steps, scenario.microbatches}) {
    // Limits of validate.h: at most 2^22 times the number of uses, which are elements of a list.
    product = checked_multiply(product, factor).value_or(std::numeric_limits<std::int64_t>::max());
  }
  return product;
}

std::int32_t provenance_digits(const Scenario& scenario, std::int32_t parameter, UseCounts uses) {
  const DType own = parameter_of(scenario, parameter).dtype;
  std::int32_t bits = std::min(significand_bits(scenario.main_grad), significand_bits(scenario.comm));
  if (uses.returned > 1) bits = std::min(bits, significand_bits(own));
  return std::min(bits / 2, own == DType::f16 ? 8 : 12);
}

std::optional<ProvenanceCoding> provenance_coding(const Scenario& scenario, std::int32_t parameter,
                                                  UseCounts uses) {
  const ScenarioParameter& p = parameter_of(scenario, parameter);
  const std::int32_t digits = provenance_digits(scenario, parameter, uses);
  const std::int64_t contributions = provenance_contributions(scenario, parameter, uses);
  const std::int64_t lanes = std::max<std::int64_t>(div_ceil(contributions, digits), 1);
  const bool along_columns = p.columns() >= lanes;
  const bool fits = (along_columns || p.rows_of_group() >= lanes) && p.rows() > 0 && p.columns() > 0;
  if (!fits || lanes > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return ProvenanceCoding{digits, static_cast<std::int32_t>(lanes), along_columns};
}

std::optional<ProvenanceCoding> provenance_coding(const Scenario& scenario, std::int32_t parameter) {
  return provenance_coding(scenario, parameter, use_counts(scenario, parameter));
}

}  // namespace shardcheck
