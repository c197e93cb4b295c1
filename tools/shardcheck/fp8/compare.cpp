// shardcheck fp8 compare: all fp32 inputs on which two policies differ, as ranges with a sentence each.
#include <fmt/format.h>

#include <bit>
#include <ostream>
#include <utility>

#include "core/error.h"
#include "properties/cast_law/policy_ranges.h"
#include "tools/shardcheck/fp8/subverbs.h"
#include "tools/shardcheck/fp8/values.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/terminal.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck::fp8 {
namespace {

constexpr std::uint32_t kInfinity = 0x7F800000u, kSign = 0x80000000u;

struct Pair {
  const Format& format;
  NamedCast first, second;
};

/// The same range of both signs, or of one.
struct Mirrored {
  DifferingRange range;
  bool has_both_signs;
};

/// A range of negative inputs whose codes are those of the positive one with the sign bit.
bool is_mirror(const Format& format, const DifferingRange& positive, const DifferingRange& negative) {
  return negative.first == (positive.first | kSign) && negative.last == (positive.last | kSign) &&
         negative.by_first == (positive.by_first | format.sign_mask()) &&
         negative.by_second == (positive.by_second | format.sign_mask());
}

/// Finite inputs, infinity and NaN are three things to a person, even where the codes agree.
std::vector<DifferingRange> cut_at_infinity(const std::vector<DifferingRange>& ranges) {
  std::vector<DifferingRange> cut;
  for (DifferingRange range : ranges) {
    const std::uint32_t sign = range.first & kSign;
    for (const std::uint32_t boundary : {kInfinity | sign, (kInfinity + 1) | sign}) {
      if (range.first >= boundary || range.last < boundary) continue;
      DifferingRange head = range;
      head.last = boundary - 1;
      cut.push_back(head);
      range.first = boundary;
    }
    cut.push_back(range);
  }
  return cut;
}

std::vector<Mirrored> mirrored(const Format& format, const std::vector<DifferingRange>& ranges) {
  std::vector<Mirrored> result;
  std::vector<bool> is_told(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (is_told[i]) continue;
    Mirrored each{ranges[i], false};
    for (std::size_t j = i + 1; j < ranges.size(); ++j) {
      if (is_told[j] || !is_mirror(format, ranges[i], ranges[j])) continue;
      each.has_both_signs = is_told[j] = true;
      break;
    }
    result.push_back(each);
  }
  return result;
}

std::string number_text(std::uint32_t f32_bits) {
  return fmt::format("{}", std::bit_cast<float>(f32_bits));
}

/// "|x| >= 464.00003 (0x43e80001 ..), finite".
std::string inputs_text(const Mirrored& each) {
  const std::uint32_t first = each.range.first & ~kSign, last = each.range.last & ~kSign;
  const bool negative = (each.range.first & kSign) != 0;
  const std::string sign = negative ? "-" : "";
  if (first > kInfinity) return each.has_both_signs ? "NaN" : sign + "NaN";
  if (first == kInfinity) return each.has_both_signs ? "infinity of either sign" : sign + "infinity";
  const std::string x = each.has_both_signs ? "|x|" : negative ? "-x" : "x";
  if (first == last) return fmt::format("{} = {} ({})", x, number_text(first), bits_text(first));
  const std::string from = fmt::format("{} >= {} ({} ..)", x, number_text(first), bits_text(first));
  if (last == kInfinity - 1) return from + ", finite";
  return fmt::format("{} <= {} <= {} ({} .. {})", number_text(first), x, number_text(last), bits_text(first),
                     bits_text(last));
}

std::string code_words(const Pair& pair, std::uint32_t code, bool has_both_signs) {
  const bool has_sign = has_both_signs && pair.format.sign_bits == 1;
  const std::string value = value_text(pair.format, code);
  return has_sign ? fmt::format("{} with the sign of x", value) : value;
}

std::string sentence_of(const Pair& pair, const Mirrored& each) {
  const std::uint64_t inputs = each.range.inputs() * (each.has_both_signs ? 2 : 1);
  return fmt::format("{}: {} gives {}, {} gives {}; {}", inputs_text(each), pair.first.name,
                     value_text(pair.format, each.range.by_first), pair.second.name,
                     code_words(pair, each.range.by_second, each.has_both_signs),
                     counted(static_cast<std::int64_t>(inputs), "input"));
}

}  // namespace

ExitStatus compare(Session& session, const Arguments& arguments) {
  std::vector<std::string> names;
  std::string format_name = "e4m3";
  std::int64_t limit = 20;
  Options options({"fp8 compare", "POLICY POLICY [flags]", "all fp32 inputs on which two policies differ"});
  options.arguments(names,
                    {"POLICY", "", "nv_saturating, nv_nosat, ml_dtypes, ...; e8m0: rp_sat, rz_sat, ..."});
  options.flag(format_name, {"format", "NAME", "the format that is cast to"});
  options.flag(limit, {1, 1'000'000}, {"limit", "N", "ranges that are written out"});
  options.note("Exit status 1 when they differ.");
  if (!options.parse(arguments, session)) return ExitStatus::held;
  if (names.size() != 2)
    throw bad_input("shardcheck fp8 compare",
                    fmt::format("two policies are expected, not {}: for example `shardcheck fp8 compare "
                                "nv_saturating nv_nosat`",
                                names.size()));
  const Format& format = narrow_format(format_name, "--format");
  const auto named = [&](const std::string& name) {
    return cast_named(format, name, "shardcheck fp8 compare");
  };
  const Pair pair{format, named(names[0]), named(names[1])};
  const auto ranges = cut_at_infinity(ranges_that_differ(NearestCode(pair.first), NearestCode(pair.second)));
  std::uint64_t inputs = 0;
  for (const DifferingRange& range : ranges) inputs += range.inputs();
  if (ranges.empty()) {
    session.out << fmt::format("{}: {} and {} give the same code on every fp32 input\n", format.name,
                               names[0], names[1]);
    return ExitStatus::held;
  }
  const Terminal terminal = terminal_of(session.out);
  const auto told = mirrored(format, ranges);
  session.out << fmt::format("{}: {} and {} differ on {} of 4,294,967,296 fp32 inputs\n", format.name,
                             names[0], names[1], grouped(static_cast<std::int64_t>(inputs)));
  for (std::size_t i = 0; i < told.size() && std::cmp_less(i, limit); ++i)
    session.out << "  " << wrap(sentence_of(pair, told[i]), {.width = terminal.width, .indent = 2}) << "\n";
  if (std::cmp_greater(told.size(), limit))
    session.out << fmt::format("  and {} more; --limit {} writes all\n",
                               counted(std::ssize(told) - limit, "range"), told.size());
  return ExitStatus::broken;
}

}  // namespace shardcheck::fp8
