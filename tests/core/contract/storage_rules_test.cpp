// Leases, allocation and what a step begins and ends with: the rows ACQ, FREE and STEP of table 2.4, and what
// an attempt or a process that is over leaves behind.
#include <gtest/gtest.h>

#include "tests/core/contract/tiny_plan.h"

namespace shardcheck::tests {
namespace {

TEST(StorageRules, OpeningAcquire) {
  expect_rows({
      {"X", [](TinyPlan& p) { p.open(); }, ""},
      {"X, returned", [](TinyPlan& p) { p.open(), p.zero(p.all(p.slot)), p.close(), p.open(); }, ""},
      {"an open lease", [](TinyPlan& p) { p.fill(p.slot), p.open(); }, "W18"},
      {"L",
       [](TinyPlan& p) {
         p.fill(p.slot), p.order(kCompute, kReduce);
         p.reduce_scatter(p.slot, kReduce), p.accumulate(false, p.slot, kReduce), p.close(kReduce);
         p.open();
       },
       "W33"},
      {"L that compute has waited for",
       [](TinyPlan& p) {
         p.fill(p.slot), p.order(kCompute, kReduce);
         p.reduce_scatter(p.slot, kReduce), p.accumulate(false, p.slot, kReduce), p.close(kReduce);
         p.order(kReduce, kCompute), p.open();
       },
       ""},
  });
}

TEST(StorageRules, Free) {
  expect_rows({
      {"Z", [](TinyPlan& p) { closed(p, p.slot); }, ""},
      {"UD", [](TinyPlan& p) { p.open(), p.close(); }, ""},
      {"A, which is lost", [](TinyPlan& p) { p.fill(p.slot), p.close(); }, "W21"},
      {"V, which is lost", [](TinyPlan& p) { p.reduce(p.slot), p.close(); }, "W21"},
      {"L", [](TinyPlan& p) { in_flight(p, p.slot), p.close(); }, "W33"},
  });
}

TEST(StorageRules, UndefiningAnOpenLeaseLosesIt) {
  expect_rows({
      {"A", [](TinyPlan& p) { p.fill(p.slot), p.undefine(p.all(p.slot)); }, "W18"},
      {"UD", [](TinyPlan& p) { p.open(), p.undefine(p.all(p.slot)), p.write(0, p.slot); }, ""},
      {"S stays S", [](TinyPlan& p) { consumed(p, p.main), p.undefine(p.all(p.main)), p.write(0, p.main); },
       ""},
  });
}

TEST(StorageRules, LeasesOfAnAbandonedStepAreReturned) {
  for (const bool returns : {true, false}) {
    TinyPlan tiny;
    tiny.begin_step();
    tiny.open();
    tiny.write(0, tiny.slot);
    tiny.op(Interrupt{Ended::attempt}, Purpose::none);
    if (returns) tiny.close();
    tiny.begin_step();
    EXPECT_EQ(broken(tiny.plan), returns ? "" : "W40");
  }
}

TEST(StorageRules, NoLeaseIsOpenWhenAStepEnds) {
  for (const bool reduced : {true, false}) {
    TinyPlan tiny;
    tiny.begin_step();
    tiny.zero(tiny.all(tiny.shard));
    tiny.fill(tiny.slot);
    if (reduced) {
      tiny.reduce_scatter(tiny.slot);
      tiny.accumulate(true, tiny.slot);
      tiny.close();
    }
    tiny.op(EndStep{}, Purpose::none);
    EXPECT_EQ(broken(tiny.plan), reduced ? "" : "W29");
  }
}

TEST(StorageRules, AProcessThatGoesOnAllocatesAnew) {
  TinyPlan tiny;
  tiny.begin_step();
  tiny.reduce(tiny.main);
  tiny.op(Interrupt{Ended::process}, Purpose::none);
  tiny.op(Allocate{}, Purpose::setup).on(tiny.all(tiny.main));
  tiny.begin_step();
  tiny.write(1, tiny.main);
  EXPECT_EQ(broken(tiny.plan), "W6") << "nothing of the other process is left";
}

}  // namespace
}  // namespace shardcheck::tests
