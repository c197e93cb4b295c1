// Every rule of tools/tidy holds in this checkout. A failure is one line a place: file, line, sentence.
#include <gtest/gtest.h>

#include <ostream>

#include "tools/tidy/rules.h"

namespace shardcheck::tidy {

/// GoogleTest finds it by the type and prints a rule by its name.
static void PrintTo(const Rule& rule, std::ostream* out) {
  *out << rule.name;
}

namespace {

class Checkout : public testing::TestWithParam<Rule> {};

TEST_P(Checkout, Keeps) {
  const Tree tree = read_tree(SHARDCHECK_CHECKOUT);
  ASSERT_NE(find_file(tree, "core/types.h"), nullptr) << "no checkout was read";
  for (const Offence& offence : GetParam().find(tree)) ADD_FAILURE() << describe(GetParam(), offence);
}

INSTANTIATE_TEST_SUITE_P(Tidy, Checkout, testing::ValuesIn(rules().begin(), rules().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace shardcheck::tidy
