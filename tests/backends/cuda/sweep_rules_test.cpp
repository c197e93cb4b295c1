// The two sides of a sweep, compiled for the host, against core/numerics: on every format and policy, the
// inputs at which a code begins, their neighbours, and a stride over all.
#include "tests/backends/cuda/device_on_host.h"
// The shim above comes first.
#include <gtest/gtest.h>

#include "backends/cuda/sweep_format.h"
#include "backends/cuda/sweep_rules.cuh"

namespace shardcheck {
namespace {

/// A stride that meets every exponent; ties of every width and their neighbours.
template <class Look>
void each_input(const NamedCast& cast, Look look) {
  for (std::uint64_t code = 0; code < 0x100000000u; code += 199'999) {
    const auto any = static_cast<std::uint32_t>(code);
    for (int dropped = 13; dropped <= 23; dropped += 5) {
      const std::uint32_t cut = any & ~((1u << dropped) - 1), tie = cut | 1u << (dropped - 1);
      for (const std::uint32_t bits : {any, cut, tie - 1, tie, tie + 1}) {
        if (cast.takes(bits)) look(bits);
      }
    }
  }
}

TEST(SweepRules, BothSidesAreTheEncoder) {
  for (const Format& format : kFormats) {
    for (const NamedCast& cast : named_casts(format.id)) {
      const auto compare = [&](const auto& machine, const auto& rule) {
        each_input(cast, [&](std::uint32_t bits) {
          const std::uint32_t expected = cast.code_of(bits);
          ASSERT_EQ(rule.code(bits), expected) << format.name << " " << cast.name << std::hex << " " << bits;
          std::uint32_t two[2];
          machine.codes(bits, two);
          ASSERT_EQ(two[0], expected) << format.name << " " << cast.name << std::hex << " " << bits;
          if (!cast.takes(bits + 1)) return;
          ASSERT_EQ(two[1], cast.code_of(bits + 1))
              << format.name << " " << cast.name << std::hex << bits + 1;
        });
      };
      gpu::with_sweep(cast, compare);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace shardcheck
