// Facts of a list by their names, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/registry.h"
#include "properties/fingerprint/fact.h"

namespace shardcheck {

/// The fact of that subject and name; a failure and an empty fact where there is none.
inline Fact fact_in(const std::vector<Fact>& facts, std::string_view subject, std::string_view name) {
  for (const Fact& fact : facts) {
    if (fact.subject == subject && fact.name == name) return fact;
  }
  ADD_FAILURE() << "there is no fact \"" << subject << "\", \"" << name << "\"";
  return {};
}
inline std::string value_in(const std::vector<Fact>& facts, std::string_view subject, std::string_view name) {
  return fact_in(facts, subject, name).value;
}

/// A CPU with a numeric fault.
inline std::unique_ptr<Backend> faulty(const std::string& fault) {
  return make_backend("faulty:" + fault, {.profile = "hopper"});
}

}  // namespace shardcheck
