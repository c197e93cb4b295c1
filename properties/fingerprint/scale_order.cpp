#include "properties/fingerprint/scale_order.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/integers.h"
#include "core/numerics/encode.h"
#include "core/numerics/gemm.h"
#include "core/plan/op.h"
#include "properties/fingerprint/one_op.h"
#include "properties/generate/draw.h"

namespace shardcheck {
namespace {

constexpr int kChunks = 2;            ///< of 128 products; with block scales each has its own
constexpr std::int64_t kChunk = 128;  ///< products
constexpr std::int64_t kSize = 64;    ///< m and n
constexpr int kTrials = 6;            ///< executions, each with scales of its own

/// What decides one output: sums of the chunks, scales, alpha. Sums have 9 bits, scales 17 and alpha 9, so
/// that every product of two rounds and a long double holds the product of all.
struct Numbers {
  std::array<float, kChunks> p, sa, sb;
  float alpha;
  float acc() const { return p[0] + p[1]; }
};

struct Order {
  std::string_view name;
  float (*compute)(const Numbers&);
  bool is_of_alpha = false;  ///< says something only where alpha is not 1
};

constexpr Order kPlainOrders[] = {{"RN(alpha acc)", [](const Numbers& x) { return x.alpha * x.acc(); }}};

/// One scale an operand, row or column: sa[0] and sb[0] count.
constexpr Order kOuterOrders[] = {
    {"RN(acc RN(RN(alpha sa) sb))", [](const Numbers& x) { return x.acc() * (x.alpha * x.sa[0] * x.sb[0]); }},
    {"RN(RN(RN(acc sa) sb) alpha)", [](const Numbers& x) { return x.acc() * x.sa[0] * x.sb[0] * x.alpha; }},
    {"RN(acc RN(RN(alpha sb) sa))", [](const Numbers& x) { return x.acc() * (x.alpha * x.sb[0] * x.sa[0]); }},
    {"RN(acc RN(alpha RN(sa sb)))",
     [](const Numbers& x) { return x.acc() * (x.alpha * (x.sa[0] * x.sb[0])); }},
    {"RN(alpha RN(acc RN(sa sb)))",
     [](const Numbers& x) { return x.alpha * (x.acc() * (x.sa[0] * x.sb[0])); }},
    {"RN(RN(RN(acc sb) sa) alpha)", [](const Numbers& x) { return x.acc() * x.sb[0] * x.sa[0] * x.alpha; }},
    {"RN(RN(RN(alpha acc) sa) sb)", [](const Numbers& x) { return x.alpha * x.acc() * x.sa[0] * x.sb[0]; }},
    {"RN(RN(RN(alpha acc) sb) sa)", [](const Numbers& x) { return x.alpha * x.acc() * x.sb[0] * x.sa[0]; }},
    {"RN(RN(acc RN(alpha sa)) sb)", [](const Numbers& x) { return x.acc() * (x.alpha * x.sa[0]) * x.sb[0]; }},
    {"RN(RN(acc RN(alpha sb)) sa)", [](const Numbers& x) { return x.acc() * (x.alpha * x.sb[0]) * x.sa[0]; }},
    {"the exact product, rounded once",
     [](const Numbers& x) {
       return static_cast<float>(static_cast<long double>(x.acc()) * x.sa[0] * x.sb[0] * x.alpha);
     }},
};

/// `add(y, p, sa, sb)` for every chunk.
template <class Add>
float over_chunks(const Numbers& x, Add add) {
  float y = 0;
  for (std::size_t i = 0; i < kChunks; ++i) y = add(y, x.p[i], x.sa[i], x.sb[i]);
  return y;
}
float fma_sb_first(float y, float p, float sa, float sb) {
  return std::fma(p * sb, sa, y);
}
float fma_sa_first(float y, float p, float sa, float sb) {
  return std::fma(p * sa, sb, y);
}
float fma_scales_first(float y, float p, float sa, float sb) {
  return std::fma(p, sa * sb, y);
}

constexpr Order kBlockOrders[] = {
    {"y = fma(RN(p sb), sa, y)", [](const Numbers& x) { return x.alpha * over_chunks(x, fma_sb_first); }},
    {"y = fma(p, RN(sa sb), y)", [](const Numbers& x) { return x.alpha * over_chunks(x, fma_scales_first); }},
    {"y = fma(RN(p sa), sb, y)", [](const Numbers& x) { return x.alpha * over_chunks(x, fma_sa_first); }},
    {"y = RN(y + RN(p RN(sa sb)))",
     [](const Numbers& x) {
       return x.alpha *
              over_chunks(x, [](float y, float p, float sa, float sb) { return y + p * (sa * sb); });
     }},
    {"y = RN(y + RN(RN(p sa) sb))",
     [](const Numbers& x) {
       return x.alpha * over_chunks(x, [](float y, float p, float sa, float sb) { return y + p * sa * sb; });
     }},
    {"y = RN(y + RN(RN(p sb) sa))",
     [](const Numbers& x) {
       return x.alpha * over_chunks(x, [](float y, float p, float sa, float sb) { return y + p * sb * sa; });
     }},
    {"y = fma(RN(p RN(alpha sb)), sa, y)",
     [](const Numbers& x) {
       return over_chunks(
           x, [&](float y, float p, float sa, float sb) { return std::fma(p * (x.alpha * sb), sa, y); });
     },
     true},
    {"y = fma(p, RN(RN(alpha sa) sb), y)",
     [](const Numbers& x) {
       return over_chunks(
           x, [&](float y, float p, float sa, float sb) { return std::fma(p, x.alpha * sa * sb, y); });
     },
     true},
    {"the exact sum, rounded once",
     [](const Numbers& x) {
       long double sum = 0;
       for (std::size_t i = 0; i < kChunks; ++i) sum += static_cast<long double>(x.p[i]) * x.sa[i] * x.sb[i];
       return static_cast<float>(sum * x.alpha);
     }},
};

/// What is asked.
struct Question {
  std::string subject;
  DType a, b;
  ScaleKind scales_a, scales_b;
  bool fast_accumulation = false, has_alpha = true;

  bool is_block() const { return scales_a == ScaleKind::vector128 || scales_a == ScaleKind::block128x128; }
  std::span<const Order> orders() const {
    if (scales_a == ScaleKind::none) return kPlainOrders;
    return is_block() ? std::span<const Order>(kBlockOrders) : std::span<const Order>(kOuterOrders);
  }
};

/// In [1, 2) with that many bits behind the point, the last one set, times 1/2, 1, 2 or 4.
float factor(Draw& draw, int bits) {
  const auto fraction = static_cast<float>(draw.below(1 << bits) | 1);
  return std::ldexp(1.0f + std::ldexp(fraction, -bits), draw.below(4) - 1);
}

std::uint32_t code_of(DType type, float value) {
  return encode(format_of(*format_id_of(type)), kNvSaturating, std::bit_cast<std::uint32_t>(value));
}

/// One GEMM whose diagonal is looked at: row i has the sums p of its own.
struct Trial {
  Matmul op;
  std::vector<OpOperand> operands;
  std::vector<Numbers> numbers;  ///< of the diagonal
};

/// Index of the scale of (row, chunk) in an array of scale_count().
std::size_t scale_place(ScaleKind kind, std::int64_t row, std::int64_t chunk) {
  switch (kind) {
    case ScaleKind::outer_vector: return static_cast<std::size_t>(row);
    case ScaleKind::vector128: return static_cast<std::size_t>(chunk * kSize + row);
    case ScaleKind::block128x128: return static_cast<std::size_t>(chunk);
    default: return 0;
  }
}

std::vector<std::uint32_t> draw_scales(Draw& draw, ScaleKind kind) {
  const auto count = scale_count(static_cast<ScaleMode>(kind), kSize, kChunks * kChunk);
  std::vector<std::uint32_t> scales;
  for (std::int64_t i = 0; i < count; ++i) scales.push_back(std::bit_cast<std::uint32_t>(factor(draw, 16)));
  return scales;
}

Trial draw_trial(Draw& draw, const Question& question) {
  constexpr std::int64_t kK = kChunks * kChunk;
  Trial trial;
  trial.op = {.m = kSize,
              .n = kSize,
              .k = kK,
              .scales_a = question.scales_a,
              .scales_b = question.scales_b,
              .fast_accumulation = question.fast_accumulation,
              .alpha = question.has_alpha ? factor(draw, 8) : 1.0f};
  const auto sa = draw_scales(draw, question.scales_a), sb = draw_scales(draw, question.scales_b);
  std::vector<std::uint32_t> a(kSize * kK), b(kSize * kK);
  const auto scale = [](const std::vector<std::uint32_t>& scales, ScaleKind kind, std::int64_t row,
                        std::int64_t chunk) {
    return kind == ScaleKind::none ? 1.0f : std::bit_cast<float>(scales[scale_place(kind, row, chunk)]);
  };
  for (std::int64_t row = 0; row < kSize; ++row) {
    Numbers numbers{};
    numbers.alpha = trial.op.alpha;
    for (std::int64_t chunk = 0; chunk < kChunks; ++chunk) {
      const auto i = static_cast<std::size_t>(chunk);
      const auto digit = [&] { return static_cast<float>(1 + draw.below(15)); };
      const float sign = draw.chance(50) ? 1.0f : -1.0f, high = sign * 16 * digit(), low = sign * digit();
      numbers.p[i] = high + low;
      numbers.sa[i] = scale(sa, question.scales_a, row, chunk);
      numbers.sb[i] = scale(sb, question.scales_b, row, chunk);
      const auto at = static_cast<std::size_t>(row * kK + chunk * kChunk);
      a[at] = code_of(question.a, high);
      a[at + 1] = code_of(question.a, low);
      b[at] = b[at + 1] = code_of(question.b, 1.0f);
    }
    trial.numbers.push_back(numbers);
  }
  const std::vector<std::uint32_t> d(kSize * kSize);
  trial.operands = {on_one_rank(question.a, a), on_one_rank(question.b, b), on_one_rank(DType::f32, sa),
                    on_one_rank(DType::f32, sb), on_one_rank(DType::f32, d)};
  return trial;
}

Probe probe_of(const Question& question, const Numbers& numbers, std::uint32_t result) {
  const auto list = [](std::string name, std::span<const float> values) {
    return code_list(std::move(name), DType::f32, std::as_bytes(values));
  };
  return {"GEMM, " + question.subject,
          {list("sums of the chunks", numbers.p), list("scales of A", numbers.sa),
           list("scales of B", numbers.sb), list("alpha", std::span(&numbers.alpha, 1))},
          {code_list("D", DType::f32, std::span(&result, 1))}};
}

Fact answered(Backend& backend, const Question& question) {
  constexpr std::uint64_t kSeed = 0x5CA1E;
  Draw draw(kSeed);
  const std::span<const Order> orders = question.orders();
  std::vector<bool> stands;
  for (const Order& order : orders) stands.push_back(question.has_alpha || !order.is_of_alpha);
  Fact fact{question.subject, "order", "", "", {}};
  int outputs = 0;
  for (int trial_index = 0; trial_index < kTrials; ++trial_index) {
    const Trial trial = draw_trial(draw, question);
    const auto d = codes_of_bytes(DType::f32, execute_op(backend, trial.op, trial.operands).ranks[0]);
    for (std::size_t i = 0; i < trial.numbers.size(); ++i) {
      const std::uint32_t code = d[i * (static_cast<std::size_t>(kSize) + 1)];
      bool tells = false;
      for (std::size_t o = 0; o < orders.size(); ++o) {
        if (!stands[o]) continue;
        const bool fits = orders[o].compute(trial.numbers[i]) == std::bit_cast<float>(code);
        stands[o] = fits;
        tells |= !fits;
      }
      if (tells) fact.probes.push_back(probe_of(question, trial.numbers[i], code));
      ++outputs;
    }
  }
  for (std::size_t o = 0; o < orders.size(); ++o) {
    if (!stands[o]) continue;
    fact.value += (fact.value.empty() ? "" : " or ") + std::string(orders[o].name);
    const bool ends_with_alpha = question.is_block() && question.has_alpha && !orders[o].is_of_alpha;
    if (ends_with_alpha && o + 1 < orders.size()) fact.value += "; z = RN(alpha y)";
  }
  if (fact.value.empty()) fact.value = fmt::format("none of {} orders", orders.size());
  fact.how = orders.size() == 1
                 ? fmt::format("the only order there is, on {} outputs", outputs)
                 : fmt::format("{} orders on {} outputs on which they differ", orders.size(), outputs);
  return fact;
}

std::vector<Question> questions() {
  constexpr ScaleKind kNone = ScaleKind::none, kTensor = ScaleKind::tensor, kOuter = ScaleKind::outer_vector,
                      kVector = ScaleKind::vector128, kBlock = ScaleKind::block128x128;
  constexpr DType kE4m3 = DType::e4m3, kBf16 = DType::bf16;
  return {{"alpha of bf16 x bf16", kBf16, kBf16, kNone, kNone},
          {"scales tensor x tensor, fast", kE4m3, kE4m3, kTensor, kTensor, true},
          {"scales tensor x tensor, promoted", kE4m3, kE4m3, kTensor, kTensor},
          {"scales outer vector x outer vector, fast", kE4m3, kE4m3, kOuter, kOuter, true},
          {"scales outer vector x outer vector, promoted", kE4m3, kE4m3, kOuter, kOuter},
          {"scales 1x128 x 1x128", kE4m3, kE4m3, kVector, kVector, false, false},
          {"scales 1x128 x 128x128", kE4m3, kE4m3, kVector, kBlock, false, false},
          {"scales 128x128 x 1x128", kE4m3, kE4m3, kBlock, kVector, false, false},
          {"scales 1x128 x 1x128, alpha", kE4m3, kE4m3, kVector, kVector},
          {"scales 1x128 x 128x128, alpha", kE4m3, kE4m3, kVector, kBlock},
          {"scales 128x128 x 1x128, alpha", kE4m3, kE4m3, kBlock, kVector}};
}

}  // namespace

std::vector<Fact> observe_scale_order(Backend& backend) {
  std::vector<Fact> facts;
  for (const Question& question : questions()) {
    try {
      facts.push_back(answered(backend, question));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_input) throw;
      facts.push_back({question.subject, "order", "", error.what(), {}});
    }
  }
  return facts;
}

}  // namespace shardcheck
