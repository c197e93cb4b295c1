// PlanEdit: ops leave, come and change, and the indices of the plan follow.
#include "sim/faults/edit.h"

#include <gtest/gtest.h>

#include "core/plan/builder.h"

namespace shardcheck {
namespace {

/// Ops are told apart by the value that they fill in.
class Edit : public ::testing::Test {
 protected:
  Edit() {
    build.buffer("b", BufferRole::main_grad, DType::f32, 8);
    for (int i = 0; i < 5; ++i)
      build.op(Fill{static_cast<float>(i)}, {}, Stream::compute, ranks).on({BufferId{0}, i, 1});
    planned.setup_end = OpIndex{1};
    planned.finishes = {OpIndex{3}, OpIndex{5}};
  }
  static Op fill(Op op, float value) {
    op.action = Fill{value};
    return op;
  }
  std::string values() const {
    std::string text;
    for (const Op& op : planned.plan.ops)
      text += std::to_string(static_cast<int>(std::get<Fill>(op.action).value)) + " ";
    return text;
  }
  std::string indices() const {
    return std::to_string(planned.setup_end.value) + ", " + std::to_string(planned.finishes[0].value) + ", " +
           std::to_string(planned.finishes[1].value);
  }

  Planned planned;
  PlanBuilder build{planned.plan};
  const std::vector<Rank> ranks{Rank{0}, Rank{1}};
};

TEST_F(Edit, NothingChangesNothing) {
  PlanEdit edit(planned);
  EXPECT_FALSE(edit.changed());
  EXPECT_FALSE(edit.commit());
  EXPECT_EQ(values(), "0 1 2 3 4 ");
}

TEST_F(Edit, ErasedOpsLeaveAndIndicesFollow) {
  PlanEdit edit(planned);
  edit.erase(0);
  edit.erase(3);
  EXPECT_TRUE(edit.commit());
  EXPECT_EQ(values(), "1 2 4 ");
  EXPECT_EQ(indices(), "0, 2, 3");
}

TEST_F(Edit, InsertedOpsComeInTheOrderOfInsertion) {
  PlanEdit edit(planned);
  const Op op = edit.op(0);
  edit.insert_after(2, fill(op, 21));
  edit.insert_before(2, fill(op, 18));
  edit.insert_before(2, fill(op, 19));
  edit.insert_after(2, fill(op, 22));
  edit.insert_before(0, fill(op, 9));
  edit.insert_after(4, fill(op, 41));
  EXPECT_TRUE(edit.commit());
  EXPECT_EQ(values(), "9 0 1 18 19 2 21 22 3 4 41 ");
  EXPECT_EQ(indices(), "2, 8, 11");
}

TEST_F(Edit, WhatStandsBeforeAFinishRunsBeforeIt) {
  PlanEdit edit(planned);
  edit.insert_before(3, fill(edit.op(0), 29));
  edit.insert_before(5, fill(edit.op(0), 49));
  EXPECT_TRUE(edit.commit());
  EXPECT_EQ(values(), "0 1 2 29 3 4 49 ") << "also at the end of the plan";
  EXPECT_EQ(indices(), "1, 4, 7");
}

TEST_F(Edit, AnErasedOpCanBeReplaced) {
  PlanEdit edit(planned);
  edit.erase(2);
  edit.insert_after(2, fill(edit.op(2), 20));
  EXPECT_TRUE(edit.commit());
  EXPECT_EQ(values(), "0 1 20 3 4 ");
  EXPECT_EQ(indices(), "1, 3, 5");
}

TEST_F(Edit, AnOpIsChangedInPlaceWithOtherViews) {
  PlanEdit edit(planned);
  Op& op = edit.change(1);
  EXPECT_TRUE(edit.changed());
  op = edit.with_views(op, 2, [](std::int8_t operand, std::int32_t i) {
    return View{BufferId{0}, 4 * operand + i, 2};
  });
  EXPECT_TRUE(edit.commit());
  EXPECT_EQ(values(), "0 1 2 3 4 ");
  const Op& changed = planned.plan.ops[1];
  EXPECT_EQ(changed.operands, 2);
  EXPECT_EQ(edit.view(changed, 0, 1), (View{BufferId{0}, 1, 2}));
  EXPECT_EQ(edit.view(changed, 1, 0), (View{BufferId{0}, 4, 2}));
  EXPECT_EQ(edit.role(changed, 1), BufferRole::main_grad);
  EXPECT_EQ(planned.plan.operand(planned.plan.ops[0], 0)[0], (View{BufferId{0}, 0, 1}))
      << "the others keep theirs";
}

}  // namespace
}  // namespace shardcheck
