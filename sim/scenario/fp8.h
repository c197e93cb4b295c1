// Fp8Training: how the matrices of a scenario live in FP8, beside their gradient protocol (fp8 4.8, 4.9).
// Parameters of one dimension and frozen ones stay in their own type and have no FP8 life. Next:
// sim/weights/fp8_weights.h plans it, sim/oracle/weight_checker.h judges it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardcheck {

struct Scenario;

/// What the fp32 masters are built from (fp8 4.8).
enum class Masters : std::uint8_t {
  kept_init,   ///< the high-precision initial value, widened
  from_bytes,  ///< the dequantised codes: a declared loss
};
std::string_view name_of(Masters masters);

/// What becomes of a derived column copy after its use in backward (fp8 4.9, E11).
enum class Transposes : std::uint8_t {
  discard,
  keep,  ///< until the codes change
};
std::string_view name_of(Transposes transposes);

struct Fp8Training {
  std::string recipe = "te-mxfp8";  ///< of weights, a name of core/recipe/catalogue.h
  std::int32_t history = 4;         ///< H of delayed scaling
  Masters masters = Masters::kept_init;
  Transposes transposes = Transposes::discard;
  bool recompute = false;                   ///< forward runs once more in backward (E14)
  std::vector<std::int32_t> skipped_steps;  ///< overflow: no optimizer step, nothing requantised (F56)
  std::vector<std::int32_t> evaluations;    ///< steps after which a forward without backward runs (E15)
  std::int32_t reload_after = -1;           ///< a step after which all is saved and loaded (E16, E17)
  bool operator==(const Fp8Training&) const = default;
};

/// True when the parameter has codes.
bool has_fp8_weight(const Scenario& scenario, std::int32_t parameter);

/// True when the optimizer leaves this step out.
bool is_skipped(const Scenario& scenario, std::int32_t step);

/// Rate of the optimizer: a power of two. With FP8 weights the gradients of a step move codes, in either
/// data mode.
float optimizer_rate(const Scenario& scenario);

/// Throws bad_input when the FP8 section does not fit the rest of the scenario; without one, returns.
void validate_fp8(const Scenario& scenario, const std::string& where);

/// One sentence about it, for reports; empty without one.
std::string describe_fp8(const Scenario& scenario);

}  // namespace shardcheck
