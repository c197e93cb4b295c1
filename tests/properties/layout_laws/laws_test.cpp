// The table of laws is complete and speaks of what it judges.
#include "properties/layout_laws/laws.h"

#include <gtest/gtest.h>

#include "core/contract/clauses.h"

namespace shardcheck::laws {
namespace {

TEST(Laws, L1ToL30InOrder) {
  ASSERT_EQ(laws().size(), 30u);
  for (std::size_t i = 0; i < laws().size(); ++i) {
    EXPECT_EQ(laws()[i].id, "L" + std::to_string(i + 1));
    EXPECT_EQ(find_law(laws()[i].id), &laws()[i]);
    EXPECT_FALSE(laws()[i].how.empty());
    EXPECT_NE(find_clause(laws()[i].id), nullptr);
  }
  EXPECT_EQ(find_law("L31"), nullptr);
}

TEST(Laws, OnlyStorageLifetimeIsNotJudged) {
  for (const Law& law : laws()) EXPECT_EQ(law.evidence == Evidence::nothing, law.id == "L28") << law.id;
}

TEST(Laws, AFindingIsOneLine) {
  EXPECT_EQ(to_text({.law = "L7",
                     .sentence = "a row is cut",
                     .layout = "zero12-flat",
                     .parameter = "P0",
                     .rank = 1,
                     .element = 3,
                     .expected = 0,
                     .actual = 1,
                     .quirk = "B15"}),
            "L7 zero12-flat, parameter P0, rank 1, element 3: a row is cut (expected 0, got 1) [declared "
            "quirk B15]");
}

}  // namespace
}  // namespace shardcheck::laws
