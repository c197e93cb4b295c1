#include "properties/fingerprint/accumulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/integers.h"
#include "core/numerics/format.h"

namespace shardcheck {
namespace {

using namespace accumulator_facts;

double value_of(std::uint32_t f32_code) {
  return std::bit_cast<float>(f32_code);
}

/// Dot products and what came out of them.
struct Answers {
  std::vector<Dot> dots;
  DotSetting setting;
  std::vector<std::uint32_t> results;
  double operator[](std::size_t i) const { return value_of(results[i]); }
};

/// The observation of one accumulator. Every dot product has the scale of one large term, 2^big.
class Observation {
 public:
  Observation(Backend& backend, const DotRule& rule) : backend_(backend), rule_(rule) {
    constexpr int kRoomForSums = 5, kLargestBig = 12;
    big_ = std::min(normal_products(rule).most - kRoomForSums, kLargestBig);
  }

  std::vector<Fact> run() {
    observe_alignment();
    if (!alignment_) {
      for (std::string_view name : {kProductsPerStep, kOrder, kKeptBits, kAlignedTerm, kSum, kMaximum,
                                    kProductExponent, kSubnormal, kPromotionInterval}) {
        unseen(name, "nothing is lost, so that no step shows");
      }
      return std::move(facts_);
    }
    observe_aligned_term();
    observe_product_exponent();
    observe_subnormal();
    observe_products_per_step();
    if (!step_) {
      for (std::string_view name : {kOrder, kKeptBits, kSum, kMaximum, kPromotionInterval})
        unseen(name, "the products of a step were not found");
      return std::move(facts_);
    }
    observe_order();
    observe_kept_bits();
    observe_maximum();
    if (kept_) {
      observe_sum();
      observe_promotion();
    } else {
      unseen(kSum, "the kept bits were not found");
      unseen(kPromotionInterval, "the kept bits were not found");
    }
    return std::move(facts_);
  }

 private:
  // ---- Terms relative to 2^big.

  std::optional<Term> term(std::int64_t k, int below, Significand significand, bool is_negative) const {
    return term_of(rule_, k, {big_ - below, significand, is_negative});
  }
  Term plus(std::int64_t k, int below = 0) const { return *term(k, below, Significand::one, false); }
  Term minus(std::int64_t k, int below = 0) const { return *term(k, below, Significand::one, true); }
  double power(int below) const { return std::ldexp(1.0, big_ - below); }

  Answers ask(std::vector<Dot> dots, std::int64_t k) const {
    Answers answers{std::move(dots), {.k = k}, {}};
    answers.setting.k = round_up(k, std::int64_t{16});  // what libraries take
    answers.results = multiply(backend_, rule_, answers.dots, answers.setting);
    return answers;
  }

  // ---- Facts.

  void seen(std::string_view name, std::string value, std::string how, const Answers& answers,
            std::initializer_list<std::size_t> decisive) {
    Fact fact = begun(name);
    fact.value = std::move(value);
    fact.how = std::move(how);
    for (std::size_t i : decisive) {
      if (i < answers.dots.size())
        fact.probes.push_back(probe_of(rule_, answers.dots[i], answers.setting, answers.results[i]));
    }
    facts_.push_back(std::move(fact));
  }
  void unseen(std::string_view name, std::string reason) {
    Fact fact = begun(name);
    fact.how = std::move(reason);
    facts_.push_back(std::move(fact));
  }
  Fact begun(std::string_view name) const {
    return {"accumulator of " + describe(rule_), std::string(name), "", "", {}};
  }

  // ---- Observations.

  /// 2^big + 2^(big-j) - 2^big in one step is 2^(big-j) as long as j <= F.
  void observe_alignment() {
    constexpr int kMost = 40;
    std::vector<Dot> dots;
    for (int j = 1; j <= kMost && term(0, j, Significand::one, false); ++j)
      dots.push_back({plus(0), plus(1, j), minus(2)});
    const Answers answers = ask(std::move(dots), kShort);
    const auto count = static_cast<int>(answers.dots.size());
    int bits = 0;
    while (bits < count && answers[static_cast<std::size_t>(bits)] == power(bits + 1)) ++bits;
    if (bits == count) {
      return seen(kAlignmentBits, "unlimited",
                  fmt::format("2^{0} + 2^{1} - 2^{0} still gives 2^{1}", big_, big_ - count), answers,
                  {static_cast<std::size_t>(count - 1)});
    }
    alignment_ = bits;
    seen(kAlignmentBits, std::to_string(bits),
         fmt::format("x + y - x in one step is y down to y = 2^-{} x and another number below", bits),
         answers, {static_cast<std::size_t>(bits - 1), static_cast<std::size_t>(bits)});
  }

  /// Which integer 1.5 and -1.5 units become.
  static std::string direction(double up, double down) {
    if (up == 1 && down == -1) return "toward zero";
    if (up == 2 && down == -2) return "to nearest";
    if (up == 1 && down == -2) return "downward";
    if (up == 2 && down == -1) return "upward";
    return "in another way";
  }

  void observe_aligned_term() {
    std::vector<Dot> dots;
    for (bool negative : {false, true}) {
      const auto x = term(2, *alignment_, Significand::one_and_a_half, negative);
      if (!x) return unseen(kAlignedTerm, "1.5 units are no product of these operands");
      dots.push_back({plus(0), minus(1), *x});
    }
    const Answers answers = ask(std::move(dots), kShort);
    const double unit = power(*alignment_);
    seen(kAlignedTerm, direction(answers[0] / unit, answers[1] / unit),
         "what becomes of 1.5 and -1.5 units of the last place that is aligned", answers, {0, 1});
  }

  /// 1.5 * 1.5 = 2.25 counts with exponent 0 or 1.
  void observe_product_exponent() {
    const auto factor = [&](DType type, int exponent, bool is_negative) {
      return code_of(type, {exponent, Significand::one_and_a_half, is_negative});
    };
    const Term split = plus(0);  // where `term_of` cuts 2^big in two
    const auto a_exponent = exponent_of(rule_.a, split.a);
    const auto b = factor(rule_.b, big_ - a_exponent, false);
    const auto a = factor(rule_.a, a_exponent, false), minus_a = factor(rule_.a, a_exponent, true);
    if (!a || !b || !minus_a) return unseen(kProductExponent, "1.5 * 1.5 is no product of these operands");
    const Answers answers = ask({{{0, *a, *b}, {1, *minus_a, *b}, plus(2, *alignment_)}}, kShort);
    seen(kProductExponent, answers[0] == power(*alignment_) ? "the operands' sum" : "normalised",
         "2.25 x beside a term that one binade more would lose", answers, {0});
  }

  static int exponent_of(DType type, std::uint32_t power_of_two) {
    const Format& format = format_of(*format_id_of(type));
    return static_cast<int>(power_of_two >> format.mantissa_bits) - format.bias;
  }

  /// A's least subnormal counts with the format's smallest exponent, or with its own.
  void observe_subnormal() {
    const Format& a = format_of(*format_id_of(rule_.a));
    const Format& b = format_of(*format_id_of(rule_.b));
    const int largest_b = static_cast<int>(b.max_code >> b.mantissa_bits) - b.bias;
    const int q = std::min(largest_b, big_ - a.smallest_exponent());
    const int counted = a.smallest_exponent() + q;
    const auto factor = code_of(rule_.b, {q, Significand::one, false});
    const auto tiny = term_of(rule_, 2, {counted - *alignment_ - 1, Significand::one, false});
    if (!factor || !tiny) return unseen(kSubnormal, "no product is small enough beside a subnormal one");
    const Term least{0, 1, *factor}, minus_least{1, 1 | a.sign_mask(), *factor};
    const Answers answers = ask({{least}, {least, minus_least, *tiny}}, kShort);
    const bool is_kept = answers[0] == std::ldexp(1.0, counted - a.mantissa_bits);
    const bool counts_unnormalised = answers[1] == 0;
    seen(kSubnormal,
         answers[0] == 0       ? "flushed to zero"
         : !is_kept            ? "changed"
         : counts_unnormalised ? "kept, exponent of the least normal"
                               : "kept, normalised",
         "the least subnormal of A alone, and beside a term that its format's smallest exponent would lose",
         answers, {0, 1});
  }

  /// A term that 2^big would lose survives in the first place that is in another step.
  void observe_products_per_step() {
    std::vector<Dot> dots;
    constexpr std::size_t kFirst = 2;
    for (std::size_t p = kFirst; p < kFirst + static_cast<std::size_t>(kDotsAtOnce); ++p)
      dots.push_back({plus(0), minus(1), plus(static_cast<std::int64_t>(p), *alignment_ + 1)});
    const Answers answers = ask(std::move(dots), kLong);
    std::size_t i = 0;
    while (i < answers.dots.size() && answers[i] != power(*alignment_ + 1)) ++i;
    if (i == answers.dots.size())
      return unseen(kProductsPerStep, fmt::format("more than {} products a step", kDotsAtOnce + 1));
    step_ = static_cast<int>(i + kFirst);
    seen(kProductsPerStep, i == 0 ? "2 or fewer" : std::to_string(*step_),
         "the distance from which on a term 2^-(F+1) x survives beside x - x", answers, {i - (i > 0), i});
  }

  void observe_order() {
    const Answers answers = ask({{plus(0, *alignment_ + 1), plus(*step_), minus(*step_ + 1)},
                                 {plus(0), minus(1), plus(*step_, *alignment_ + 1)}},
                                kLong);
    const bool first_lost = answers[0] == 0, last_lost = answers[1] == 0;
    seen(kOrder,
         first_lost && !last_lost   ? "ascending"
         : !first_lost && last_lost ? "descending"
                                    : "not told apart",
         "a small term in the step before x - x, and in the step after it", answers, {0, 1});
  }

  int ones() const { return static_cast<int>(std::bit_floor(static_cast<unsigned>(*step_ - 1))); }
  int ones_exponent() const { return std::bit_width(static_cast<unsigned>(ones())) - 1; }

  /// `ones()` times 2^big and 2^(big - below) behind them, in the last step of K: a later one would align the
  /// sum again.
  std::optional<Dot> heap(int below, Significand significand, bool is_negative) const {
    const std::int64_t first = (kLong - 1) / *step_ * *step_;
    const auto last = term(first + ones(), below, significand, is_negative);
    if (!last || first + ones() >= kLong) return std::nullopt;
    Dot dot;
    for (int i = 0; i < ones(); ++i) dot.push_back(is_negative ? minus(first + i) : plus(first + i));
    dot.push_back(*last);
    return dot;
  }

  void observe_kept_bits() {
    std::vector<Dot> dots;
    for (int t = 1; t <= *alignment_; ++t) dots.push_back({plus(0), plus(1, t), minus(*step_)});
    const Answers cancelled = ask(std::move(dots), kLong);
    int bits = 0;
    while (bits < *alignment_ && cancelled[static_cast<std::size_t>(bits)] == power(bits + 1)) ++bits;
    if (bits < *alignment_) {
      kept_ = bits;
      return seen(kKeptBits, std::to_string(bits),
                  fmt::format("x + y in a step, - x in the next: y = 2^-{} x is the last that returns", bits),
                  cancelled, {static_cast<std::size_t>(bits - 1), static_cast<std::size_t>(bits)});
    }
    observe_kept_bits_of_a_heap();
  }

  /// With as many bits kept as aligned, only a sum that carries into higher places shows what is cut.
  void observe_kept_bits_of_a_heap() {
    constexpr int kOutputBits = 23;
    const int most = std::min(*alignment_ + ones_exponent(), kOutputBits);
    std::vector<Dot> dots;
    for (int t = *alignment_; t <= most; ++t) {
      const auto dot = heap(t - ones_exponent(), Significand::one, false);
      if (!dot) return unseen(kKeptBits, "the last step of K is too short for a sum that carries");
      dots.push_back(*dot);
    }
    const Answers answers = ask(std::move(dots), kLong);
    std::size_t i = 0;
    const auto whole = [&](std::size_t at) {
      return ones() * power(0) + power(*alignment_ + static_cast<int>(at) - ones_exponent());
    };
    while (i < answers.dots.size() && answers[i] == whole(i)) ++i;
    if (i == 0 || i == answers.dots.size())
      return unseen(kKeptBits, fmt::format("at least {}; the output shows no more", most));
    kept_ = *alignment_ + static_cast<int>(i) - 1;
    seen(kKeptBits, std::to_string(*kept_),
         fmt::format("{} x + y in one step: the last y that the sum shows", ones()), answers, {i - 1, i});
  }

  void observe_sum() {
    const int below = *kept_ - ones_exponent();
    const auto up = heap(below, Significand::one_and_a_half, false);
    const auto down = heap(below, Significand::one_and_a_half, true);
    if (!up || !down || below + 1 > *alignment_)
      return unseen(kSum, "1.5 units of a sum's last place are lost before they are added");
    const Answers answers = ask({*up, *down}, kLong);
    const double heap_value = ones() * power(0), unit = power(below);
    sum_ = direction((answers[0] - heap_value) / unit, (answers[1] + heap_value) / unit);
    seen(kSum, sum_, "what becomes of 1.5 and -1.5 units of the last place that a sum keeps", answers,
         {0, 1});
  }

  /// A step full of terms that are lost one by one beside the accumulator, but not in their sum.
  void observe_maximum() {
    Dot dot = {plus(0)};
    for (int i = 0; i < *step_; ++i) dot.push_back(plus(*step_ + i, *alignment_ + 1));
    const Answers answers = ask({dot}, std::max<std::int64_t>(kLong, 2 * *step_));
    const bool counts = answers[0] == power(0);
    seen(kMaximum, counts ? "yes" : "no",
         fmt::format("x in one step, {} terms of 2^-(F+1) x in the next: {}", *step_,
                     counts ? "all are lost" : "their sum is seen"),
         answers, {0});
  }

  /// 1.5 units below the last place that is kept are lost in an accumulator and seen by an fp32 sum.
  void observe_promotion() {
    if (sum_ != "toward zero")
      return unseen(kPromotionInterval, "a sum is not cut, so that an fp32 sum looks the same");
    const Answers answers = ask(promotion_dots(0), kDotsAtOnce * *step_);
    const auto first = first_seen(answers);
    if (!first) {
      return seen(kPromotionInterval, "never",
                  fmt::format("a term below the kept bits is lost at every distance within K = {}",
                              kDotsAtOnce * *step_),
                  answers, {0, answers.dots.size() - 1});
    }
    const std::int64_t interval = static_cast<std::int64_t>(*first + 1) * *step_;
    const Answers again = ask(promotion_dots(interval), (kDotsAtOnce * *step_) + interval);
    const auto second = first_seen(again);
    const bool is_period = second && static_cast<std::int64_t>(*second + 1) * *step_ == interval;
    seen(kPromotionInterval,
         is_period ? std::to_string(interval) : fmt::format("irregular, first {}", interval),
         "the distance from which on a term below the kept bits is seen, from two places", answers,
         {*first - (*first > 0), *first});
  }
  std::vector<Dot> promotion_dots(std::int64_t from) const {
    std::vector<Dot> dots;
    for (std::int64_t i = 1; i < kDotsAtOnce; ++i) {
      const auto small = term(from + i * *step_, *kept_ + 1, Significand::one_and_a_half, false);
      dots.push_back({plus(from), *small});
    }
    return dots;
  }
  std::optional<std::size_t> first_seen(const Answers& answers) const {
    for (std::size_t i = 0; i < answers.dots.size(); ++i) {
      if (answers[i] != power(0)) return i;
    }
    return std::nullopt;
  }

  static constexpr std::int64_t kShort = 64, kLong = 128;

  Backend& backend_;
  const DotRule& rule_;
  int big_ = 0;
  std::optional<int> alignment_, step_, kept_;
  std::string sum_;
  std::vector<Fact> facts_;
};

}  // namespace

std::vector<Fact> observe_accumulator(Backend& backend, const DotRule& rule) {
  try {
    return Observation(backend, rule).run();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    return {{"accumulator of " + describe(rule), std::string(kAlignmentBits), "", error.what(), {}}};
  }
}

}  // namespace shardcheck
