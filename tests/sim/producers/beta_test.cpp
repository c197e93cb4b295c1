// Tables 4.2 and 4.4: beta by every predicate for every state of a destination.
#include "sim/producers/beta.h"

#include <gtest/gtest.h>

#include "tests/sim/story.h"

namespace shardcheck::tests {
namespace {

constexpr Strategy kKept = Strategy::megatron_ddp, kLent = Strategy::fsdp_optim_grads;

struct BetaCase {
  std::string_view row;
  WriteMode mode;
  Strategy strategy;
  HostState host;
  int beta;
  BetaRule rule;
  FirstMicrobatch driver = FirstMicrobatch::none;
  bool first = false;  // is_first_microbatch of the call
  int microbatch = 0;
};

constexpr HostState kUd{}, kZero{.known_zero = true}, kTouched{.touched = true};
constexpr HostState kOverwrite{.overwrite = true}, kOverwriteTouched{.overwrite = true, .touched = true};
using enum WriteMode;
using enum BetaRule;

const BetaCase kBetaCases[] = {
    // Table 4.2. M1 has no fusion and is no fused write; M2 is a weight that reduces itself and is not
    // modelled.
    {"M3", te_module, kLent, kOverwrite, 0, strategy_flag},
    {"M3 whoever drives Q", te_module, kLent, kOverwrite, 0, strategy_flag, FirstMicrobatch::index, false},
    {"M4", te_module, kKept, kZero, 1, strategy_flag},
    {"M5, by index", te_module, kKept, kZero, 0, microbatch_index, FirstMicrobatch::index, true},
    {"M5, armed", te_module, kKept, kTouched, 0, call_order, FirstMicrobatch::armed, true},
    {"M6, by index", te_module, kKept, kTouched, 1, microbatch_index, FirstMicrobatch::index, false},
    {"M6, armed", te_module, kKept, kTouched, 1, call_order, FirstMicrobatch::armed, false},
    {"ops path, O", te_ops, kLent, kOverwrite, 0, strategy_flag},
    {"ops path, not O", te_ops, kKept, kZero, 1, strategy_flag},
    {"ops path knows no Q", te_ops, kKept, kZero, 1, strategy_flag, FirstMicrobatch::index, true},
    // Table 4.4.
    {"R1, temporary", r1, kLent, kUd, 0, strategy_flag},
    {"R1, later use: wrong", r1, kLent, kTouched, 0, strategy_flag},
    {"R1, persistent", r1, kKept, kZero, 1, strategy_flag},
    {"R2, temporary", r2, kLent, kUd, 0, constant},
    {"R2, later use: wrong", r2, kLent, kTouched, 0, constant},
    {"R2, persistent", r2, kKept, kZero, 1, constant},
    {"R3, temporary", r3, kLent, kUd, 0, lease_flag},
    {"R3, later use", r3, kLent, kTouched, 1, lease_flag},
    {"R3, persistent", r3, kKept, kZero, 1, lease_flag},
    {"R4, microbatch 0", r4, kKept, kUd, 0, microbatch_index},
    {"R4, later", r4, kKept, kTouched, 1, microbatch_index, FirstMicrobatch::none, false, 1},
    {"R4, unused in 0, then used: wrong", r4, kKept, kUd, 1, microbatch_index, FirstMicrobatch::none, false,
     1},
    {"R5, undefined", r5, kLent, kUd, 0, first_touch},
    {"R5, later use", r5, kLent, kTouched, 1, first_touch},
    {"R5, zeros: the answer that survives capture", r5, kKept, kZero, 1, first_touch},
    {"R5 asks no flag", r5, kLent, kOverwriteTouched, 1, first_touch},
    {"R6", r6, kLent, kZero, 1, constant},
    {"R6, later use", r6, kLent, kTouched, 1, constant},
};

Beta beta_of(const BetaCase& c, Producer producer) {
  Scenario s = base(c.strategy);
  s.write_mode = c.mode;
  s.first_microbatch = c.driver;
  Job job(s);
  job.microbatch = c.microbatch;
  job.host(Rank{1}, 0) = c.host;
  return choose_beta(job, 0, Rank{1}, producer, {c.first});
}

TEST(Beta, TablesOfTheSpecification) {
  for (const BetaCase& c : kBetaCases)
    EXPECT_EQ(beta_of(c, Producer::fused), (Beta{c.beta == 1, c.rule})) << c.row;
}

TEST(Beta, AnotherOpIsAlwaysRight) {
  for (const BetaCase& c : kBetaCases) {
    const bool adds = c.host.touched || c.host.known_zero;
    EXPECT_EQ(beta_of(c, Producer::other), (Beta{adds, first_touch})) << c.row;
  }
}

TEST(Beta, TheOverwriteFlagIsThatOfTheRank) {
  Scenario s = base(kLent);
  s.write_mode = te_ops;
  Job job(s);
  job.host(Rank{0}, 0).overwrite = true;
  EXPECT_FALSE(choose_beta(job, 0, Rank{0}, Producer::fused, {}).accumulate);
  EXPECT_TRUE(choose_beta(job, 0, Rank{1}, Producer::fused, {}).accumulate);
}

}  // namespace
}  // namespace shardcheck::tests
