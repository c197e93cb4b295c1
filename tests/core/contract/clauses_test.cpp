#include "core/contract/clauses.h"

#include <gtest/gtest.h>

#include <string>

namespace shardcheck {
namespace {

TEST(Clauses, AreW1ToW40InOrder) {
  int number = 0;
  for (const Clause& c : clauses()) EXPECT_EQ(c.id, "W" + std::to_string(++number));
  EXPECT_EQ(number, 40);
}

TEST(Clauses, EachIsASentenceWithItsSource) {
  for (const Clause& c : clauses()) {
    EXPECT_FALSE(c.title.empty()) << c.id;
    EXPECT_TRUE(c.sentence.ends_with('.')) << c.id;
    EXPECT_TRUE(c.source.starts_with("wgrad ")) << c.id;
    EXPECT_FALSE(name_of(c.observer).empty()) << c.id;
  }
}

TEST(Clauses, AreFoundById) {
  EXPECT_EQ(clause("W33").title, "Slot reuse");
  EXPECT_EQ(find_clause("W33"), &clause("W33"));
  for (const char* id : {"", "W", "W0", "W41", "w4", "W4 "}) EXPECT_EQ(find_clause(id), nullptr) << id;
  EXPECT_DEATH(clause("W41"), "not in the catalogue");
}

}  // namespace
}  // namespace shardcheck
