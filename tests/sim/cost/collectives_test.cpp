// The example of shard-layouts 5: one 8B layer of 436 MB, ring, log-step and hierarchical.
#include "sim/cost/collectives.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace shardcheck::cost {
namespace {

struct Line {
  double world;
  std::string ring, log_step, hierarchical, chunk;  ///< ms, ms, ms, bytes
  int digits;
};

std::string milliseconds(double seconds, int digits) {
  return fmt::format("{:.{}f}", seconds * 1e3, digits);
}

TEST(Collectives, TakeWhatTheExampleSays) {
  const Line table[] = {{64, "8.9", "8.6", "1.9", "6.8e+06", 1},
                        {1024, "13.8", "8.8", "2.6", "4.26e+05", 1},
                        {8192, "49.7", "8.8", "7.1", "5.3e+04", 1},
                        {100000, "509", "8.8", "64", "4.4e+03", 0}};
  const Network network;
  for (const Line& line : table) {
    const Transfer layer{line.world, 436e6};
    EXPECT_EQ(milliseconds(ring_seconds(layer, network.outer), line.digits), line.ring);
    EXPECT_EQ(milliseconds(log_step_seconds(layer, network.outer), 1), line.log_step);
    EXPECT_EQ(milliseconds(hierarchical_seconds(layer, network), line.digits), line.hierarchical)
        << line.world;
    EXPECT_EQ(fmt::format("{:.{}g}", layer.bytes / line.world, line.world == 1024 ? 3 : 2), line.chunk);
  }
}

TEST(Collectives, ATreeSendsEverythingTwice) {
  const Link link{.alpha = 1, .bytes_per_second = 10};
  EXPECT_EQ(tree_all_reduce_seconds({8, 50}, link), 2 * 3 + 2 * 5);
  EXPECT_EQ(hierarchical_seconds({4, 40}, {link, {}, 8}), 3 + 3);  // one node: the inner network alone
}

}  // namespace
}  // namespace shardcheck::cost
