#include "properties/generate/rapid.h"

#include <rapidcheck/Check.h>
#include <rapidcheck/detail/TestListenerAdapter.h>
#include <rapidcheck/seq/Create.h>
#include <rapidcheck/shrinkable/Create.h>
#include <rapidcheck/shrinkable/Transform.h>

#include <exception>
#include <utility>

#include "properties/generate/shrinks.h"

namespace shardcheck {
namespace {

using rc::detail::CaseDescription;
using rc::detail::CaseResult;

// A property is given to RapidCheck as a generator of judged cases. Its usual wrapper of callables keeps
// static stacks that are shared by all threads, and would run every accepted shrink twice.
using Judge = std::function<CaseDescription(Scenario&&)>;

rc::Shrinkable<CaseDescription> judged(Scenario scenario, const Judge& judge) {
  const auto simpler = [](Scenario&& s) { return rc::seq::fromContainer(shrinks(s)); };
  return rc::shrinkable::map(rc::shrinkable::shrinkRecur(std::move(scenario), simpler), judge);
}

CaseDescription described(bool holds) {
  CaseDescription description;
  description.result.type = holds ? CaseResult::Type::Success : CaseResult::Type::Failure;
  description.example = [] { return rc::detail::Example{}; };
  return description;
}

/// RapidCheck takes what a case throws for a failing case; here it ends the run and is thrown again.
class Guard {
 public:
  explicit Guard(const std::function<bool()>& is_over) : is_over_(is_over) {}
  bool is_over() const { return thrown_ != nullptr || is_over_(); }
  /// True when the case holds or threw.
  template <class Holds>
  bool holds(Holds holds) {
    try {
      return holds();
    } catch (...) {
      thrown_ = std::current_exception();
      return true;
    }
  }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  const std::function<bool()>& is_over_;
  std::exception_ptr thrown_;
};

/// Nothing is read from the environment and nothing is printed.
void run(const rc::detail::Property& property, const rc::detail::TestParams& params) {
  rc::detail::TestListenerAdapter silent;
  rc::detail::checkProperty(property, {}, params, silent, {});
}

}  // namespace

SearchResult search(const Search& search) {
  SearchResult result;
  Guard guard(search.is_over);
  const auto judge = [&](const Scenario& s) {
    ++result.cases;
    const bool holds = guard.holds([&] { return search.holds(s); });
    if (!holds) result.failing = s;
    return described(holds);
  };
  const auto one_case = [&](const rc::Random& random, int) {
    if (guard.is_over() || result.failing) return rc::shrinkable::just(described(true));
    Draw draw(rc::Random(random).next());
    CaseDescription description = described(true);
    guard.holds([&] {
      const Scenario scenario = search.draw(draw);
      description = judge(scenario);
      return true;
    });
    result.end_draw = (result.end_draw ^ draw.word()) * 0x9E3779B97F4A7C15u;
    return rc::shrinkable::just(std::move(description));
  };
  rc::detail::TestParams params;
  params.seed = search.seed;
  params.maxSuccess = search.cases;
  params.disableShrinking = true;
  run(rc::detail::Property(one_case), params);
  guard.rethrow();
  return result;
}

Smallest smallest_failing(const Scenario& failing, const std::function<bool(const Scenario&)>& holds,
                          const std::function<bool()>& is_over) {
  Smallest smallest{.scenario = failing};
  Guard guard(is_over);
  // RapidCheck moves on to a shrink exactly when it fails, so the last that failed is the smallest; it asks
  // again about that one.
  const Judge judge = [&](Scenario&& s) {
    if (s == smallest.scenario) return described(false);
    if (guard.is_over()) return described(true);
    ++smallest.tries;
    const bool held = guard.holds([&] { return holds(s); });
    if (!held) smallest.scenario = std::move(s);
    return described(held);
  };
  rc::detail::TestParams params;
  params.maxSuccess = 1;
  run(rc::detail::Property([&](const rc::Random&, int) { return judged(failing, judge); }), params);
  guard.rethrow();
  return smallest;
}

}  // namespace shardcheck
