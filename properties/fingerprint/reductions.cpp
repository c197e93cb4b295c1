#include "properties/fingerprint/reductions.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "core/numerics/encode.h"
#include "core/numerics/same_code.h"
#include "core/plan/op.h"
#include "properties/fingerprint/one_op.h"
#include "properties/generate/draw.h"

namespace shardcheck {
namespace {

constexpr std::int64_t kElements = 240;  ///< divisible by every number of ranks below
using Values = std::vector<double>;      ///< one a rank

const Format& format_in(DType type) {
  return format_of(*format_id_of(type));
}

/// How one addition or product is rounded. All inputs lie within 12 binades, so that a double holds exact
/// sums of two and products of 24 bits with 24.
struct Arithmetic {
  DType type;
  Rounding rounding;

  double operator()(double exact) const {
    const Format& format = format_in(type);
    int exponent = 0;
    const double significand = std::frexp(exact, &exponent);  // exact = significand * 2^exponent
    const auto integer = static_cast<std::uint64_t>(std::ldexp(std::abs(significand), 53));
    CastPolicy policy = kIeee;
    policy.rounding = rounding;
    const Dyadic value{.negative = std::signbit(exact), .significand = integer, .exponent = exponent - 53};
    return value_of_code(type, encode(format, policy, value));
  }
};

/// An order of additions as a fold over the ranks.
struct Order {
  std::string_view name;
  double (*sum)(const Values&, const Arithmetic&);
};

double ascending(const Values& x, const Arithmetic& rn) {
  double sum = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) sum = rn(sum + x[i]);
  return sum;
}
double descending(const Values& x, const Arithmetic& rn) {
  double sum = x.back();
  for (std::size_t i = x.size() - 1; i-- > 0;) sum = rn(sum + x[i]);
  return sum;
}
double halves(const Values& x, const Arithmetic& rn) {
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>((x.size() + 1) / 2);
  const double low = ascending(Values(x.begin(), middle), rn);
  return middle == x.end() ? low : rn(low + ascending(Values(middle, x.end()), rn));
}
double once(const Values& x, const Arithmetic& rn) {
  double sum = 0;
  for (const double each : x) sum += each;
  return rn(sum);
}
double without_last(const Values& x, const Arithmetic& rn) {
  return ascending(Values(x.begin(), x.end() - 1), rn);
}
constexpr Order kOrders[] = {{"ascending ranks", ascending},
                             {"two halves, each ascending", halves},
                             {"descending ranks", descending},
                             {"exact, rounded once", once},
                             {"ascending, the last rank missing", without_last}};

/// Where an average puts 1/R.
struct Place {
  std::string_view name;
  double (*average)(const Values&, const Arithmetic&, const Order&);
};
double before(const Values& x, const Arithmetic& rn, const Order& order) {
  const double reciprocal = rn(1.0 / static_cast<double>(x.size()));
  Values scaled;
  for (const double each : x) scaled.push_back(rn(each * reciprocal));
  return order.sum(scaled, rn);
}
double after(const Values& x, const Arithmetic& rn, const Order& order) {
  return rn(order.sum(x, rn) * rn(1.0 / static_cast<double>(x.size())));
}
double divided(const Values& x, const Arithmetic& rn, const Order& order) {
  return rn(order.sum(x, rn) / static_cast<double>(x.size()));
}
double no_average(const Values& x, const Arithmetic& rn, const Order& order) {
  return order.sum(x, rn);
}
constexpr Place kSum[] = {{"", no_average}};
constexpr Place kAverages[] = {{"every addend times RN(1/R)", before},
                               {"the sum times RN(1/R)", after},
                               {"the sum divided by R", divided}};

struct Question {
  Collective collective;
  Reduction reduction;
  DType type;
  std::int32_t ranks;

  std::string subject() const {
    return fmt::format("{} {} over {} ranks",
                       collective == Collective::all_reduce ? "all_reduce" : "reduce_scatter", name_of(type),
                       ranks);
  }
};

/// Any significand over 12 binades, both signs.
std::uint32_t number(Draw& draw, DType type) {
  const Format& format = format_in(type);
  const auto field = static_cast<std::uint32_t>(format.bias - 6 + draw.below(12));
  const std::uint32_t fraction = draw.word() & ((1u << format.mantissa_bits) - 1);
  return field << format.mantissa_bits | fraction | (draw.chance(50) ? format.sign_mask() : 0);
}

OpOperand draw_inputs(const Question& question) {
  constexpr std::uint64_t kSeed = 0x5ED0CE;
  OpOperand inputs{question.type, {}};
  for (std::int32_t rank = 0; rank < question.ranks; ++rank) {
    Draw draw(kSeed, static_cast<std::uint64_t>(rank));
    std::vector<std::uint32_t> codes;
    for (std::int64_t i = 0; i < kElements; ++i) codes.push_back(number(draw, question.type));
    inputs.ranks.push_back(bytes_of_codes(question.type, codes));
  }
  return inputs;
}

OpOperand same_everywhere(DType type, std::int32_t ranks, std::int64_t numel) {
  const std::vector<std::uint32_t> poison(static_cast<std::size_t>(numel), format_in(type).quiet_nan_code);
  return {type, std::vector(static_cast<std::size_t>(ranks), bytes_of_codes(type, poison))};
}

/// The reduced elements in order; `agree` is false when ranks hold different ones after an all-reduce.
struct Reduced {
  std::vector<std::uint32_t> codes;
  bool agree = true;
};
Reduced reduce(Backend& backend, const Question& question, const OpOperand& inputs) {
  const auto numel = std::ssize(inputs.ranks[0]) / bytes_of(question.type);
  const bool scatters = question.collective == Collective::reduce_scatter;
  const std::array operands = {
      inputs, same_everywhere(question.type, question.ranks, scatters ? numel / question.ranks : numel)};
  const Communicate op{question.collective, question.reduction, question.ranks};
  const OpOperand outputs = execute_op(backend, op, operands);
  Reduced reduced;
  for (const auto& bytes : outputs.ranks) {
    const auto codes = codes_of_bytes(question.type, bytes);
    if (scatters || reduced.codes.empty()) {
      reduced.codes.insert(reduced.codes.end(), codes.begin(), codes.end());
    } else {
      reduced.agree &= codes == reduced.codes;
    }
  }
  return reduced;
}

/// A rule that may still hold.
struct Candidate {
  std::string name;
  std::function<double(const Values&)> result;
  bool stands = true;
};

std::vector<Candidate> candidates_of(const Question& question) {
  std::vector<Candidate> candidates;
  const bool averages = question.reduction == Reduction::average;
  for (const Rounding rounding : {Rounding::nearest_even, Rounding::toward_zero}) {
    for (const Place& place : averages ? std::span<const Place>(kAverages) : std::span<const Place>(kSum)) {
      for (const Order& order : kOrders) {
        std::string name = std::string(place.name) + (averages ? ", " : "") + std::string(order.name);
        if (rounding == Rounding::toward_zero) name += ", toward zero";
        candidates.push_back(
            {std::move(name), [rounding, place, order, type = question.type](const Values& x) {
               return place.average(x, {type, rounding}, order);
             }});
      }
    }
  }
  return candidates;
}

Probe probe_of(const Question& question, const OpOperand& inputs, std::size_t element, std::uint32_t result) {
  CodeList list{"by rank", std::string(name_of(question.type)), {}};
  for (const auto& bytes : inputs.ranks)
    list.codes.push_back(
        hex(question.type, code_at(question.type, bytes, static_cast<std::int64_t>(element))));
  const char* what = question.reduction == Reduction::average   ? "average,"
                     : question.reduction == Reduction::maximum ? "maximum,"
                                                                : "sum,";
  return {fmt::format("{} {}", what, question.subject()),
          {list},
          {code_list("result", question.type, std::span(&result, 1))}};
}

Fact answered(Backend& backend, const Question& question) {
  const OpOperand inputs = draw_inputs(question);
  const Reduced reduced = reduce(backend, question, inputs);
  std::vector<Candidate> candidates = candidates_of(question);
  Fact fact{question.subject(), question.reduction == Reduction::average ? "average" : "sum", "", "", {}};
  for (std::size_t e = 0; e < reduced.codes.size(); ++e) {
    Values values;
    for (const auto& bytes : inputs.ranks)
      values.push_back(
          value_of_code(question.type, code_at(question.type, bytes, static_cast<std::int64_t>(e))));
    bool tells = false;
    for (Candidate& candidate : candidates) {
      if (!candidate.stands) continue;
      candidate.stands = candidate.result(values) == value_of_code(question.type, reduced.codes[e]);
      tells |= !candidate.stands;
    }
    if (tells) fact.probes.push_back(probe_of(question, inputs, e, reduced.codes[e]));
  }
  // Candidates that these ranks cannot tell apart stand together; the first is the plain one.
  std::size_t left = 0;
  for (const Candidate& candidate : candidates) {
    if (!candidate.stands) continue;
    if (fact.value.empty()) fact.value = candidate.name;
    ++left;
  }
  if (fact.value.empty()) fact.value = fmt::format("none of {} rules", candidates.size());
  if (!reduced.agree) fact.value += "; ranks differ";
  fact.how = fmt::format("{} rules on {} elements{}", candidates.size(), reduced.codes.size(),
                         left > 1 ? fmt::format("; {} of them cannot be told apart here", left) : "");
  return fact;
}

// ---- Zeros, NaN, subnormals.

std::vector<Fact> corner_facts(Backend& backend, DType type) {
  const Format& format = format_in(type);
  const Question question{Collective::all_reduce, Reduction::sum, type, 2};
  const std::uint32_t sign = format.sign_mask(), nan = format.quiet_nan_code;
  const std::uint32_t one = static_cast<std::uint32_t>(format.bias) << format.mantissa_bits;
  const std::vector<std::uint32_t> first = {sign, sign, nan, one, 1, format.max_code, format.infinity_code};
  const std::vector<std::uint32_t> second = {
      sign, 0, one, nan, 1, format.max_code, format.infinity_code | sign};
  const OpOperand inputs{type, {bytes_of_codes(type, first), bytes_of_codes(type, second)}};
  const auto codes = reduce(backend, question, inputs).codes;
  const auto is_nan = [&](std::size_t i) { return format.is_nan(codes[i]); };
  const std::string subject = fmt::format("reductions of {}", name_of(type));
  std::vector<Fact> facts;
  const auto add = [&](std::string name, std::string value, std::string how, std::size_t from,
                       std::size_t to) {
    Fact fact{subject, std::move(name), std::move(value), std::move(how), {}};
    for (std::size_t i = from; i < to; ++i) fact.probes.push_back(probe_of(question, inputs, i, codes[i]));
    facts.push_back(std::move(fact));
  };
  const auto sign_of = [&](std::size_t i) {
    return codes[i] == sign ? "-0" : codes[i] == 0 ? "+0" : "no zero";
  };
  add("zero", fmt::format("-0 + -0 gives {}, -0 + +0 gives {}", sign_of(0), sign_of(1)), "two ranks", 0, 2);
  add("NaN",
      is_nan(2) && is_nan(3)   ? "reaches the sum"
      : is_nan(2) != is_nan(3) ? "reaches it from one rank"
                               : "dropped",
      "on the first of two ranks, then on the second", 2, 4);
  add("subnormals",
      codes[4] == 2   ? "kept"
      : codes[4] == 0 ? "flushed to zero"
                      : "changed",
      "twice the least number", 4, 5);
  add("overflow", format.is_infinity(codes[5]) ? "infinity" : "another code", "twice the largest number", 5,
      6);
  add("Inf - Inf", is_nan(6) ? "NaN" : "another code", "two ranks", 6, 7);
  return facts;
}

/// Numbers on any rank, and a NaN on the first, in the middle, on the last, on all.
Fact maximum_fact(Backend& backend) {
  constexpr std::uint32_t kNan = 0x7FC00000u, kOne = 0x3F800000u, kTwo = 0x40000000u, kThree = 0x40400000u;
  const Question question{Collective::all_reduce, Reduction::maximum, DType::f32, 3};
  const std::vector<std::uint32_t> ranks[] = {{kThree, kOne, kTwo, kNan, kTwo, kOne, kNan},
                                              {kOne, kThree, kOne, kTwo, kNan, kTwo, kNan},
                                              {kTwo, kTwo, kThree, kOne, kOne, kNan, kNan}};
  OpOperand inputs{DType::f32, {}};
  for (const auto& codes : ranks) inputs.ranks.push_back(bytes_of_codes(DType::f32, codes));
  const Reduced reduced = reduce(backend, question, inputs);
  if (reduced.codes.size() < ranks[0].size())
    return {"reductions", "maximum with NaN", "", "other processes have all of its ranks", {}};
  const auto is = [&](std::size_t i, std::uint32_t code) { return reduced.codes[i] == code; };
  const auto is_nan = [&](std::size_t i) { return format_in(DType::f32).is_nan(reduced.codes[i]); };
  const bool finds_largest = is(0, kThree) && is(1, kThree) && is(2, kThree);
  const bool drops = is(3, kTwo) && is(4, kTwo) && is(5, kTwo);
  const bool propagates = is_nan(3) && is_nan(4) && is_nan(5);
  Fact fact{"reductions", "maximum with NaN", "", "three ranks, a NaN on each in turn and on all", {}};
  fact.value = fmt::format("{}; {}{}{}", finds_largest ? "the largest" : "another number",
                           drops        ? "a NaN is dropped"
                           : propagates ? "a NaN propagates"
                                        : "a NaN counts by its rank",
                           is_nan(6) ? ", of NaN alone NaN" : ", of NaN alone a number",
                           reduced.agree ? "" : "; ranks differ");
  for (std::size_t i = 0; i < reduced.codes.size() && i < ranks[0].size(); ++i)
    fact.probes.push_back(probe_of(question, inputs, i, reduced.codes[i]));
  return fact;
}

/// Which rank's piece lies where after an all-gather.
Fact order_of_pieces(Backend& backend) {
  constexpr std::int32_t kRanks = 4;
  OpOperand pieces{DType::bf16, {}};
  std::vector<std::uint32_t> ascending_pieces;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const std::vector<std::uint32_t> piece = {0x3F80 + 2 * rank, 0x3F81 + 2 * rank};
    pieces.ranks.push_back(bytes_of_codes(DType::bf16, piece));
    ascending_pieces.insert(ascending_pieces.end(), piece.begin(), piece.end());
  }
  const std::array operands = {pieces, same_everywhere(DType::bf16, kRanks, std::ssize(ascending_pieces))};
  const Communicate op{Collective::all_gather, Reduction::sum, kRanks};
  const OpOperand gathered = execute_op(backend, op, operands);
  Fact fact{"all_gather over 4 ranks", "pieces", "ascending ranks", "pieces with numbers of their own", {}};
  for (const auto& bytes : gathered.ranks) {
    const auto codes = codes_of_bytes(DType::bf16, bytes);
    if (codes != ascending_pieces) fact.value = "in another order, or changed";
    fact.probes.push_back({"all_gather, pieces of 2", {}, {code_list("gathered", DType::bf16, bytes)}});
  }
  return fact;
}

}  // namespace

std::vector<Fact> observe_reductions(Backend& backend) {
  std::vector<Fact> facts;
  for (DType type : {DType::f32, DType::bf16}) {
    for (std::int32_t ranks : {2, 3, 4}) {
      for (Collective collective : {Collective::all_reduce, Collective::reduce_scatter}) {
        for (Reduction reduction : {Reduction::sum, Reduction::average})
          facts.push_back(answered(backend, {collective, reduction, type, ranks}));
      }
    }
    for (Fact& fact : corner_facts(backend, type)) facts.push_back(std::move(fact));
  }
  facts.push_back(order_of_pieces(backend));
  facts.push_back(maximum_fact(backend));
  return facts;
}

}  // namespace shardcheck
