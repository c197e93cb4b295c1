// What each fault of this kind takes from the plan and brings into it, on two fused weights of two ranks.
#include <gtest/gtest.h>

#include "tests/sim/faults/prepared.h"

namespace shardcheck::tests {
namespace {

TEST(ReductionFaults, RewriteThePlan) {
  expect_rewrites(add_reduction_faults, {
                                            {"M-W22", ""},
                                            {"B-32", "-2 wait@r "},
                                            {"B-37", "+1 AR +1 AR@r "},
                                            {"B-42", "-1 AR -1 AR@r "},
                                            {"M-W28", ""},
                                            {"B-53", ""},
                                            {"K10", "-1 unstage -1 unstage@r "},
                                            {"K17", "+1 AR +1 AR@r "},
                                            {"M-W23", ""},
                                        });
}

TEST(ReductionFaults, MoveTheLastWriteBehindTheLaunch) {
  for (const auto& [id, stream] : {std::pair{"M-W22", Stream::reduce}, std::pair{"B-53", Stream::compute}}) {
    const Plan plan = rewritten(id);
    bool launched = false;
    int late = 0;
    for (const Op& op : plan.ops) {
      if (std::holds_alternative<BeginStep>(op.action)) launched = false;
      if (op.why.purpose == Purpose::reduce) {
        EXPECT_EQ(op.stream, stream) << id;
        launched = true;
      }
      late += launched && op.why.purpose == Purpose::write && op.why.parameter.value == 0;
    }
    EXPECT_EQ(late, 2) << id << ": one a step";
  }
}

TEST(ReductionFaults, HandTheNeighboursSliceToTheConsumer) {
  const Plan plan = rewritten("M-W28");
  for (const Op& op : plan.ops) {
    if (!std::holds_alternative<Finish>(op.action)) continue;
    const auto slices = plan.operand(op, 0);
    EXPECT_GT(slices[0].offset, slices[1].offset) << "rank 0 has the second half";
  }
}

}  // namespace
}  // namespace shardcheck::tests
