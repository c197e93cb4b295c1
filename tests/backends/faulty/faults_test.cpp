// Every numeric fault changes what it should, and nothing on data where it is silent.
#include "backends/faulty/faults.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/backends/rig.h"

namespace shardcheck::test {
namespace {

/// The result of one op on three ranks, with operands given by value; the last operand is read on rank 1.
struct Operand {
  DType type;
  std::vector<double> values;  ///< on rank r: values rotated by r, so that ranks differ
};

Codes result_of(const std::string& spec, const Action& action, const std::vector<Operand>& operands) {
  Rig rig(spec, "ideal", 3);
  auto& op = rig.op(action);
  View last;
  for (const Operand& operand : operands) {
    last = rig.buffer(operand.type, std::ssize(operand.values));
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      Codes codes;
      for (std::size_t i = 0; i < operand.values.size(); ++i) {
        const std::size_t from = (i + static_cast<std::size_t>(rank)) % operand.values.size();
        codes.push_back(rounded(operand.type, operand.values[from]));
      }
      rig.write(rank, last, codes);
    }
    op.on(last);
  }
  rig.run();
  return rig.read(1, last);
}

std::vector<double> values_of(DType type, const Codes& codes) {
  std::vector<double> values;
  for (std::uint32_t code : codes) values.push_back(value_of(type, code));
  return values;
}

/// Runs the op with and without the fault; expects the given values of each.
void expect(const std::string& fault, const Action& action, const std::vector<Operand>& operands,
            const std::vector<double>& right, const std::vector<double>& wrong) {
  const DType type = operands.back().type;
  EXPECT_EQ(values_of(type, result_of("cpu", action, operands)), right) << "without " << fault;
  EXPECT_EQ(values_of(type, result_of("faulty:" + fault, action, operands)), wrong) << fault;
}

using enum DType;

Communicate all_reduce(Reduction reduction) {
  return {Collective::all_reduce, reduction, 3};
}

TEST(Faults, TruncateAdd) {
  expect("truncate-add", Add{}, {{bf16, {1.5, 1}}, {bf16, {256, 256}}}, {256, 258}, {256, 256});
  expect("truncate-add", all_reduce(Reduction::sum), {{bf16, {256, 3, 0}}, {bf16, {0, 0, 0}}},
         {260, 260, 260}, {258, 258, 258});
}

TEST(Faults, Bf16Detour) {
  const double precise = 1 + 0x1p-10;
  expect("bf16-detour", Gemm{1, 1, 1, false}, {{f32, {precise}}, {f32, {1}}, {f32, {9}}}, {precise}, {1});
  expect("bf16-detour", Gemm{1, 1, 1, true}, {{f32, {precise}}, {f32, {1}}, {f32, {9}}}, {9 + precise}, {10});
}

TEST(Faults, SkipLastRank) {
  expect("skip-last-rank", all_reduce(Reduction::sum), {{f32, {1, 4, 16}}, {f32, {0, 0, 0}}}, {21, 21, 21},
         {5, 20, 17});
}

TEST(Faults, DescendingReduction) {
  // Element 0 on ranks 0, 1, 2: 256, 1, 1. Ascending keeps 256, descending reaches 258.
  expect("descending-reduction", all_reduce(Reduction::sum), {{bf16, {256, 1, 1}}, {bf16, {0, 0, 0}}},
         {256, 258, 256}, {258, 256, 256});
}

TEST(Faults, AverageAfter) {
  // bf16(1/3) = 0.333984375: 7 of it are 2.34375 (rounded from 2.337890625), 11 of it 3.671875
  // (from 3.673828125).
  expect("average-after", all_reduce(Reduction::average), {{bf16, {2, 2, 7}}, {bf16, {0, 0, 0}}},
         {3.6875, 3.6875, 3.6875}, {3.671875, 3.671875, 3.671875});
}

TEST(Faults, ScaleTwice) {
  expect("scale-twice", Scale{0.5f}, {{f16, {8, 2}}}, {1, 4}, {0.5, 2});
}

TEST(Faults, DropLastElement) {
  expect("drop-last-element", Gemm{1, 1, 2, false}, {{bf16, {3}}, {bf16, {1, 2}}, {f32, {7, 9}}}, {6, 3},
         {6, 7});
}

TEST(Faults, StaleBeta) {
  expect("stale-beta", Gemm{1, 1, 2, false}, {{bf16, {3}}, {bf16, {1, 2}}, {f32, {7, 9}}}, {6, 3}, {15, 10});
}

TEST(Faults, EmptyGemmSkips) {
  expect("empty-gemm-skips", Gemm{0, 1, 2, false}, {{bf16, {}}, {bf16, {}}, {f32, {7, 9}}}, {0, 0}, {9, 7});
}

TEST(Faults, TruncateCast) {
  expect("truncate-cast", Copy{}, {{f32, {1.999, -1.999}}, {bf16, {0, 0}}}, {-2, 2}, {-1.9921875, 1.9921875});
}

TEST(Faults, FlushSubnormals) {
  expect("flush-subnormals", Scale{0.5f}, {{f16, {0x1p-14, 1}}}, {0.5, 0x1p-15}, {0.5, 0});
}

TEST(Faults, LoseZeroSign) {
  EXPECT_EQ(result_of("cpu", Scale{-1}, {{f32, {0, 1}}}), (Codes{0xBF800000u, 0x80000000u}));
  EXPECT_EQ(result_of("faulty:lose-zero-sign", Scale{-1}, {{f32, {0, 1}}}), (Codes{0xBF800000u, 0}));
}

TEST(Faults, GatherBackwards) {
  expect("gather-backwards", Communicate{Collective::all_gather, Reduction::sum, 3},
         {{f32, {1, 2, 3}}, {f32, {0, 0, 0, 0, 0, 0, 0, 0, 0}}}, {1, 2, 3, 2, 3, 1, 3, 1, 2},
         {3, 1, 2, 2, 3, 1, 1, 2, 3});
}

TEST(Faults, FastAccumulation) {
  // 1, and then 255 products of 2^-14: the short accumulator keeps 13 bits behind the largest and loses all
  // of them; promotion after 128 products begins anew, so that the second chunk's 2^-7 is kept.
  const Matmul product{
      .m = 1, .n = 1, .k = 256, .scales_a = ScaleKind::tensor, .scales_b = ScaleKind::tensor};
  std::vector<double> a(256, 0x1p-7), b(256, 0x1p-7);
  a[0] = b[0] = 1;
  const auto result = [&](const std::string& backend) {
    Rig rig(backend, "hopper", 1);
    auto& op = rig.op(product);
    for (const auto* operand : {&a, &b}) {
      const View view = rig.buffer(DType::e4m3, 256);
      Codes codes;
      for (const double value : *operand) codes.push_back(rounded(DType::e4m3, value));
      rig.write(0, view, codes);
      op.on(view);
    }
    for (int scale = 0; scale < 2; ++scale) {
      const View view = rig.buffer(DType::f32, 1);
      rig.write(0, view, {0x3F800000u});
      op.on(view);
    }
    const View d = rig.buffer(DType::f32, 1);
    rig.write(0, d, {0});
    op.on(d);
    rig.run();
    return rig.read(0, d);
  };
  EXPECT_EQ(result("cpu"), (Codes{0x3F810000u})) << "1 + 2^-7";
  EXPECT_EQ(result("faulty:fast-accumulation"), (Codes{0x3F800000u}));
}

TEST(Faults, HaveNamesAndSentencesOfTheirOwn) {
  std::set<std::string_view> names, sentences;
  for (const NumericFault& fault : list_numeric_faults()) {
    EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
    EXPECT_TRUE(sentences.insert(fault.sentence).second) << fault.sentence;
    EXPECT_EQ(find_numeric_fault(fault.name), &fault);
  }
  EXPECT_EQ(find_numeric_fault("none"), nullptr);
}

/// Where results are small integers, no rounding fault may show: what changes them is another kind of fault.
TEST(Faults, RoundingFaultsAreSilentOnIntegers) {
  for (const char* fault :
       {"truncate-add", "descending-reduction", "bf16-detour", "truncate-cast", "flush-subnormals"}) {
    const std::string spec = std::string("faulty:") + fault;
    const std::vector<std::pair<Action, std::vector<Operand>>> ops = {
        {Add{}, {{f32, {1, 2, 3}}, {f32, {4, 5, 6}}}},
        {all_reduce(Reduction::sum), {{bf16, {1, 2, 3}}, {bf16, {0, 0, 0}}}},
        {Gemm{1, 1, 3, true}, {{bf16, {2}}, {bf16, {1, 2, 3}}, {f32, {1, 1, 1}}}},
        {Copy{}, {{f32, {1, 2, 3}}, {bf16, {0, 0, 0}}}}};
    for (const auto& [action, operands] : ops) {
      EXPECT_EQ(result_of(spec, action, operands), result_of("cpu", action, operands)) << fault;
    }
  }
}

}  // namespace
}  // namespace shardcheck::test
