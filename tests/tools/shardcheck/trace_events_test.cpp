// Slices on tracks, an arrow for a wait, another for a race.
#include "tools/shardcheck/trace_events.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/plan/builder.h"

namespace shardcheck {
namespace {

TEST(TraceEvents, SlicesWaitsAndRaces) {
  Plan plan{.ranks = 1};
  PlanBuilder build(plan);
  const std::vector<Rank> rank{Rank{0}};
  const BufferId b = build.buffer("b", BufferRole::main_grad, DType::f32, 4);
  const EventId event = build.event();
  build.op(Fill{}, {}, Stream::compute, rank).on(build.whole(b));
  build.op(Record{event}, {}, Stream::compute, rank);
  build.op(Wait{event}, {}, Stream::reduce, rank);
  build.op(Scale{2}, {}, Stream::reduce, rank).on(build.whole(b));
  build.op(Fill{}, {}, Stream::compute, rank).on(build.whole(b));
  const auto timeline = cost::timeline_of(plan, cost::Gpu{});
  const auto json = nlohmann::json::parse(trace_events(plan, timeline, races_of(plan)));
  int slices = 0, waits = 0, races = 0;
  for (const auto& each : json["traceEvents"]) {
    slices += each["ph"] == "X";
    waits += each["ph"] == "s" && each["name"] == "waits for";
    races += each["ph"] == "s" && each["name"].get<std::string>().starts_with("RACE");
  }
  EXPECT_EQ(slices, 3);
  EXPECT_EQ(waits, 1);
  EXPECT_EQ(races, 1);
}

TEST(TraceEvents, ARaceOfALeaseThatIsReturnedIsDrawn) {
  Plan plan{.ranks = 1};
  PlanBuilder build(plan);
  const std::vector<Rank> rank{Rank{0}};
  const BufferId b = build.buffer("b", BufferRole::lease_slot, DType::f32, 4);
  build.op(Scale{2}, {}, Stream::reduce, rank).on(build.whole(b));
  build.op(CloseLease{}, {}, Stream::compute, rank).on(build.whole(b));
  const auto json =
      nlohmann::json::parse(trace_events(plan, cost::timeline_of(plan, cost::Gpu{}), races_of(plan)));
  bool is_drawn = false;
  for (const auto& each : json["traceEvents"])
    is_drawn |= each["ph"] == "f" && each["name"].get<std::string>().starts_with("RACE");
  EXPECT_TRUE(is_drawn);
}

}  // namespace
}  // namespace shardcheck
