// Builds a plan of one op and says it in words.
#include <array>
#include <cstdio>

#include "core/plan/builder.h"

int main() {
  using namespace shardcheck;
  Plan plan{.ranks = 2, .parameters = {{.name = "layer.weight", .rows = 8, .columns = 4}}};
  PlanBuilder builder(plan);
  const BufferId main_grad = builder.buffer("main_grad", BufferRole::main_grad, DType::f32, 32);
  const std::array ranks{Rank{0}, Rank{1}};
  builder.op(Fill{0}, {.purpose = Purpose::zero, .parameter = ParamId{0}, .step = 0}, Stream::compute, ranks)
      .on(builder.whole(main_grad));
  std::puts(describe(plan, plan.ops.front()).c_str());
}
