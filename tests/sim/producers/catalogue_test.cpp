// The catalogue has all kinds of wgrad 4.1 in their order, and what it says of faults and producers exists.
#include "sim/producers/catalogue.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/faults/zoo.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {
namespace {

TEST(ProducerCatalogue, NamesWhatAScenarioCanSay) {
  ASSERT_EQ(producer_kinds().size(), 16u);
  int number = 0;
  for (const ProducerKind& kind : producer_kinds()) {
    EXPECT_EQ(kind.id, "Q" + std::to_string(++number));
    EXPECT_FALSE(kind.what.empty() || kind.scenario.empty() || kind.remark.empty()) << kind.id;
    if (kind.scenario.starts_with("fault ")) {
      EXPECT_NE(find_fault(kind.scenario.substr(6)), nullptr) << kind.id;
    }
    if (!kind.scenario.starts_with("producer ")) continue;
    bool known = false;
    for (int p = 0; p < kProducers; ++p)
      known |= kind.scenario.substr(9).starts_with(name_of(static_cast<Producer>(p)));
    EXPECT_TRUE(known) << kind.id << ": " << kind.scenario;
  }
}

}  // namespace
}  // namespace shardcheck
