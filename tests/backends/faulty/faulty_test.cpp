#include "backends/faulty/faulty.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/backends/rig.h"

namespace shardcheck::test {
namespace {

/// Notes the ranges of ops that it is asked for.
class Recorder final : public Backend {
 public:
  explicit Recorder(std::vector<std::pair<int, int>>& ranges) : ranges_(ranges) {}
  BackendInfo info() const override { return {"recorder", "none", "unknown"}; }
  void execute(const Plan&, OpIndex first, OpIndex last) override {
    ranges_.emplace_back(first.value, last.value);
  }
  void write(const Plan&, Rank, View, std::span<const std::byte>) override {}
  void read(const Plan&, Rank, View, std::span<std::byte>) override {}

 private:
  std::vector<std::pair<int, int>>& ranges_;
};

TEST(Faulty, RunsUntouchedOpsInOneRangeAndNamesItself) {
  std::vector<std::pair<int, int>> ranges;
  const auto faulty =
      make_faulty_backend(std::make_unique<Recorder>(ranges), *find_numeric_fault("scale-twice"));
  EXPECT_EQ(faulty->info().name, "faulty(recorder, scale-twice)");
  Plan plan;
  PlanBuilder builder(plan);
  const std::vector<Rank> nobody;
  for (const Action& action :
       {Action{Fill{}}, Action{Copy{}}, Action{Scale{}}, Action{Add{}}, Action{Add{}}}) {
    builder.op(action, {}, Stream::compute, nobody);
  }
  faulty->execute(plan, OpIndex{0}, OpIndex{5});
  EXPECT_EQ(ranges, (std::vector<std::pair<int, int>>{{0, 2}, {2, 3}, {2, 3}, {3, 5}}));
}

}  // namespace
}  // namespace shardcheck::test
