#include "properties/diagnosis/signatures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/numerics/narrow.h"
#include "properties/diagnosis/contents.h"

namespace shardcheck {
namespace {

std::size_t wrong_count(const Symptoms& s) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < s.read.size(); ++i) count += !(s.read[i] == s.wanted[i]);
  return count;
}

/// The factor of each microbatch, when every one of at least two has a single one and nothing else is in it.
std::vector<double> microbatch_factors(const Symptoms& s) {
  const bool foreign =
      std::ranges::any_of(s.weights, [](const ContributionWeight& w) { return w.right == 0; });
  if (s.weights.empty() || foreign || s.undefined != 0) return {};
  std::vector<double> factors;
  for (std::int32_t m = 0; m < s.subject.scenario.microbatches; ++m) {
    const auto factor = s.factor_of_microbatch(m);
    if (!factor) return {};
    factors.push_back(*factor);
  }
  return factors.size() < 2 ? std::vector<double>{} : factors;
}

/// A pattern over microbatches needs three; two fit more than one.
std::string caveat(const Symptoms& s) {
  return s.subject.scenario.microbatches > 2
             ? ""
             : ". Two microbatches do not tell this from one wrong weight; three do";
}

/// The ratio of each microbatch's factor to the next one's, when it is one number.
double geometric_ratio(const Symptoms& s) {
  const auto factors = microbatch_factors(s);
  if (factors.empty() || factors.back() == 0) return 0;
  const double ratio = factors[factors.size() - 2] / factors.back();
  for (std::size_t m = 0; m + 1 < factors.size(); ++m) {
    if (factors[m] != factors[m + 1] * ratio) return 0;
  }
  return ratio;
}

std::string doubling(const Symptoms& s) {
  const auto factors = microbatch_factors(s);
  if (geometric_ratio(s) != 2 || factors.back() != 1) return "";
  return fmt::format(
      "microbatch m counts 2^({}-m) times: the running sum doubles with each microbatch, as when the reduced "
      "result is added onto its own storage (a group of one, or an alias){}",
      s.subject.scenario.microbatches - 1, caveat(s));
}

std::string repeated_scaling(const Symptoms& s) {
  const double ratio = geometric_ratio(s);
  if (!(ratio > 0) || ratio >= 1) return "";
  return fmt::format(
      "each microbatch weighs {} of the next one: the scale is applied to the running sum in every "
      "microbatch, not to the contribution once (c^(M-m)){}",
      weight_text(ratio), caveat(s));
}

/// What the scenario has that many of, " (as many as ranks, microbatches)"; empty when nothing fits.
std::string meaning_of(const Symptoms& s, double factor) {
  const Scenario& scenario = s.subject.scenario;
  const double group = domain_size(scenario, has_coordinates(scenario, s.subject.element.parameter.value));
  const std::pair<const char*, double> quantities[] = {
      {"ranks", scenario.ranks},
      {"ranks in the reduction group", group == scenario.ranks ? 0 : group},
      {"expert-parallel ranks", scenario.expert_parallel},
      {"ranks that share a distributed weight", scenario.gtp},
      {"tensor-parallel ranks", scenario.tensor},
      {"microbatches", scenario.microbatches},
      {"uses", s.subject.data.uses_of(s.subject.element.parameter.value)},
      {"tokens in the step", static_cast<double>(tokens_of_step(scenario))},
      {"the square of the group size", group * group}};
  std::vector<std::string> fits;
  for (const auto& [name, value] : quantities) {
    if (value > 1 && value == factor) fits.emplace_back(name);
  }
  return fits.empty() ? "" : fmt::format(" (as many as {})", fmt::join(fits, ", "));
}

/// A factor that all contributions, or all elements, have in common; 0 when there is none or it is 1.
double whole_factor(const Symptoms& s) {
  const auto factor = s.weights.empty() ? s.common_ratio() : s.common_factor();
  return factor && std::isfinite(*factor) && *factor > 0 && *factor != 1 ? *factor : 0;
}

std::string divisor_missing(const Symptoms& s) {
  const double factor = whole_factor(s);
  if (!(factor > 1) || factor != std::round(factor)) return "";
  return fmt::format(
      "everything is {} times too large{}: a divisor is missing, or everything is added that often; an exact "
      "integer rules out rounding",
      factor, meaning_of(s, factor));
}

std::string divisor_too_many(const Symptoms& s) {
  const double factor = whole_factor(s);
  if (factor == 0 || factor >= 1 || 1 / factor != std::round(1 / factor)) return "";
  return fmt::format(
      "everything is 1/{} of what it should be{}: one divisor too many; the exact inverse of an integer "
      "rules out rounding",
      1 / factor, meaning_of(s, 1 / factor));
}

/// True when exactly the contributions for which keep(key) holds are there, rightly weighted, some are not,
/// and no other step's are.
template <class Keep>
bool only_those(const Symptoms& s, Keep keep) {
  bool kept = false, lost = false;
  for (const ContributionWeight& w : s.weights) {
    if (w.actual != (keep(w.key) ? w.right : 0)) return false;
    (keep(w.key) ? kept : lost) = true;
  }
  return kept && lost && s.undefined == 0;
}

std::string last_microbatch(const Symptoms& s) {
  const std::int32_t last = s.subject.scenario.microbatches - 1;
  if (!only_those(s, [&](const ContributionKey& key) { return key.microbatch == last; })) return "";
  return "only the last microbatch is in it: each write replaced the one before (overwrite where accumulate "
         "was due, or an accumulator reset at every backward)";
}

std::string first_microbatch(const Symptoms& s) {
  if (!only_those(s, [](const ContributionKey& key) { return key.microbatch == 0; })) return "";
  return "only the first microbatch is in it: later ones were skipped (a flag that means \"something was "
         "added\" read as \"nothing to add\")";
}

std::string last_use(const Symptoms& s) {
  // Backward runs the uses from the last to the first: use 0 writes last.
  if (!only_those(s, [](const ContributionKey& key) { return key.use == 0; })) return "";
  return "only use 0 is in it, whose backward runs last: the uses of the weight overwrite each other";
}

std::string not_reduced(const Symptoms& s) {
  const auto own = s.subject.reader.value;
  bool mine = false, others = false, absent = true;
  for (const ContributionWeight& w : s.weights) {
    mine |= w.key.rank == own && w.actual != 0;
    others |= w.key.rank != own && w.right != 0;
    absent &= w.key.rank == own || w.actual == 0;
  }
  if (!mine || !others || !absent) return "";
  return fmt::format("only contributions of rank {} are in it: nothing of another rank arrived", own);
}

std::string rank_left_out(const Symptoms& s) {
  std::set<std::int32_t> absent, present;
  for (const ContributionWeight& w : s.weights) {
    if (w.right != 0 && w.actual == 0) absent.insert(w.key.rank);
    if (w.actual != 0) present.insert(w.key.rank);
    if (w.actual != 0 && w.actual != w.right) return "";
  }
  const bool clean = std::ranges::none_of(absent, [&](std::int32_t rank) { return present.contains(rank); });
  if (absent.size() != 1 || present.empty() || !clean || present.size() < 2) return "";
  return fmt::format("everything of rank {} is missing, and nothing else", *absent.begin());
}

std::string one_step_old(const Symptoms& s) {
  const bool shows =
      !s.read.empty() && !s.wanted_before.empty() && s.read == s.wanted_before && s.read != s.wanted;
  return shows ? "the values are those of the step before: nothing of this step arrived" : "";
}

std::string step_leaks(const Symptoms& s) {
  std::set<std::int32_t> steps;
  bool this_step = false;
  for (const ContributionWeight& w : s.weights) {
    if (w.actual == 0) continue;
    if (w.key.step != s.subject.step)
      steps.insert(w.key.step);
    else
      this_step = true;
  }
  if (steps.empty() || !this_step) return "";
  return fmt::format(
      "contributions of step {} are in the gradient of step {}: a buffer was not cleared between them",
      fmt::join(steps, ", "), s.subject.step);
}

std::string mean_hides_it(const Symptoms& s) {
  if (s.owners.size() < 2) return "";
  double sum = 0;
  bool differ = false;
  for (const auto& [rank, value] : s.owners) {
    sum += value;
    differ |= value != s.owners.front().second;
  }
  if (!differ || !std::isfinite(sum)) return "";
  const bool right = sum == s.expected * static_cast<double>(s.owners.size());
  return right ? "the replicas differ while their mean is right: a check of the mean misses it, equality of "
                 "the "
                 "replicas does not"
               : "the replicas differ: what should be equal on all of their owners is not";
}

std::string poison(const Symptoms& s) {
  if (s.undefined != 0) return "bytes that nobody wrote are in the sum (the poison shows)";
  return std::isnan(s.actual)
             ? "the gradient is NaN while all inputs are finite: undefined bytes went into it"
             : "";
}

std::string low_bits_lost(const Symptoms& s) {
  if (wrong_count(s) == 0) return "";
  const auto all_are = [&](auto narrowed) {
    for (std::size_t i = 0; i < s.read.size(); ++i) {
      if (s.read[i] != static_cast<double>(narrowed(static_cast<float>(s.wanted[i])))) return false;
    }
    return true;
  };
  const bool bf16 = all_are([](float f) { return bf16_to_f32(f32_to_bf16(f)); });
  const bool f16 = !bf16 && all_are([](float f) { return f16_to_f32(f32_to_f16(f)); });
  if (!bf16 && !f16) return "";
  if (s.subject.scenario.main_grad == (bf16 ? DType::bf16 : DType::f16)) return "";  // as declared
  return fmt::format(
      "every element is the right one rounded to {}: the values took a detour through that type",
      bf16 ? "bf16" : "f16");
}

std::string shifted(const Symptoms& s) {
  const auto size = std::ssize(s.read);
  if (wrong_count(s) == 0) return "";
  for (std::ptrdiff_t by = 1; by + 2 <= size; ++by) {
    for (const std::ptrdiff_t shift : {by, -by}) {
      const std::ptrdiff_t lo = std::max<std::ptrdiff_t>(0, -shift),
                           hi = size - std::max<std::ptrdiff_t>(0, shift);
      std::set<double> seen;  // a constant would fit any shift
      bool fits = true;
      for (std::ptrdiff_t i = lo; i < hi && fits; ++i) {
        fits = s.read[static_cast<std::size_t>(i)] == s.wanted[static_cast<std::size_t>(i + shift)];
        seen.insert(s.read[static_cast<std::size_t>(i)]);
      }
      if (fits && seen.size() >= 2 && hi - lo >= size / 2) {
        return fmt::format(
            "the values stand {} element{} {} their place: padding taken as data, or data as padding", by,
            by == 1 ? "" : "s", shift > 0 ? "before" : "after");
      }
    }
  }
  return "";
}

std::string odd_lanes(const Symptoms& s) {
  // Provenance with an even number of lanes puts a contribution into every other element by design.
  const auto& coding = s.subject.data.coding(s.subject.element.parameter.value);
  if (wrong_count(s) < 2 || (coding && coding->lanes % 2 == 0)) return "";
  for (std::size_t i = 0; i < s.read.size(); ++i) {
    const bool wrong = !(s.read[i] == s.wanted[i]);
    if (wrong && i % 2 == 0) return "";
    if (!wrong && i % 2 == 1 && s.wanted[i] != 0) return "";
  }
  return "exactly the elements at odd places are wrong: one lane of a vector";
}

std::string last_element(const Symptoms& s) {
  if (s.read.size() < 4 || wrong_count(s) != 1 || s.read.back() == s.wanted.back()) return "";
  return fmt::format("the last of {} elements is wrong and no other: a loop or a view that ends too early",
                     s.read.size());
}

constexpr Signature kSignatures[] = {{"doubling", doubling},
                                     {"repeated-scaling", repeated_scaling},
                                     {"divisor-missing", divisor_missing},
                                     {"divisor-too-many", divisor_too_many},
                                     {"last-microbatch-only", last_microbatch},
                                     {"first-microbatch-only", first_microbatch},
                                     {"last-use-only", last_use},
                                     {"not-reduced", not_reduced},
                                     {"rank-left-out", rank_left_out},
                                     {"one-step-old", one_step_old},
                                     {"step-leaks", step_leaks},
                                     {"replicas-differ", mean_hides_it},
                                     {"poison", poison},
                                     {"low-bits-lost", low_bits_lost},
                                     {"shift", shifted},
                                     {"odd-lanes", odd_lanes},
                                     {"last-element", last_element}};

}  // namespace

std::span<const Signature> signatures() {
  return kSignatures;
}

std::vector<std::string> recognised(const Symptoms& symptoms) {
  std::vector<std::string> sentences;
  if (symptoms.read.empty() && symptoms.owners.empty()) return sentences;
  for (const Signature& signature : signatures()) {
    const std::string sentence = signature.recognise(symptoms);
    if (!sentence.empty()) sentences.push_back(fmt::format("{}: {}", signature.name, sentence));
  }
  return sentences;
}

}  // namespace shardcheck
