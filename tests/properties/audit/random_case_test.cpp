// Random cases and their shrinks: all can be run, and what matters comes up.
#include "properties/audit/random_case.h"

#include <gtest/gtest.h>

#include "sim/scenario/validate.h"

namespace shardcheck {
namespace {

TEST(RandomAuditCase, IsValidAndReachesTheCorners) {
  for (const char* adapter : {"ddp", "fsdp2", "megatron-fsdp", "fsdp1", "custom:mine.py"}) {
    std::int32_t silent = 0, repeated = 0, frozen = 0, every = 0, bf16 = 0;
    for (std::uint64_t i = 0; i < 300; ++i) {
      Draw draw(7, i);
      const AuditCase c = random_audit_case(draw, {adapter, 2});
      validate(c.scenario, "case");
      EXPECT_EQ(refusal(c), "");
      EXPECT_EQ(c.scenario.ranks, 2);
      EXPECT_EQ(audit_case_from_json(to_json(c), "case"), c);
      silent += !c.scenario.silent.empty();
      repeated += c.scenario.uses.size() > c.scenario.parameters.size();
      frozen += !c.scenario.parameters.back().trainable;
      every += c.adapter.sync == SyncOn::every;
      bf16 += c.scenario.parameters[0].dtype == DType::bf16;
    }
    EXPECT_GT(silent, 60) << adapter;
    EXPECT_GT(repeated, 20) << adapter;
    EXPECT_GT(every, 60) << adapter;
    EXPECT_GT(bf16, 30) << adapter;
    if (std::string(adapter) == "fsdp1")
      EXPECT_EQ(frozen, 0);
    else
      EXPECT_GT(frozen, 5) << adapter;
  }
}

}  // namespace
}  // namespace shardcheck
