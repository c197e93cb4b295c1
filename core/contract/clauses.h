// The catalogue of clauses: every numbered sentence of the specification that shardcheck can judge. A
// finding, a property and a fault of the zoo name clauses by id; the command prints this table.
#pragma once

#include <span>
#include <string_view>

namespace shardcheck {

/// What sees a breach of a clause.
enum class Observer : unsigned char {
  plan,    ///< the monitor, on the plan before anything runs and on the executed ops after
  values,  ///< the value oracle, on the numbers that the consumer reads
  both,
  twin,     ///< a second run that must agree bit for bit
  cases,    ///< a property whose cases are no training steps: layouts, products
  nothing,  ///< in the specification, not judged yet
};
std::string_view name_of(Observer observer);

struct Clause {
  std::string_view id;        ///< "W4"
  std::string_view title;     ///< "Legal beta"
  std::string_view sentence;  ///< what must hold, one sentence
  std::string_view source;    ///< section of the specification
  Observer observer;
};

/// All clauses, in the order of the specification.
std::span<const Clause> clauses();

/// The clause of that id; asserts that there is one.
const Clause& clause(std::string_view id);

/// The same for input from outside: null when there is none.
const Clause* find_clause(std::string_view id);

}  // namespace shardcheck
