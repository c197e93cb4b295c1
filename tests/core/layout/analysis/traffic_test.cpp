// Traffic is what the copies of the reshard plan add up to; resharding to the same layout moves nothing.
#include "core/layout/analysis/traffic.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/layout/registry.h"
#include "core/layout/reshard.h"
#include "properties/layout_laws/random_case.h"

namespace shardcheck::layout {
namespace {

TEST(Traffic, IsTheSumOfTheCopies) {
  std::int64_t crossing = 0;
  for (std::uint64_t number = 0; number < 1500; ++number) {
    const laws::Case drawn = laws::random_case(5, number);
    const auto& parameters = drawn.asked.parameters;
    const auto own = [&](const laws::Asked& asked) {
      return Ownership(layout_named(asked.layout, parameters, asked.mesh, asked.configuration), parameters);
    };
    try {
      const Ownership from = own(drawn.asked), to = own(*drawn.moved_to);
      const TrafficReport report = traffic_between(from, to, parameters);
      Traffic truth;
      for (const Copy& copy : reshard_plan(from, to, parameters)) {
        const std::int64_t bytes = copy.numel * bytes_of(parameters[copy.param.value].dtype);
        (copy.from.rank == copy.to.rank ? truth.staying : truth.crossing) += bytes;
        ++truth.copies;
      }
      ASSERT_EQ(report.total, truth) << number;
      std::int64_t sent = 0, received = 0;
      for (const RankTraffic& rank : report.ranks) {
        sent += rank.sent;
        received += rank.received;
      }
      ASSERT_EQ(sent, truth.crossing);
      ASSERT_EQ(received, truth.crossing);
      crossing += truth.crossing > 0;
      const bool has_copies = drawn.asked.layout == "megatron-ddp-nopad" ||
                              drawn.asked.layout == "dtensor-nd" || drawn.asked.layout == "megatron-fsdp-v1";
      if (!has_copies) {
        ASSERT_EQ(traffic_between(from, from, parameters).total.crossing, 0) << number;
      }
    } catch (const Error&) {  // refused models do not move
    }
  }
  EXPECT_GT(crossing, 300);
}

}  // namespace
}  // namespace shardcheck::layout
