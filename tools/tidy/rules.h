// The rules of the house that a machine can check, as a table: a name, the sentence that a breach prints, and
// a function that finds the breaches. tests/tools/tidy runs every rule on the checkout and on samples that
// break it. A new rule is a function in one of the *_rules files, a row in rules.cpp and a sample in
// rules_test.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/tidy/tree.h"

namespace shardcheck::tidy {

/// A place that breaks a rule.
struct Offence {
  std::string path;
  int line = 0;         ///< 1-based; 0 when the file as a whole is meant
  std::string excerpt;  ///< what stands there; empty when the path says it all
};
using Offences = std::vector<Offence>;

struct Rule {
  std::string_view name;
  std::string_view sentence;
  Offences (*find)(const Tree&);
};

/// All rules, in the order of the table.
std::span<const Rule> rules();

/// "core/plan/op.h:12: core includes core only: #include ..."
std::string describe(const Rule& rule, const Offence& offence);

}  // namespace shardcheck::tidy
