// Casts, quantisation and its inverse against the readable encoder and decoder.
#include "backends/cpu/casts.h"

#include <gtest/gtest.h>

#include <bit>

#include "core/numerics/decode.h"
#include "core/numerics/encode.h"
#include "core/numerics/same_code.h"
#include "tests/backends/rig.h"

namespace shardcheck::test {
namespace {

constexpr DType kFp8[] = {DType::e4m3, DType::e5m2};

const Format& format_in(DType type) {
  return format_of(*format_id_of(type));
}

std::uint32_t code_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

/// The code of an fp32 value in a wide type, or the one NaN.
std::uint32_t wide_code(DType type, float value) {
  return encode(format_in(type), kIeee, code_of(value));
}

Codes any_codes(DType type, std::int64_t numel, std::mt19937_64& random) {
  Codes codes = random_codes(type, numel, random, random_code);
  for (std::size_t i = 0; i < codes.size(); i += 2) codes[i] = random_number(type, random);
  return codes;
}

/// One op from `source` to `destination` on two ranks; operand 1 is the scale, where there is one.
Codes run_op(Action action, DType source, const Codes& codes, DType destination, const float* scale) {
  Rig rig("cpu", "ideal", 2);
  const auto numel = static_cast<std::int64_t>(codes.size());
  const View from = rig.buffer(source, numel), factor = rig.buffer(DType::f32, 1);
  const View to{rig.buffer(destination, numel + 3).buffer, 2, numel};
  for (std::int32_t rank : {0, 1}) {
    rig.write(rank, from, codes);
    rig.write(rank, {to.buffer, 0, numel + 3}, Codes(codes.size() + 3, 0x11));
    rig.write(rank, factor, {code_of(scale == nullptr ? 1.0f : *scale)});
  }
  PlanBuilder& op = rig.op(action).on(from);
  if (scale != nullptr) op.on(factor);
  op.on(to);
  rig.run();
  EXPECT_EQ(rig.read(0, {to.buffer, 0, 2}), (Codes{0x11, 0x11}));
  EXPECT_EQ(rig.read(1, {to.buffer, numel + 2, 1}), Codes{0x11});
  EXPECT_EQ(rig.read(0, to), rig.read(1, to));
  return rig.read(1, to);
}

TEST(Casts, IntoFp8ByEveryPolicy) {
  std::mt19937_64 random(31);
  for (DType source : kFloats) {
    for (DType destination : kFp8) {
      for (std::size_t policy = 0; policy < kCastPolicies.size(); ++policy) {
        const Codes codes = any_codes(source, 400, random);
        const Codes found =
            run_op(Cast{static_cast<std::int8_t>(policy)}, source, codes, destination, nullptr);
        for (std::size_t i = 0; i < codes.size(); ++i) {
          const float value = decode(format_in(source), codes[i]);
          ASSERT_EQ(found[i], encode(format_in(destination), kCastPolicies[policy].policy, code_of(value)))
              << kCastPolicies[policy].name << " " << value;
        }
      }
    }
  }
}

Codes all_codes() {
  Codes codes(256);
  for (std::uint32_t code = 0; code < 256; ++code) codes[code] = code;
  return codes;
}

TEST(Casts, OutOfFp8IsExact) {
  for (DType source : kFp8) {
    for (DType destination : kFloats) {
      const Codes found = run_op(Cast{0}, source, all_codes(), destination, nullptr);
      for (std::uint32_t code = 0; code < 256; ++code) {
        ASSERT_EQ(found[code], wide_code(destination, decode(format_in(source), code))) << code;
        if (!format_in(source).is_nan(code)) {
          ASSERT_EQ(decode(format_in(destination), found[code]), decode(format_in(source), code)) << code;
        }
      }
    }
  }
}

TEST(Casts, FromFp8ToFp8RoundsOnce) {
  for (DType source : kFp8) {
    for (DType destination : kFp8) {
      const Codes found = run_op(Cast{1}, source, all_codes(), destination, nullptr);
      for (std::uint32_t code = 0; code < 256; ++code) {
        ASSERT_EQ(found[code],
                  encode(format_in(destination), kNvNoSaturation, code_of(decode(format_in(source), code))))
            << code;
      }
    }
  }
}

/// F13: neighbours keep their places.
TEST(Casts, NeighboursKeepTheirPlaces) {
  Codes codes, expected;
  for (std::uint32_t code = 1; code < 0x7F; ++code) {
    codes.push_back(code_of(decode(format_in(DType::e4m3), code)));
    expected.push_back(code);
  }
  EXPECT_EQ(run_op(Cast{0}, DType::f32, codes, DType::e4m3, nullptr), expected);
}

TEST(Casts, QuantisationRoundsTheProductFirst) {
  std::mt19937_64 random(32);
  for (DType source : kFloats) {
    for (DType destination : kFp8) {
      for (float scale : {1.0f, 37.3333321f, 0x1p-120f, 0.1f}) {
        const Codes codes = any_codes(source, 400, random);
        const Codes found = run_op(Quantize{0}, source, codes, destination, &scale);
        for (std::size_t i = 0; i < codes.size(); ++i) {
          const float product = decode(format_in(source), codes[i]) * scale;
          ASSERT_EQ(found[i], encode(format_in(destination), kNvSaturating, code_of(product))) << product;
        }
      }
    }
  }
}

/// RN(x s) = 1.0625, a tie that goes to 1; the exact product lies above it and would go to 1.125.
TEST(Casts, ATieMadeByTheProductGoesToTheEvenCode) {
  const float x = 1.0625f * (1 + 0x1p-23f), scale = 1 - 0x1p-24f;
  ASSERT_GT(static_cast<double>(x) * scale, 1.0625);
  ASSERT_EQ(x * scale, 1.0625f);
  EXPECT_EQ(run_op(Quantize{0}, DType::f32, {code_of(x)}, DType::e4m3, &scale), Codes{0x38});
}

TEST(Casts, DequantisationRoundsTheProductThenTheResult) {
  for (DType source : kFp8) {
    for (DType destination : kFloats) {
      for (float scale : {1.0f, 0.0267857146f, 0x1p-140f, 3e37f}) {
        const Codes found = run_op(Dequantize{}, source, all_codes(), destination, &scale);
        for (std::uint32_t code = 0; code < 256; ++code) {
          const float product = decode(format_in(source), code) * scale;
          ASSERT_EQ(found[code], wide_code(destination, product)) << code;
        }
      }
    }
  }
}

TEST(CastsDeathTest, MistakesAreChecked) {
  EXPECT_DEATH(run_op(Cast{7}, DType::f32, {0}, DType::e4m3, nullptr), "not in kCastPolicies");
  EXPECT_DEATH(run_op(Cast{0}, DType::f32, {0}, DType::bf16, nullptr), "FP8 on neither side");
  const float scale = 1;
  EXPECT_DEATH(run_op(Dequantize{}, DType::f32, {0}, DType::bf16, &scale), "starts from FP8");
}

}  // namespace
}  // namespace shardcheck::test
