#include "core/recipe/delayed.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/assert.h"

namespace shardcheck::recipe {

DelayedScaling first_step(const DelayedOptions& options) {
  SC_ASSERT(options.history_length >= 1, "a history has at least one slot");
  return {.history = std::vector<float>(static_cast<std::size_t>(options.history_length))};
}

void push_amax(DelayedScaling& state, float amax) {
  state.history.front() = std::fmax(state.history.front(), amax);
}

float close_step(const DelayedOptions& options, DelayedScaling& state, float reduced_amax) {
  state.history.front() = reduced_amax;
  if (reduced_amax == 0 && options.zero_step == ZeroStep::keep) return 0;
  float chosen = reduced_amax;
  if (options.choice == AmaxChoice::max) {
    chosen = 0;
    for (const float amax : state.history) chosen = std::fmax(chosen, amax);
  }
  std::ranges::rotate(state.history, state.history.begin() + 1);
  state.history.front() = 0;
  if (std::isfinite(chosen) && chosen > 0) {
    const float quotient = std::ldexp(options.largest, -options.margin) / chosen;
    state.scale = std::fmin(quotient, std::numeric_limits<float>::max());
    state.scale_inverse = 1.0f / state.scale;
  }
  return chosen;
}

}  // namespace shardcheck::recipe
