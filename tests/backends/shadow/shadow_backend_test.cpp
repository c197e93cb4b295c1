// Two equal backends never differ; every numeric fault is named by its op, element and values; bounds,
// resync, digests and NaN do what the header says.
#include "backends/shadow/shadow_backend.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/backends/rig.h"
#include "tests/backends/shadow/pair.h"

namespace shardcheck::test {
namespace {

constexpr DType f32 = DType::f32, bf16 = DType::bf16, f16 = DType::f16;

std::unique_ptr<Shadow> shadow_of(std::unique_ptr<Backend> reference, std::unique_ptr<Backend> candidate,
                                  AfterDifference after = AfterDifference::stop,
                                  std::int64_t digest_from = 1 << 20) {
  return make_shadow_backend(ShadowPair{std::move(reference), std::move(candidate)},
                             {.after = after, .digest_from = digest_from});
}

/// A plan on `ranks` ranks with buffers of given values, the same on all ranks but rotated by the rank.
class Bench {
 public:
  Bench(std::unique_ptr<Shadow> shadow, std::int32_t ranks = 3) : shadow_(std::move(shadow)) {
    plan.ranks = ranks;
  }
  View operand(DType type, const std::vector<double>& values) {
    const View view = build.whole(build.buffer("b" + std::to_string(plan.buffers.size()), BufferRole::inputs,
                                               type, std::ssize(values)));
    for (std::int32_t rank = 0; rank < plan.ranks; ++rank) {
      std::vector<std::byte> bytes;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint32_t code =
            rounded(type, values[(i + static_cast<std::size_t>(rank)) % values.size()]);
        const auto* first = reinterpret_cast<const std::byte*>(&code);
        bytes.insert(bytes.end(), first, first + bytes_of(type));
      }
      shadow_->write(plan, Rank{rank}, view, bytes);
    }
    return view;
  }
  PlanBuilder& op(Action action) { return build.op(action, {}, Stream::compute, ranks_upto(plan.ranks)); }
  ShadowReport run() {
    shadow_->execute(plan, OpIndex{0}, OpIndex{static_cast<std::int32_t>(plan.ops.size())});
    return shadow_->take();
  }
  Shadow& shadow() { return *shadow_; }

  Plan plan;
  PlanBuilder build{plan};

 private:
  std::unique_ptr<Shadow> shadow_;
};

/// An op with its operands by value, and the first difference that its fault makes.
struct FaultCase {
  const char* fault;
  Action action;
  std::vector<std::pair<DType, std::vector<double>>> operands;
  std::int32_t rank;
  std::int64_t element;
  double expected, actual;
};

class Faults : public testing::TestWithParam<FaultCase> {};

TEST_P(Faults, AreNamedByOpElementAndValues) {
  const FaultCase& c = GetParam();
  Bench bench(shadow_of(make_cpu_backend(kIdeal), faulty(c.fault)));
  const View innocent = bench.operand(DType::u8, {0});
  bench.op(Fill{0}).on(innocent);
  std::vector<View> views;
  for (const auto& [type, values] : c.operands) views.push_back(bench.operand(type, values));
  auto& op = bench.op(c.action);
  for (const View& view : views) op.on(view);
  const ShadowReport report = bench.run();
  ASSERT_EQ(report.differences.size(), 1u);
  const ShadowDifference& d = report.differences[0];
  EXPECT_EQ(d.op, OpIndex{1});
  EXPECT_EQ(d.rank, Rank{c.rank});
  EXPECT_EQ(d.element, c.element);
  EXPECT_EQ(d.expected.value, c.expected);
  EXPECT_EQ(d.actual.value, c.actual);
  EXPECT_FALSE(d.bound);
  EXPECT_EQ(d.candidate, std::string("faulty(cpu, ") + c.fault + ")");
  EXPECT_FALSE(d.operands.empty() && !std::holds_alternative<Gemm>(c.action)) << to_text(d);
}

const Communicate kSum{Collective::all_reduce, Reduction::sum, 3};
const Communicate kAverage{Collective::all_reduce, Reduction::average, 3};
const Communicate kGather{Collective::all_gather, Reduction::sum, 3};
const double kPrecise = 1 + 0x1p-10;

INSTANTIATE_TEST_SUITE_P(
    Numeric, Faults,
    testing::Values(
        FaultCase{"truncate-add", Add{}, {{bf16, {1, 1.5}}, {bf16, {256, 256}}}, 0, 1, 258, 256},
        FaultCase{"bf16-detour",
                  Gemm{1, 1, 1, false},
                  {{f32, {kPrecise}}, {f32, {1}}, {f32, {9}}},
                  0,
                  0,
                  kPrecise,
                  1},
        FaultCase{"skip-last-rank", kSum, {{f32, {0, 4, 16}}, {f32, {0, 0, 0}}}, 0, 0, 20, 4},
        FaultCase{"descending-reduction", kSum, {{bf16, {256, 1, 1}}, {bf16, {0, 0, 0}}}, 0, 0, 256, 258},
        FaultCase{"average-after", kAverage, {{bf16, {2, 2, 7}}, {bf16, {0, 0, 0}}}, 0, 0, 3.6875, 3.671875},
        FaultCase{"scale-twice", Scale{0.5f}, {{f16, {0, 8}}}, 0, 1, 4, 2},
        FaultCase{"drop-last-element",
                  Gemm{1, 1, 2, false},
                  {{bf16, {3}}, {bf16, {1, 2}}, {f32, {7, 9}}},
                  0,
                  1,
                  6,
                  9},
        FaultCase{
            "stale-beta", Gemm{1, 1, 2, false}, {{bf16, {3}}, {bf16, {1, 2}}, {f32, {0, 9}}}, 0, 1, 6, 15},
        FaultCase{
            "empty-gemm-skips", Gemm{0, 1, 2, false}, {{bf16, {}}, {bf16, {}}, {f32, {0, 9}}}, 0, 1, 0, 9},
        FaultCase{"truncate-cast", Copy{}, {{f32, {1, 1.999}}, {bf16, {0, 0}}}, 0, 1, 2, 1.9921875},
        FaultCase{"flush-subnormals", Scale{0.5f}, {{f16, {1, 0x1p-14}}}, 0, 1, 0x1p-15, 0},
        FaultCase{
            "gather-backwards", kGather, {{f32, {1, 2, 3}}, {f32, {0, 0, 0, 0, 0, 0, 0, 0, 0}}}, 0, 0, 1, 3},
        FaultCase{"lose-zero-sign", Scale{-1}, {{f32, {1, 0}}}, 0, 1, -0.0, 0}),
    [](const testing::TestParamInfo<FaultCase>& info) {
      std::string name = info.param.fault;
      std::erase(name, '-');
      return name;
    });

/// All but fast-accumulation, which changes no exact sum (tests/backends/faulty/faults_test.cpp), and those of
/// ops on blocks and of maxima (block_faults_test.cpp).
TEST(Faults, AllHaveACase) {
  EXPECT_EQ(list_numeric_faults().size(), 13u + 1u + 8u);
}

TEST(ShadowBackend, ExplainsTheElementByItsOperands) {
  Bench bench(shadow_of(make_cpu_backend(kIdeal), faulty("skip-last-rank")));
  const View in = bench.operand(f32, {1, 4, 16});
  bench.op(Communicate{Collective::all_reduce, Reduction::sum, 3}).on(in).on(in);  // in place
  const ShadowReport report = bench.run();
  ASSERT_EQ(report.differences.size(), 1u);
  EXPECT_EQ(to_text(report.differences[0]),
            "op 0 differs: all-reduce (sum) over groups of 3 in b0[0:3) on ranks 0 to 2\n"
            "  why                          none\n"
            "  where                        rank 0, b0[0]\n"
            "  cpu                          21 (0x41a80000)\n"
            "  faulty(cpu, skip-last-rank)  5 (0x40a00000), 17301504 ulps apart\n"
            "  differ                       9 of 9 elements written\n"
            "  rank 0                       1 (0x3f800000)\n"
            "  rank 1                       4 (0x40800000)\n"
            "  rank 2                       16 (0x41800000)\n");
}

TEST(ShadowBackend, StopsAtTheFirstDifferenceOrResyncsAndCollects) {
  for (AfterDifference after : {AfterDifference::stop, AfterDifference::resync}) {
    Bench bench(shadow_of(make_cpu_backend(kIdeal), faulty("scale-twice"), after), 2);
    const View a = bench.operand(f32, {8, 8}), b = bench.operand(f32, {0, 0});
    bench.op(Scale{0.5f}).on(a);
    bench.op(Copy{}).on(a).on(b);
    bench.op(Scale{0.5f}).on(b);
    const ShadowReport report = bench.run();
    const bool resyncs = after == AfterDifference::resync;
    ASSERT_EQ(report.differences.size(), resyncs ? 2u : 1u);
    EXPECT_EQ(report.differences.back().op, OpIndex{resyncs ? 2 : 0});
    EXPECT_EQ(report.differences.back().expected.value, resyncs ? 2 : 4);
    EXPECT_EQ(report.differences.back().actual.value, resyncs ? 1 : 2);
    EXPECT_EQ(report.differences[0].differing_elements, 4);
    EXPECT_EQ(report.resyncs, resyncs ? 4 : 0);
    EXPECT_EQ(report.ops_compared, resyncs ? 3 : 1);
  }
}

TEST(ShadowBackend, ComparesNanByClassAndZerosBySign) {
  Bench bench(shadow_of(make_cpu_backend(kIdeal), make_cpu_backend(kIdeal)), 1);
  const View a = bench.operand(f32, {1}), b = bench.operand(f32, {2});
  bench.op(Copy{}).on(a).on(b);
  const auto put = [&](std::uint32_t code, Backend& into) {
    into.write(bench.plan, Rank{0}, a, std::as_bytes(std::span(&code, 1)));
  };
  put(0x7FC00000u, bench.shadow().reference());
  put(0xFF800001u, bench.shadow().candidate());
  EXPECT_TRUE(bench.run().differences.empty());
  put(0x80000000u, bench.shadow().reference());
  put(0, bench.shadow().candidate());
  const ShadowReport report = bench.run();
  ASSERT_EQ(report.differences.size(), 1u);
  EXPECT_EQ(distance_text(report.differences[0]), "zeros of different sign");
}

std::vector<double> gaussians(std::size_t count, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(normal(random));
  return values;
}

/// A GEMM of many tokens and an addition onto its result, which resync makes exact again.
void add_gemm(Bench& bench) {
  std::mt19937_64 random(41);
  const View dy = bench.operand(bf16, gaussians(200 * 6, random));
  const View x = bench.operand(bf16, gaussians(200 * 5, random));
  const View out = bench.operand(f32, gaussians(30, random)), sum = bench.operand(f32, gaussians(30, random));
  bench.op(Gemm{200, 6, 5, true}).on(dy).on(x).on(out);
  bench.op(Add{}).on(out).on(sum);
}

TEST(ShadowBackend, HoldsAGemmOfUnknownArithmeticToItsBound) {
  auto unknown = std::make_unique<Declaring>(make_cpu_backend(kHopper), "unknown");
  Bench bench(shadow_of(make_cpu_backend(kIdeal), std::move(unknown)), 2);
  add_gemm(bench);
  const ShadowReport report = bench.run();
  EXPECT_TRUE(report.differences.empty());
  EXPECT_EQ(report.ops_bounded, 1);
  EXPECT_EQ(report.ops_compared, 2);
  EXPECT_EQ(report.resyncs, 2) << "on both ranks";
  EXPECT_GT(report.budget_used, 0);
  EXPECT_LT(report.budget_used, 1);
  EXPECT_EQ(report.budget_op, OpIndex{0});
}

TEST(ShadowBackend, ReportsAGemmBeyondItsBoundWithTheShare) {
  auto unknown = std::make_unique<Declaring>(faulty("drop-last-element", kHopper), "unknown");
  Bench bench(shadow_of(make_cpu_backend(kIdeal), std::move(unknown)), 2);
  add_gemm(bench);
  const ShadowReport report = bench.run();
  ASSERT_EQ(report.differences.size(), 1u);
  const ShadowDifference& d = report.differences[0];
  EXPECT_EQ(d.element, 29);
  EXPECT_EQ(d.differing_elements, 2) << "one on each rank";
  ASSERT_TRUE(d.bound && d.share);
  EXPECT_GT(*d.share, 1);
  EXPECT_NE(to_text(d).find("times the bound of"), std::string::npos) << to_text(d);
  EXPECT_NE(to_text(d).find("dy, row 5"), std::string::npos) << to_text(d);
}

TEST(ShadowBackend, HoldsReductionsOfAnotherOrderToTheirBound) {
  const auto reduce = [](std::unique_ptr<Backend> inner) {
    auto folded = std::make_unique<Declaring>(std::move(inner), "ideal", 3);
    Bench bench(shadow_of(make_cpu_backend(kIdeal), std::move(folded)), 3);
    std::mt19937_64 random(42);
    const View in = bench.operand(bf16, gaussians(60, random)),
               out = bench.operand(bf16, gaussians(20, random));
    bench.op(Communicate{Collective::reduce_scatter, Reduction::average, 3}).on(in).on(out);
    return bench.run();
  };
  const ShadowReport held = reduce(faulty("descending-reduction"));
  EXPECT_TRUE(held.differences.empty());
  EXPECT_GT(held.budget_used, 0);
  EXPECT_EQ(reduce(faulty("skip-last-rank")).differences.size(), 1u);
}

TEST(ShadowBackend, FetchesOnlyWhereDigestsDiffer) {
  for (const bool differs : {false, true}) {
    auto inner = differs ? faulty("scale-twice") : make_cpu_backend(kIdeal);
    auto owned = std::make_unique<DigestingCpu>(std::move(inner));
    DigestingCpu& digesting = *owned;
    Bench bench(shadow_of(make_cpu_backend(kIdeal), std::move(owned), AfterDifference::stop, 64), 2);
    const View large = bench.operand(bf16, std::vector<double>(100, 3)), small = bench.operand(bf16, {1});
    bench.op(Scale{2}).on(large);
    bench.op(Scale{2}).on(small);
    const ShadowReport report = bench.run();
    EXPECT_EQ(report.differences.size(), differs ? 1u : 0u);
    EXPECT_EQ(digesting.fetched, differs ? 2 * 200 : 2 * 2);
    EXPECT_EQ(report.elements_compared, differs ? 200 : 202);
  }
}

TEST(ShadowBackend, BorrowsBackendsAndNamesBoth) {
  const auto reference = make_cpu_backend(kIdeal), candidate = make_cpu_backend(kHopper);
  const auto shadow =
      make_shadow_backend(BorrowedPair{*reference, *candidate}, {.after = AfterDifference::stop});
  EXPECT_EQ(shadow->info().name, "shadow(cpu, cpu)");
  EXPECT_EQ(shadow->info().profile, "hopper");
  EXPECT_EQ(&shadow->reference(), reference.get());
  EXPECT_EQ(&shadow->candidate(), candidate.get());
}

}  // namespace
}  // namespace shardcheck::test
