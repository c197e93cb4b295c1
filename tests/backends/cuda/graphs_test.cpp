// Regions of plans as CUDA graphs: captured when met first, replayed where the same work comes again,
// captured anew where it does not, and op by op where it must be; the bytes are those of the reference either
// way.
#include <chrono>

#include "core/delaying.h"
#include "tests/backends/cuda/twins.h"

namespace shardcheck {
namespace {

constexpr std::int64_t kTokens = 3, kRows = 8, kColumns = 16;

/// Three ranks; each round copies the operands of a GEMM to where the graph reads, runs the graph on its
/// stream and waits for it.
struct Rounds {
  explicit Rounds(DType type) : dtype(type) {
    plan.ranks = 3;
    for (BufferId* id : {&operands, &static_operands})
      *id = build.buffer("operands", BufferRole::inputs, dtype, kRounds * kTokens * (kRows + kColumns));
    sum = build.buffer("sum", BufferRole::inputs, DType::f32, kRows * kColumns);
  }
  void op(Action action, Stream stream) { build.op(action, {}, stream, all_ranks(plan)); }
  void order(Stream first, Stream second) {
    const EventId event = build.event();
    op(Record{event}, first);
    op(Wait{event}, second);
  }
  void round(std::int64_t number, std::int64_t tokens, bool accumulate) {
    const std::int64_t dy = 0, x = kTokens * kRows, begin = number * kTokens * (kRows + kColumns);
    op(Copy{}, Stream::compute);
    build.on({operands, begin, x + kTokens * kColumns}).on({static_operands, 0, x + kTokens * kColumns});
    order(Stream::compute, Stream::graph);
    op(BeginGraph{GraphId{0}}, Stream::graph);
    op(Gemm{tokens, kRows, kColumns, accumulate}, Stream::graph);
    build.on({static_operands, dy, tokens * kRows}).on({static_operands, x, tokens * kColumns});
    build.on(build.whole(sum));
    op(EndGraph{}, Stream::graph);
    order(Stream::graph, Stream::compute);
  }
  static constexpr std::int64_t kRounds = 4;

  DType dtype;
  Plan plan;
  PlanBuilder build{plan};
  BufferId operands, static_operands, sum;
};

class Graphs : public OnGpu {};

GraphCounts run(Twins& twins, Rounds& rounds) {
  RandomNumbers random(11);
  twins.write_all(rounds.plan, random, 6, Corners::none);
  const GraphCounts before = graph_counts(twins.cuda());
  twins.expect_equal_after(rounds.plan, NanCodes::any);
  GraphCounts after = graph_counts(twins.cuda());
  after.captured -= before.captured;
  after.replayed -= before.replayed;
  return after;
}

TEST_F(Graphs, AreCapturedOnceAndReplayed) {
  for (const DType type : {DType::bf16, DType::f32}) {
    for (const std::int64_t emulate_below : {std::int64_t{0}, std::int64_t{1} << 20}) {
      CudaOptions options = one_gpu();
      options.emulate_below = emulate_below;
      Twins twins(options, kHopper);
      Rounds rounds(type);
      for (std::int64_t i = 0; i < Rounds::kRounds; ++i) rounds.round(i, kTokens, true);
      const GraphCounts counts = run(twins, rounds);
      EXPECT_EQ(counts.captured, 1) << to_text(counts);
      EXPECT_EQ(counts.replayed, Rounds::kRounds - 1) << to_text(counts);
      EXPECT_TRUE(counts.op_by_op.empty()) << to_text(counts);
    }
  }
}

TEST_F(Graphs, AreCapturedAnewForOtherWork) {
  Twins twins(one_gpu(), kHopper);
  Rounds rounds(DType::bf16);
  rounds.round(0, kTokens, false);
  rounds.round(1, kTokens, true);
  rounds.round(2, 2, true);
  rounds.round(3, kTokens, true);
  const GraphCounts counts = run(twins, rounds);
  EXPECT_EQ(counts.captured, 3) << "another beta, another number of tokens";
  EXPECT_EQ(counts.replayed, 1);
}

TEST_F(Graphs, AreExecutedOpByOpWhereTheyMustBe) {
  Rounds rounds(DType::bf16);
  rounds.round(0, kTokens, true);
  const auto reasons = [&](Twins& twins) {
    const GraphCounts counts = graph_counts(twins.cuda());
    EXPECT_EQ(counts.captured + counts.replayed, 0);
    std::string all;
    for (const auto& [reason, times] : counts.op_by_op) all += reason + ";";
    return all;
  };
  RandomNumbers random(12);
  Twins in_parts(one_gpu(), kHopper);
  in_parts.write_all(rounds.plan, random, 6, Corners::none);
  for (std::int32_t i = 0; i < std::ssize(rounds.plan.ops); ++i)
    in_parts.execute(rounds.plan, OpIndex{i}, OpIndex{i + 1});
  in_parts.expect_equal(rounds.plan, NanCodes::any);
  EXPECT_EQ(reasons(in_parts), "it is executed in parts;");

  CudaOptions options = one_gpu();
  options.streams = StreamUse::serialised;
  Twins serialised(options, kHopper);
  run(serialised, rounds);
  EXPECT_EQ(reasons(serialised), "streams are serialised;");

  Rounds with_event(DType::bf16);
  with_event.round(0, kTokens, true);
  for (Op& op : with_event.plan.ops) {
    if (std::holds_alternative<Gemm>(op.action)) op.action = Record{with_event.build.event()};
  }
  Twins twins(one_gpu(), kHopper);
  run(twins, with_event);
  EXPECT_NE(reasons(twins).find("no work that is captured"), std::string::npos) << reasons(twins);
}

/// A replay is a unit: held back anywhere in it, all of it is late, and what waits for it waits.
TEST_F(Graphs, AreLateAsAWhole) {
  Rounds rounds(DType::f32);
  rounds.round(0, kTokens, true);
  rounds.round(1, kTokens, true);
  Twins twins(one_gpu(), kHopper);
  auto& delaying = dynamic_cast<Delaying&>(twins.cuda());
  std::int32_t gemm = 0;
  while (!std::holds_alternative<Gemm>(rounds.plan.ops[static_cast<std::size_t>(gemm)].action)) ++gemm;
  delaying.hold_back(
      Delay{.before = OpIndex{gemm}, .rank = Rank{0}, .length = std::chrono::microseconds(3000)});
  const GraphCounts counts = run(twins, rounds);
  delaying.hold_back(std::nullopt);
  EXPECT_EQ(counts.captured + counts.replayed, 2);
}

}  // namespace
}  // namespace shardcheck
