#include "properties/cast_law/certificate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <thread>

#include "core/assert.h"
#include "core/numerics/fast_cast.h"
#include "core/numerics/narrow.h"
#include "properties/cast_law/digest.h"
#include "properties/cast_law/nearest_code.h"

namespace shardcheck {
namespace {

constexpr std::uint64_t kChunk = 4096;                    ///< inputs at once: they stay in the first cache
constexpr std::uint64_t kBlock = std::uint64_t{1} << 22;  ///< inputs that a thread takes at once
constexpr std::uint64_t kFirstNegative = std::uint64_t{1} << 31, kAllInputs = std::uint64_t{1} << 32;
constexpr std::uint32_t kAll16 = std::uint32_t{1} << 16;

std::uint64_t weight_of(std::uint32_t input) {
  return input * 0x9E3779B1u + 0x7F4A7C15u;
}

/// One cast, ready to be run on ranges, whatever the width of its codes.
class Caster {
 public:
  Caster(const NamedCast& cast, CastPath path) : cast_(cast), rule_(rule_of(cast, path)) {}

  template <class Code>
  void operator()(std::span<const float> numbers, std::span<Code> codes) const {
    if (const auto* fast = std::get_if<FastCast>(&rule_)) return (*fast)(numbers, codes);
    if constexpr (sizeof(Code) == 1) {
      if (const auto* power = std::get_if<FastPowerOfTwoCast>(&rule_)) return (*power)(numbers, codes);
    }
    for (std::size_t i = 0; i < numbers.size(); ++i)
      codes[i] = static_cast<Code>(cast_.code_of(std::bit_cast<std::uint32_t>(numbers[i])));
  }

 private:
  using Rule = std::variant<std::monostate, FastCast, FastPowerOfTwoCast>;
  static Rule rule_of(const NamedCast& cast, CastPath path) {
    if (path == CastPath::readable) return {};
    if (const auto* power = std::get_if<PowerOfTwoPolicy>(&cast.rule))
      return FastPowerOfTwoCast(power->rounding, power->overflow);
    return FastCast(format_of(cast.format), std::get<CastPolicy>(cast.rule));
  }

  NamedCast cast_;
  Rule rule_;
};

/// Consecutive inputs of one sign, and what they are cast to by definition.
struct Stretch {
  std::uint64_t begin, end;
  std::uint16_t code;
};

/// Differences of one cast; the digest holds what they change of the definition's.
class Judged {
 public:
  Judged(const SweptCast& swept, CastPath path)
      : cast_(swept.cast, path),
        definition_(swept.definition),
        is_wide_(format_of(swept.cast.format).width() > 8) {}

  /// Casts the inputs, which begin at `begin` and have one sign.
  void look_at(std::uint64_t begin, std::span<const float> numbers) {
    if (begin >= kFirstNegative && !definition_.has_negative_sources()) return;
    if (is_wide_) return look_at<std::uint16_t>(begin, numbers);
    look_at<std::uint8_t>(begin, numbers);
  }

  CastCertificate seen;

 private:
  template <class Code>
  void look_at(std::uint64_t begin, std::span<const float> numbers) {
    std::array<Code, kChunk> codes;
    const std::span<Code> actual = std::span(codes).first(numbers.size());
    cast_(numbers, actual);
    const std::uint64_t sign = begin & kFirstNegative, end = begin + numbers.size();
    const auto& runs = definition_.runs();
    seen.inputs += numbers.size();
    std::uint64_t at = begin;
    for (std::size_t run = definition_.run_of(static_cast<std::uint32_t>(begin - sign)); at < end; ++run) {
      const std::uint64_t next = run + 1 < runs.size() ? sign + runs[run + 1].first : sign + kFirstNegative;
      const Stretch stretch{at, std::min(next, end), runs[run].code[sign != 0]};
      compare<Code>(stretch, actual.subspan(at - begin, stretch.end - at));
      at = stretch.end;
    }
  }

  template <class Code>
  void compare(const Stretch& stretch, std::span<const Code> actual) {
    const auto expected = static_cast<Code>(stretch.code);
    Code different = 0;
    for (const Code code : actual) different |= static_cast<Code>(code ^ expected);
    if (different == 0) return;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      if (actual[i] != expected)
        differs(static_cast<std::uint32_t>(stretch.begin + i), {expected, actual[i]});
    }
  }

  struct Codes {
    std::uint32_t expected, actual;
  };
  void differs(std::uint32_t input, Codes codes) {
    seen.digest += weight_of(input) * (std::uint64_t{codes.actual} - codes.expected);
    if (seen.differences++ != 0 && seen.input < input) return;
    seen.input = input;
    seen.expected = codes.expected;
    seen.actual = codes.actual;
  }

  Caster cast_;
  NearestCode definition_;
  bool is_wide_;
};

void add(CastCertificate& sum, const CastCertificate& part) {
  if (part.differences != 0 && (sum.differences == 0 || part.input < sum.input)) {
    sum.input = part.input;
    sum.expected = part.expected;
    sum.actual = part.actual;
  }
  sum.inputs += part.inputs;
  sum.differences += part.differences;
  sum.digest += part.digest;
}

/// One thread's share: blocks from the counter, until there are none.
void sweep_blocks(std::vector<Judged>& judged, const SweepOptions& options, std::atomic<std::uint64_t>& next,
                  const std::function<void(double)>& progress) {
  std::array<float, kChunk> numbers;
  const auto is_stopped = [&] { return options.stop != nullptr && *options.stop; };
  for (std::uint64_t block = next.fetch_add(kBlock); block < options.end; block = next.fetch_add(kBlock)) {
    const std::uint64_t block_end = std::min(block + kBlock, options.end);
    for (std::uint64_t begin = block; begin < block_end;) {
      if (is_stopped()) return;
      // A chunk ends where the sign changes.
      const std::uint64_t count = std::min(kChunk - begin % kChunk, block_end - begin);
      const auto first = static_cast<std::uint32_t>(begin);
      for (std::uint32_t i = 0; i < count; ++i) numbers[i] = std::bit_cast<float>(first + i);
      for (Judged& each : judged) each.look_at(begin, std::span(numbers).first(count));
      begin += count;
    }
    if (progress) {
      const auto all = static_cast<double>(options.end - options.begin);
      progress(static_cast<double>(block_end - options.begin) / all);
    }
  }
}

}  // namespace

std::vector<CastCertificate> sweep_fp32(std::span<const SweptCast> casts, const SweepOptions& options) {
  SC_ASSERT(options.threads > 0 && options.begin <= options.end && options.end <= kAllInputs,
            "a sweep has threads and a range of 32-bit inputs");
  std::vector<Judged> judged;
  for (const SweptCast& each : casts) judged.emplace_back(each, options.path);
  std::vector<std::vector<Judged>> parts(static_cast<std::size_t>(options.threads), judged);
  std::atomic<std::uint64_t> next = options.begin;
  {
    std::vector<std::jthread> threads;
    for (std::size_t part = 1; part < parts.size(); ++part)
      threads.emplace_back([&, part] { sweep_blocks(parts[part], options, next, {}); });
    sweep_blocks(parts[0], options, next, options.progress);
  }
  std::vector<CastCertificate> certificates;
  for (std::size_t i = 0; i < casts.size(); ++i) {
    CastCertificate& sum = certificates.emplace_back();
    sum.digest = cast_digest(casts[i].definition, {options.begin, options.end});
    for (const auto& part : parts) add(sum, part[i].seen);
  }
  return certificates;
}

CastCertificate certify_16_bit(const NamedCast& cast, const CastOf16& codes) {
  const NearestCode definition(cast);
  CastCertificate seen;
  for (DType source : {DType::bf16, DType::f16}) {
    const std::vector<std::uint16_t> actual = codes(source);
    SC_ASSERT(actual.size() == kAll16, "a 16-bit type has 2^16 numbers");
    const std::uint32_t base = source == DType::bf16 ? 0 : kAll16;
    for (std::uint32_t code = 0; code < kAll16; ++code) {
      const std::uint32_t bits = widened(source, code);
      if (!cast.takes(bits)) continue;
      ++seen.inputs;
      seen.digest += weight_of(base + code) * (actual[code] + 1u);
      const std::uint32_t expected = definition(bits);
      if (expected == actual[code]) continue;
      if (seen.differences++ == 0) {
        seen.input = bits;
        seen.expected = expected;
        seen.actual = actual[code];
      }
    }
  }
  return seen;
}

std::vector<std::uint16_t> codes_of_16_bit(const NamedCast& cast, CastPath path, DType source) {
  std::vector<float> numbers(kAll16);
  std::vector<std::uint16_t> codes(kAll16);
  // A number without a code is not cast; 0 stands in its place.
  for (std::uint32_t code = 0; code < kAll16; ++code) {
    const std::uint32_t bits = widened(source, code);
    numbers[code] = std::bit_cast<float>(cast.takes(bits) ? bits : 0);
  }
  const Caster caster(cast, path);
  if (format_of(cast.format).width() > 8) {
    caster(std::span<const float>(numbers), std::span(codes));
    return codes;
  }
  std::vector<std::uint8_t> bytes(kAll16);
  caster(std::span<const float>(numbers), std::span(bytes));
  std::copy(bytes.begin(), bytes.end(), codes.begin());
  return codes;
}

std::uint32_t widened(DType source, std::uint32_t code) {
  SC_ASSERT(source == DType::bf16 || source == DType::f16, "a 16-bit source is bf16 or f16");
  const auto narrow = static_cast<std::uint16_t>(code);
  return std::bit_cast<std::uint32_t>(source == DType::bf16 ? bf16_to_f32(narrow) : f16_to_f32(narrow));
}

}  // namespace shardcheck
