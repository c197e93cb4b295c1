#include "backends/graph_counts.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

TEST(GraphCounts, SayWhatWasNotCapturedAndWhy) {
  EXPECT_EQ(to_text({}), "CUDA graphs: 0 captured, 0 replayed");
  EXPECT_EQ(to_text({2, 6, {{"streams are serialised", 1}}}),
            "CUDA graphs: 2 captured, 6 replayed, 1 executed op by op: streams are serialised");
}

}  // namespace
}  // namespace shardcheck
