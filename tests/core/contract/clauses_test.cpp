#include "core/contract/clauses.h"

#include <gtest/gtest.h>

#include <string>

namespace shardcheck {
namespace {

TEST(Clauses, AreTheGradientsAndLayoutsWholeAndLawsOfFp8InOrder) {
  ASSERT_GT(clauses().size(), 70u);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(clauses()[i].id, "W" + std::to_string(i + 1));
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(clauses()[40 + i].id, "L" + std::to_string(i + 1));
  int last = 0;
  for (const Clause& c : clauses().subspan(70)) {
    ASSERT_EQ(c.id[0], 'F') << c.id;
    const int number = std::stoi(std::string(c.id.substr(1)));
    EXPECT_GT(number, last) << c.id;
    last = number;
  }
  EXPECT_EQ(last, 66);
}

TEST(Clauses, EachIsASentenceWithItsSource) {
  for (const Clause& c : clauses()) {
    EXPECT_FALSE(c.title.empty()) << c.id;
    EXPECT_TRUE(c.sentence.ends_with('.')) << c.id;
    const char* source = c.id[0] == 'W' ? "wgrad " : c.id[0] == 'L' ? "layouts " : "fp8 ";
    EXPECT_TRUE(c.source.starts_with(source)) << c.id;
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
